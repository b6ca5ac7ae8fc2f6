"""What commands about templates and schedules have in common: how their jobs are to be run, and what they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from holdfast.cli.frame import completion
from holdfast.cli.frame.given import read_object
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.cli.jobs.job_options import OptionWords
from holdfast.core.declared.option import SaidIn
from holdfast.core.errors import InvalidInput
from holdfast.core.jobs.requests import COMMAND

if TYPE_CHECKING:
    from holdfast.client.resources.handle import JobHandle

NameWord = Annotated[str, Argument("NAME", help="What to call it.")]
TaskWord = Annotated[
    str | None, Option("--task", metavar="TASK", help="The task that its jobs run.", complete=completion.tasks)
]
PayloadWord = Annotated[
    str | None,
    Option("--payload", metavar="JSON", help="The arguments as a JSON object; - reads them from standard input."),
]
CommandWords = Annotated[
    list[str] | None, Argument("[-- COMMAND [ARG]...]", help="A command instead of a task; it starts in this folder.")
]
WaitWord = Annotated[
    bool, Option("--wait", "-w", help="Wait until it has ended, and show what it printed or returned.")
]


OfTemplate: TypeAlias = Annotated[Any, OptionWords(SaidIn.TEMPLATE)]
OfSchedule: TypeAlias = Annotated[Any, OptionWords(SaidIn.SCHEDULE)]
OneJob: TypeAlias = Annotated[Any, OptionWords(SaidIn.CALL)]


def read_payload(given: str | None) -> dict[str, Any] | None:
    """The arguments that were given, if any."""
    return None if given is None else read_object(given)


def what_to_run(task: str | None, payload: str | None, command: list[str] | None) -> tuple[str | None, Any]:
    """The task with its payload; a command is a task too."""
    if command is None:
        return task, read_payload(payload)
    if task is not None or payload is not None:
        raise InvalidInput("give either a task with its payload or a command, not both")
    from holdfast.client.resources.commands import command_arguments

    return COMMAND, command_arguments(tuple(command), ".", None, None, None)


def made_job(handle: JobHandle[Any], *, wait: bool, json: bool) -> Output:
    """The number of a job that was made, or how it ends."""
    if wait and handle.job.task == COMMAND:
        from holdfast.cli.jobs.run import end_of

        return end_of(handle, json=json)
    if wait:
        from holdfast.cli.jobs.wait import result_of

        return result_of(handle)
    return Output(lambda: handle.job, handle.number)
