"""Options and arguments that many commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from holdfast.cli.frame import completion
from holdfast.cli.frame.words import Argument, Option

ConfigOption = Annotated[
    Path | None, Option("--config", metavar="FILE", help="The settings; by default holdfast.toml in the home.")
]
YesOption = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
JobArgument = Annotated[str, Argument("JOB", help="A job's number or id.", complete=completion.jobs)]
JobsArgument = Annotated[
    list[str] | None, Argument("[JOB]...", help="Numbers or ids of jobs.", complete=completion.jobs)
]
StateOption = Annotated[
    list[str] | None,
    Option("--state", "-s", metavar="STATE", help="Only this state. Repeatable.", complete=completion.states),
]
TaskOption = Annotated[str | None, Option("--task", metavar="TASK", help="Only this task.", complete=completion.tasks)]
LimitOption = Annotated[int, Option("--limit", "-n", metavar="N", field="limit", help="How many.")]
CursorOption = Annotated[
    str | None, Option("--cursor", metavar="CURSOR", help="Go on where a page ended; --json prints its cursor.")
]
PriorityOption = Annotated[
    int | None, Option("--priority", "-p", metavar="N", field="priority", help="Another priority.")
]
ReasonOption = Annotated[str | None, Option("--reason", metavar="TEXT", field="reason", help="Why, for those who ask.")]
PatienceOption = Annotated[str | None, Option("--timeout", metavar="TIME", help="How long to wait at most: 90s, 2h.")]
RenameOption = Annotated[str | None, Option("--name", metavar="NAME", help="Another name.")]
ErrorOption = Annotated[
    str | None, Option("--error", metavar="TEXT", help="Only those whose error contains this text.")
]
