"""Commands, made from functions. What a function takes is said in its signature.

Every command takes `--home` and `--json` too, and no signature says so. The home is chosen before a function is called.
What a function returns is printed, as JSON or for a person. One that prints by itself has a parameter `json`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import click

from holdfast.cli.frame.failures import CommandEnded
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import words_of
from holdfast.wire.home import HOME

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def choose_home(context: click.Context, parameter: click.Parameter, home: Path | str | None) -> None:
    """Make this home the one that everything here means; what a shell completes, too."""
    if home is not None:
        os.environ[HOME] = str(home)


HOME_OPTION = click.Option(
    ["--home"],
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="The daemon's folder; also HOLDFAST_HOME. Default: the platform's data folder.",
    callback=choose_home,
    expose_value=False,
)
JSON_OPTION = click.Option(["--json"], is_flag=True, default=False, help="Print JSON.")


CommandFunction: TypeAlias = Callable[..., Output | None]


def command_of(name: str, function: CommandFunction, *, has_home: bool = True) -> click.Command:
    """The command that calls a function with what was said. Without a home there is no JSON either."""
    words = words_of(function)
    takes_json = "json" in inspect.signature(function).parameters
    # A function may have its own words for it.
    every = [HOME_OPTION, words.named.pop("json", JSON_OPTION)] if has_home else []

    def call(*, json: bool = False, **values: Any) -> None:
        from holdfast.runtime.caller import name_program

        name_program(click.get_current_context().command_path)
        if takes_json:
            values["json"] = json
        output = function(**{key: _listed(value) for key, value in values.items()})
        if output is not None:
            output.put(json=json)
            if output.code:
                raise CommandEnded(output.code)

    text = inspect.getdoc(function) or ""
    return Command(
        name,
        callback=call,
        params=[*words.named.values(), *every, *words.shared],
        help=text,
        short_help=_summary(text),
        context_settings={**SETTINGS, "allow_interspersed_args": not words.has_rest},
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


class CommandGroup(click.Group):
    """A command with commands of its own, of which one may be meant where none is named."""

    usual: str | None = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words, with the usual command in front if they begin with its options."""
        if self.usual and (not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)):
            args = [self.usual, *args]
        return super().parse_args(ctx, args)


def group_of(
    name: str, help: str, functions: Mapping[str, CommandFunction], *, usual: str | None = None
) -> click.Group:
    """A command with commands of its own; `usual` is the one that is meant where none is named."""
    commands = {word: command_of(word, function) for word, function in functions.items()}
    help = inspect.cleandoc(help)
    made = CommandGroup(name, commands, help=help, short_help=_summary(help), context_settings=SETTINGS)
    made.usual = usual
    return made


def _summary(text: str) -> str:
    return text.partition("\n")[0].removesuffix(".")


def _listed(value: Any) -> Any:
    """Several words as a list; none of them as None."""
    return (list(value) or None) if isinstance(value, tuple) else value
