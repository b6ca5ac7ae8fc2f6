"""`holdfast`: the commands, loaded when they are called, and what they have in common."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from holdfast.cli.failing import ending
from holdfast.cli.options import new_typer
from holdfast.wire.home import HOME

# Every command, in the order of the help, with the module that has it.
SECTIONS: dict[str, dict[str, str]] = {
    "Daemon": {
        "up": "service",
        "down": "service",
        "status": "status",
        "top": "top",
        "worker": "worker",
        "sessions": "sessions",
        "doctor": "doctor",
    },
    "Jobs": {
        "run": "run",
        "enqueue": "enqueue",
        "ls": "listing",
        "show": "show",
        "why": "why",
        "logs": "logs",
        "wait": "wait",
        "cancel": "acting",
        "retry": "acting",
        "move": "acting",
        "group": "group",
    },
    "Queues": {
        "queue": "queues",
        "pause": "queues",
        "resume": "queues",
        "direct": "direct",
    },
    "Database": {
        "db": "db",
        "bench": "bench",
    },
}
WHERE = {name: module for commands in SECTIONS.values() for name, module in commands.items()}


class Commands(TyperGroup):
    """Imports the module of a command when somebody asks for it, so that none pays for the others."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Their names are enough for a list, and for a guess what a misspelt one should be.
        self.commands = {name: TyperCommand(name) for name in WHERE}
        self._loaded: dict[str, Any] = {}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, ready to be called."""
        if cmd_name in WHERE and cmd_name not in self._loaded:
            self._loaded[cmd_name] = load(cmd_name)
        return self._loaded.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands section by section."""
        width = max(map(len, WHERE))
        for title, names in SECTIONS.items():
            commands = [(name.ljust(width), self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(80)) for name, command in commands])


def load(name: str) -> Any:
    """A command, or a group of them: the function, or the `Typer`, of this name in its module."""
    found = getattr(import_module(f"holdfast.cli.{WHERE[name]}"), name)
    if not isinstance(found, typer.Typer):
        alone = new_typer()
        alone.command(name)(found)
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    return command


def _show_version(wanted: bool) -> None:
    if wanted:
        from holdfast.version import VERSION

        print(f"holdfast {VERSION}")
        raise typer.Exit


app = new_typer(name="holdfast", cls=Commands, no_args_is_help=True, add_completion=True)


@app.callback(epilog="Try first: holdfast up -d, then holdfast run --wait -- echo hello")
def holdfast(
    home: Annotated[Path | None, typer.Option("--home", metavar="DIR", help="The daemon's folder.")] = None,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Say which version this is.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """The durable background runtime of this machine."""
    if home is not None:
        os.environ[HOME] = str(home)


def run(words: Sequence[str]) -> int:
    """Run a command; the exit code."""
    code = typer.main.get_command(app).main(args=list(words), prog_name="holdfast", standalone_mode=False)
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def main() -> None:
    """Run the command of this process. 0 is well, 1 failed, 2 a mistake in the words, 3 no daemon."""
    try:
        code = run(sys.argv[1:])
    except BaseException as error:
        code = ending(error)
    sys.exit(code)
