"""The words of a command: its options and arguments, read from the signature of a function.

`Annotated[int, Option("--limit", "-n", help="How many.")] = 20` says all that click needs to know. A library that reads
signatures would cost more at start-up than everything else that a short command does.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

_WHOLE = re.compile(r"-?\d{1,30}", re.ASCII)

Complete = Callable[[str], "list[str] | list[tuple[str, str]]"]


class Option:
    """An option of a command. `field` is its name in the table of rules. A number has one."""

    def __init__(
        self,
        *names: str,
        help: str = "",
        metavar: str | None = None,
        field: str | None = None,
        hidden: bool = False,
        complete: Complete | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.field = field
        self.is_hidden = hidden
        self.complete = complete


class Argument:
    """A positional argument. With `is_rest`, all that comes after it belongs to it, options too.

    `field` is the name of a number in the table of rules.
    """

    def __init__(
        self,
        metavar: str,
        *,
        help: str = "",
        field: str | None = None,
        complete: Complete | None = None,
        is_rest: bool = False,
    ) -> None:
        self.metavar = metavar
        self.help = help
        self.field = field
        self.complete = complete
        self.is_rest = is_rest


class Words(NamedTuple):
    """What a function takes: the words that it names, and those that it shares with others by `**said`."""

    named: dict[str, click.Parameter]
    shared: list[click.Parameter]
    has_rest: bool


def words_of(function: Callable[..., Any]) -> Words:
    """The words of the annotated parameters. `**said: Annotated[Any, shared]` means those of `shared.hints()`."""
    hints = get_type_hints(function, include_extras=True)
    named: dict[str, click.Parameter] = {}
    shared: list[click.Parameter] = []
    has_rest = False
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if get_origin(hint) is not Annotated:
            continue
        _, said = get_args(hint)
        if parameter.kind is parameter.VAR_KEYWORD:
            shared = [_parameter(name, word, _nothing(word)) for name, word in said.hints().items()]
        else:
            named[parameter.name] = _parameter(parameter.name, hint, parameter.default)
            has_rest |= isinstance(said, Argument) and said.is_rest
    return Words(named, shared, has_rest)


def _nothing(hint: Any) -> bool | None:
    """The value of a word that was not given."""
    return False if get_args(hint)[0] is bool else None


class NumberWord(click.ParamType):  # type: ignore[type-arg]  # older versions of click know no arguments
    """A whole number. If the rule of its field is a length of time, it is in seconds."""

    name = "number"

    def __init__(self, field: str) -> None:
        self._field = field

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The typed value, checked by its rule."""
        # Only a command that is given a number needs the rules.
        from holdfast.core.rules.number_rules import Period
        from holdfast.core.settings.rule_table import RULES

        rule = RULES[self._field]
        word = _word_of(param)
        if isinstance(rule, Period):
            return rule.millis(word, value) / 1000
        is_number = isinstance(value, str) and _WHOLE.fullmatch(value)
        number: int = rule.check(word, int(value) if is_number else value)
        return number


class TextWord(click.ParamType):  # type: ignore[type-arg]
    """A text that is checked by the rule of its field."""

    name = "text"

    def __init__(self, field: str) -> None:
        self._field = field

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The typed value, checked by its rule."""
        from holdfast.core.settings.rule_table import check

        text: str = check(self._field, value, _word_of(param))
        return text


def _word_of(parameter: click.Parameter | None) -> str:
    """The name of an option or an argument."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return "" if parameter is None else parameter.name or ""


def _parameter(name: str, hint: Any, default: Any) -> click.Parameter:
    plain, said = get_args(hint)
    kind, is_many = _kind(plain)
    is_needed = default is inspect.Parameter.empty
    if isinstance(said, Argument):
        # Several words have no default of their own. An empty tuple means None.
        usual = {} if is_needed or is_many else {"default": default}
        return click.Argument(
            [name],
            type=_type(kind, said.field),
            required=is_needed,
            nargs=-1 if is_many else 1,
            metavar=said.metavar,
            shell_complete=_completing(said.complete),
            **usual,
        )
    names = said.names or (f"--{name.replace('_', '-')}",)
    is_flag = kind is bool
    usual = {} if is_needed else {"default": None if is_many else default}
    return click.Option(
        [name, *names],
        type=None if is_flag else _type(kind, said.field),
        is_flag=is_flag,
        multiple=is_many,
        required=is_needed,
        show_default=not is_flag and usual.get("default") is not None,
        help=said.help,
        hidden=said.is_hidden,
        metavar=said.metavar,
        shell_complete=None if is_flag else _completing(said.complete),
        **usual,
    )


def _kind(hint: Any) -> tuple[type, bool]:
    """The type of one word, and whether there may be several."""
    if get_origin(hint) in (Union, UnionType):
        [hint] = [part for part in get_args(hint) if part is not NoneType]
    if get_origin(hint) is list:
        return get_args(hint)[0], True
    return hint, False


def _type(kind: type, field: str | None) -> Any:
    if kind is Path:
        return click.Path(path_type=Path)
    if kind in (int, float):
        assert field is not None, "name the rule of a number"
        return NumberWord(field)
    return click.STRING if field is None else TextWord(field)


def _completing(complete: Complete | None) -> Callable[..., list[CompletionItem]] | None:
    if complete is None:
        return None

    def completed(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = complete(incomplete)
        except Exception:
            return []  # A shell must not get errors as completions.
        return [
            CompletionItem(item) if isinstance(item, str) else CompletionItem(item[0], help=item[1]) for item in found
        ]

    return completed
