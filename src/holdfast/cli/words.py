"""The words of a command: its options and arguments, read from the signature of a function.

`Annotated[int, Option("--limit", "-n", help="How many.")] = 20` says all that click needs to know. A library that reads
signatures would cost more at start-up than everything else that a short command does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

Complete = Callable[[click.Context, str], "list[str] | list[tuple[str, str]]"]


class Option:
    """Something that may be said about a call, by name."""

    def __init__(
        self,
        *names: str,
        help: str = "",
        metavar: str | None = None,
        min: float | None = None,
        max: float | None = None,
        hidden: bool = False,
        complete: Complete | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.range = (min, max)
        self.is_hidden = hidden
        self.complete = complete


class Argument:
    """Something that stands at its place. With `is_rest`, whatever comes behind it belongs to it, options too."""

    def __init__(
        self, metavar: str, *, help: str = "", complete: Complete | None = None, is_rest: bool = False
    ) -> None:
        self.metavar = metavar
        self.help = help
        self.complete = complete
        self.is_rest = is_rest


def command_of(name: str, function: Callable[..., None]) -> click.Command:
    """The command that calls a function with what was said."""
    words = _words(function)
    parameters = [_parameter(parameter, hint) for parameter, hint in words]
    has_rest = any(isinstance(said, Argument) and said.is_rest for _, hint in words for said in get_args(hint))

    def call(**values: Any) -> None:
        function(**{key: _listed(value) for key, value in values.items()})

    text = inspect.getdoc(function) or ""
    return Command(
        name,
        callback=call,
        params=parameters,
        help=text,
        short_help=_summary(text),
        context_settings={**SETTINGS, "allow_interspersed_args": not has_rest},
    )


class Command(click.Command):
    """A command that knows a number below 0 from an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            word = next((word for word in given if word.startswith(error.option_name)), error.option_name)
            if error.option_name[1:].isdigit():
                raise click.UsageError(f"{word!r} is not valid here: use a number that is not below 0", ctx) from None
            raise


class Whole(click.IntRange):
    """A whole number, as its error calls it."""

    name = "whole number"

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()


class Number(click.FloatRange):
    """A number, as its error calls it."""

    name = "number"

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()


class Group(click.Group):
    """A command with commands of its own, of which one may be meant where none is named."""

    usual: str | None = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words, with the usual command in front if they begin with its options."""
        if self.usual and (not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)):
            args = [self.usual, *args]
        return super().parse_args(ctx, args)


def group_of(
    name: str, help: str, functions: Mapping[str, Callable[..., None]], *, usual: str | None = None
) -> click.Group:
    """A command with commands of its own; `usual` is the one that is meant where none is named."""
    commands = {word: command_of(word, function) for word, function in functions.items()}
    help = inspect.cleandoc(help)
    made = Group(name, commands, help=help, short_help=_summary(help), context_settings=SETTINGS)
    made.usual = usual
    return made


def _summary(text: str) -> str:
    return text.partition("\n")[0].removesuffix(".")


def _words(function: Callable[..., None]) -> list[tuple[inspect.Parameter, Any]]:
    """The parameters with their hints. `**options: Unpack[Shared]` stands for the words that several commands share."""
    hints = get_type_hints(function, include_extras=True)
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            found.append((parameter, hints[parameter.name]))
            continue
        [shared] = get_args(hints[parameter.name])
        for name, hint in get_type_hints(shared, include_extras=True).items():
            default = False if get_args(hint)[0] is bool else None
            found.append((inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default), hint))
    return found


def _listed(value: Any) -> Any:
    """Several words as a list; none of them as None."""
    return (list(value) or None) if isinstance(value, tuple) else value


def _parameter(parameter: inspect.Parameter, hint: Any) -> click.Parameter:
    plain, said = get_args(hint) if get_origin(hint) is Annotated else (hint, Option())
    kind, is_many = _kind(plain)
    is_needed = parameter.default is parameter.empty
    if isinstance(said, Argument):
        # Several words have no default of their own: an empty tuple stands for None.
        default = {} if is_needed or is_many else {"default": parameter.default}
        return click.Argument(
            [parameter.name],
            type=_type(kind),
            required=is_needed,
            nargs=-1 if is_many else 1,
            metavar=said.metavar,
            shell_complete=_completing(said.complete),
            **default,
        )
    names = said.names or (f"--{parameter.name.replace('_', '-')}",)
    is_flag = kind is bool
    default = {} if is_needed else {"default": None if is_many else parameter.default}
    return click.Option(
        [parameter.name, *names],
        type=None if is_flag else _type(kind, said.range),
        is_flag=is_flag,
        multiple=is_many,
        required=is_needed,
        show_default=not is_flag and default.get("default") is not None,
        help=said.help,
        hidden=said.is_hidden,
        metavar=said.metavar,
        shell_complete=None if is_flag else _completing(said.complete),
        **default,
    )


def _kind(hint: Any) -> tuple[type, bool]:
    """The type of one word, and whether there may be several."""
    if get_origin(hint) in (Union, UnionType):
        [hint] = [part for part in get_args(hint) if part is not NoneType]
    if get_origin(hint) is list:
        return get_args(hint)[0], True
    return hint, False


def _type(kind: type, bounds: tuple[Any, Any] = (None, None)) -> Any:
    if kind is Path:
        return click.Path(path_type=Path)
    if kind is int:
        return Whole(*bounds)
    if kind is float:
        return Number(*bounds)
    return click.STRING


def _completing(complete: Complete | None) -> Callable[..., list[CompletionItem]] | None:
    if complete is None:
        return None

    def completed(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = complete(context, incomplete)
        except Exception:
            return []  # A shell is no place for errors.
        return [
            CompletionItem(item) if isinstance(item, str) else CompletionItem(item[0], help=item[1]) for item in found
        ]

    return completed
