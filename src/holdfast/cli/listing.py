"""`holdfast ls`: the jobs, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.completion import named_schedules
from holdfast.cli.failing import say
from holdfast.cli.group import find_group
from holdfast.cli.jobs_shown import detail, filters, numbered, triggered, what
from holdfast.cli.options import (
    ErrorOption,
    GroupOption,
    HomeOption,
    JsonOption,
    QueueOption,
    StateOption,
    TagOption,
    TaskOption,
    client,
)
from holdfast.cli.output import is_terminal, show_json, show_table, state_text
from holdfast.cli.times import ago, before
from holdfast.cli.words import Option
from holdfast.core.job import Job

if TYPE_CHECKING:
    from holdfast.client.remote import Client


def ls(
    state: StateOption = None,
    queue: QueueOption = None,
    task: TaskOption = None,
    tag: TagOption = None,
    group: GroupOption = None,
    subject: Annotated[str | None, Option(metavar="TEXT", help="Only subjects that begin with this.")] = None,
    error: ErrorOption = None,
    since: Annotated[
        str | None, Option(metavar="TIME", help="Only those enqueued within this time: 90s, 2h, 7d.")
    ] = None,
    limit: Annotated[int, Option("--limit", "-n", metavar="N", min=1, max=1000, help="How many.")] = 20,
    cursor: Annotated[
        str | None, Option(metavar="CURSOR", help="Go on where a page ended; --json prints its cursor.")
    ] = None,
    schedule: Annotated[
        str | None,
        Option("--schedule", metavar="SCHEDULE", help="Only those of this schedule.", complete=named_schedules),
    ] = None,
    everything: Annotated[bool, Option("--all", "-a", help="The daemon's own jobs too, such as canaries.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print the numbers alone.")] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """List jobs, newest first.

    \b
    Examples:
      holdfast ls
      holdfast ls --state failed --since 1h
      holdfast cancel $(holdfast ls -q --queue build)
    """
    hf = client(home)
    wanted = filters(state, queue, task, tag, group and find_group(hf, group).id, error)
    if schedule is not None:
        from holdfast.store.scripts.schedules import find_schedule

        wanted["schedule"] = hf.engine.query(find_schedule, schedule).id
    page = hf.jobs(
        limit=limit,
        cursor=cursor,
        subject_prefix=subject,
        created_after=before("since", since),
        without_system=not everything,
        **wanted,
    )
    if json:
        show_json(page)
    elif quiet:
        for job in page.jobs:
            print(job.number)
    elif not page.jobs:
        say("no jobs fit" if wanted or subject or since else "no jobs yet; try: holdfast run -- echo hello")
    else:
        show_table(
            ["job", "state", "what", "queue", "created", "tries", "detail"], [_row(hf, job) for job in page.jobs]
        )
        if page.cursor is not None and is_terminal():
            say(f"these are the newest {limit}; for more: -n {min(limit * 5, 1000)}")


def _row(hf: Client, job: Job) -> list[str]:
    return [
        str(job.number),
        state_text(job.state.name),
        what(job),
        job.queue,
        ago(job.created_at),
        str(job.attempts),
        ", ".join(filter(None, [numbered(detail(job), hf), job.schedule_id and triggered(job.trigger, hf)])),
    ]
