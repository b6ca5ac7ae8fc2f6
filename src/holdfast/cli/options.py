"""Options and arguments that many commands share, and how a command reaches the daemon."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.completion import jobs, queues, states, tasks
from holdfast.wire.home import HOME

if TYPE_CHECKING:
    from holdfast.client.remote import Client

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home", metavar="DIR", help="The daemon's folder; also HOLDFAST_HOME. Default: the platform's data folder."
    ),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The settings; by default holdfast.toml in the home.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="A job's number or id.", autocompletion=jobs)]
JobsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[JOB]...", help="Numbers or ids of jobs.", autocompletion=jobs)
]
QueueOption = Annotated[
    str | None, typer.Option("--queue", metavar="QUEUE", help="Only this queue.", autocompletion=queues)
]
StateOption = Annotated[
    list[str] | None,
    typer.Option("--state", "-s", metavar="STATE", help="Only this state. Repeatable.", autocompletion=states),
]
TaskOption = Annotated[str | None, typer.Option("--task", metavar="TASK", help="Only this task.", autocompletion=tasks)]
TagOption = Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Only this tag.")]
GroupOption = Annotated[str | None, typer.Option("--group", metavar="GROUP", help="Only this group, by id or name.")]
ErrorOption = Annotated[
    str | None, typer.Option("--error", metavar="TEXT", help="Only those whose error contains this text.")
]


def client(home: Path | None) -> Client:
    """The SDK, as a client of the daemon of this home."""
    from holdfast.client.remote import Client

    choose(home)
    return Client()


def choose(home: Path | None) -> None:
    """Make this home the one that everything here means."""
    if home is not None:
        os.environ[HOME] = str(home)


def new_typer(**settings: Any) -> typer.Typer:
    """A `Typer` as all of ours are."""
    return typer.Typer(
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        add_completion=settings.pop("add_completion", False),
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )
