"""Options and arguments that many commands share, and how a command reaches the daemon."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from holdfast.cli.completion import jobs, queues, states, tasks, tenants
from holdfast.cli.failing import speak_up
from holdfast.cli.words import Argument, Option
from holdfast.wire.home import HOME

if TYPE_CHECKING:
    from holdfast.client.remote import Client

HomeOption = Annotated[
    Path | None,
    Option(
        "--home", metavar="DIR", help="The daemon's folder; also HOLDFAST_HOME. Default: the platform's data folder."
    ),
]
ConfigOption = Annotated[
    Path | None, Option("--config", metavar="FILE", help="The settings; by default holdfast.toml in the home.")
]
JsonOption = Annotated[bool, Option("--json", help="Print JSON.")]
YesOption = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
JobArgument = Annotated[str, Argument("JOB", help="A job's number or id.", complete=jobs)]
JobsArgument = Annotated[list[str] | None, Argument("[JOB]...", help="Numbers or ids of jobs.", complete=jobs)]
QueueOption = Annotated[str | None, Option("--queue", metavar="QUEUE", help="Only this queue.", complete=queues)]
StateOption = Annotated[
    list[str] | None,
    Option("--state", "-s", metavar="STATE", help="Only this state. Repeatable.", complete=states),
]
TaskOption = Annotated[str | None, Option("--task", metavar="TASK", help="Only this task.", complete=tasks)]
TagOption = Annotated[str | None, Option("--tag", metavar="TAG", help="Only this tag.")]
TenantOption = Annotated[str | None, Option("--tenant", metavar="TENANT", help="Only this tenant.", complete=tenants)]
GroupOption = Annotated[str | None, Option("--group", metavar="GROUP", help="Only this group, by id or name.")]
ErrorOption = Annotated[
    str | None, Option("--error", metavar="TEXT", help="Only those whose error contains this text.")
]


def client(home: Path | None) -> Client:
    """The SDK, as a client of the daemon of this home."""
    from holdfast.client.remote import Client

    choose(home)
    speak_up()
    return Client()


def choose(home: Path | None) -> None:
    """Make this home the one that everything here means, and this command the program that calls."""
    from holdfast.client.caller import name_program

    context = click.get_current_context(silent=True)
    if context is not None:
        name_program(context.command_path)
    if home is not None:
        os.environ[HOME] = str(home)
