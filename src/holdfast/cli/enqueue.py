"""`holdfast enqueue`: a job of any task."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from holdfast.cli import job_options
from holdfast.cli.completion import tasks
from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import put, show_json
from holdfast.cli.words import Argument, Option
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import shown


def enqueue(
    task: Annotated[str, Argument("TASK", help="The task's name.", complete=tasks)],
    payload: Annotated[
        str, Argument("[JSON]", help="Its arguments as a JSON object; - reads them from standard input.")
    ] = "{}",
    queue: job_options.InQueue = None,
    priority: job_options.Priority = None,
    retries: job_options.Retries = None,
    timeout: job_options.Timeout = None,
    delay: job_options.Delay = None,
    at: job_options.At = None,
    ttl: job_options.Ttl = None,
    deadline: job_options.Deadline = None,
    tag: job_options.Tag = None,
    tenant: job_options.Tenant = None,
    subject: job_options.Subject = None,
    group: job_options.Group = None,
    after: job_options.After = None,
    after_ended: job_options.AfterEnded = None,
    when_idle: job_options.WhenIdle = False,
    when_charging: job_options.WhenCharging = False,
    tokens: job_options.TokensWord = None,
    here: job_options.Here = False,
    node: job_options.OnNode = None,
    anywhere: job_options.Anywhere = False,
    on_event: job_options.OnEvent = None,
    where: job_options.Where = None,
    wait_for_room: job_options.WaitForRoom = None,
    key: Annotated[str | None, Option(metavar="KEY", help="An idempotency key: the same one twice is one job.")] = None,
    wait: Annotated[bool, Option("--wait", help="Wait for the result and print it.")] = False,
    anyway: job_options.Anyway = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Queue a job of any task, and print its number.

    What is not said is as the task declares. A task that no worker has declared is refused, unless you insist.

    \b
    Examples:
      holdfast enqueue index_file '{"path": "a.py"}' --queue code
      holdfast enqueue double '{"x": 21}' --wait
    """
    hf = client(home)
    options = job_options.options(
        hf,
        queue=queue,
        priority=priority,
        retries=retries,
        timeout=timeout,
        delay=delay,
        at=at,
        ttl=ttl,
        deadline=deadline,
        tag=tag,
        tenant=tenant,
        subject=subject,
        group=group,
        after=after,
        after_ended=after_ended,
        when_idle=when_idle,
        when_charging=when_charging,
        tokens=tokens,
        on_event=on_event,
        where=where,
        wait_for_room=wait_for_room,
        node=job_options.machine(hf, here, node, anywhere),
    )
    with job_options.known_tasks():
        handle = hf.enqueue(task, read_object(payload), must_exist=not anyway, idempotency_key=key, **options)
    if wait:
        from holdfast.cli.wait import print_result

        print_result(hf.job(handle.id), json=json)
    elif json:
        show_json(handle.job)
    else:
        put(handle.number)


def read_object(given: str) -> dict[str, Any]:
    """The arguments of a job as they were typed, or as they come from standard input."""
    import msgspec

    text = sys.stdin.read() if given == "-" else given
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"the payload {shown(text)} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"the payload {shown(text)} is not a JSON object; write the arguments by name")
    return value
