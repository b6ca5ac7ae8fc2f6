"""What commands about templates and schedules have in common: how their jobs are to be run, and what they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from holdfast.cli import job_options
from holdfast.cli.completion import tasks
from holdfast.cli.output import put
from holdfast.cli.words import Argument, Option
from holdfast.core.errors import InvalidInput
from holdfast.core.requests import COMMAND

if TYPE_CHECKING:
    from holdfast.client.handle import JobHandle
    from holdfast.client.remote import Client

TaskWord = Annotated[str | None, Option("--task", metavar="TASK", help="The task that its jobs run.", complete=tasks)]
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


class JobWords(TypedDict, total=False):
    """How every job is to be run."""

    queue: job_options.InQueue
    priority: job_options.Priority
    retries: job_options.Retries
    timeout: job_options.Timeout
    delay: job_options.Delay
    ttl: job_options.Ttl
    tag: job_options.Tag
    tenant: job_options.Tenant
    subject: job_options.Subject
    when_idle: job_options.WhenIdle
    when_charging: job_options.WhenCharging
    tokens: job_options.TokensWord
    on_event: job_options.OnEvent
    where: job_options.Where


class OneJobWords(JobWords, total=False):
    """How one job is to be run."""

    at: job_options.At
    deadline: job_options.Deadline
    group: job_options.Group
    after: job_options.After
    after_ended: job_options.AfterEnded


def sdk_options(hf: Client, words: JobWords | OneJobWords) -> dict[str, Any]:
    """What was said, as the SDK takes it; what was not said is left out."""
    said: dict[str, Any] = dict.fromkeys(OneJobWords.__annotations__) | dict(words)
    found = job_options.options(hf, **said)
    return {name: value for name, value in found.items() if value is not None}


def read_payload(given: str | None) -> dict[str, Any] | None:
    """The arguments that were given, if any."""
    from holdfast.cli.enqueue import read_object

    return None if given is None else read_object(given)


def what_to_run(task: str | None, payload: str | None, command: list[str] | None) -> tuple[str | None, Any]:
    """The task with its payload; a command is a task too."""
    if command is None:
        return task, read_payload(payload)
    if task is not None or payload is not None:
        raise InvalidInput("give either a task with its payload or a command, not both")
    from holdfast.client.commands import command_arguments

    return COMMAND, command_arguments(tuple(command), ".", None, None, None, None)


def tell_job(handle: JobHandle[Any], *, wait: bool, json: bool) -> None:
    """The number of a job that was made, or how it ends."""
    from holdfast.cli.output import show_json

    if wait and handle.job.task == COMMAND:
        from holdfast.cli.run import wait_for_command

        wait_for_command(handle, json=json)
    elif wait:
        from holdfast.cli.wait import print_result

        print_result(handle, json=json)
    elif json:
        show_json(handle.job)
    else:
        put(handle.number)
