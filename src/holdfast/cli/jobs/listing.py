"""`holdfast ls`: the jobs, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import completion, jobs_shown, output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.options import CursorOption, ErrorOption, LimitOption, StateOption, TaskOption
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Option
from holdfast.cli.jobs import job_options
from holdfast.cli.jobs.job_options import FilterWords
from holdfast.core.job import Queued
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.jobs import Page

if TYPE_CHECKING:
    from holdfast.client.remote import Client


def ls(
    state: StateOption = None,
    task: TaskOption = None,
    subject: Annotated[str | None, Option(metavar="TEXT", help="Only subjects that begin with this.")] = None,
    error: ErrorOption = None,
    since: Annotated[
        str | None, Option(metavar="TIME", help="Only those enqueued within this time: 90s, 2h, 7d.")
    ] = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    schedule: Annotated[
        str | None,
        Option(
            "--schedule", metavar="SCHEDULE", help="Only those of this schedule.", complete=completion.named_schedules
        ),
    ] = None,
    everything: Annotated[bool, Option("--all", "-a", help="The daemon's own jobs too, such as canaries.")] = False,
    payloads: Annotated[
        bool,
        Option(
            "--payloads",
            help="With --json: long payloads, results, checkpoints and variables too; a page ends at 2 MiB then.",
        ),
    ] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print the numbers alone.")] = False,
    **said: Annotated[Any, FilterWords()],
) -> Output:
    """List jobs, newest first.

    \b
    Examples:
      holdfast ls
      holdfast ls --state failed --since 1h
      holdfast cancel $(holdfast ls -q --queue build)
    """
    hf = client()
    wanted = jobs_shown.filters(state, task, error) | job_options.read_options(hf, said)
    if schedule is not None:
        wanted["schedule"] = hf.schedule_id(schedule)
    is_filtered = bool(wanted or subject or since)
    wanted |= {
        "subject_prefix": subject,
        "created_after": times.before("since", since),
        "without_system": not everything,
    }
    page = hf.jobs(limit=limit, cursor=cursor, payloads=payloads, **wanted)
    while not payloads and page.cursor is not None and len(page.jobs) < limit:
        # The page ended because of its size.
        more = hf.jobs(limit=limit - len(page.jobs), cursor=page.cursor, **wanted)
        page = Page(page.jobs + more.jobs, more.cursor)
    if quiet:
        return Output(page, [job.number for job in page.jobs])
    if not page.jobs:
        none = "no jobs fit" if is_filtered else "no jobs yet; try: holdfast run -- echo hello"
        return Output(page, lambda: say(none))
    return Output(page, lambda: _show(hf, page, limit))


def _show(hf: Client, page: Page, limit: int) -> None:
    held = _held_back(hf, {job.queue for job in page.jobs if isinstance(job.state, Queued)})
    rows = [_row(hf, job, held.get(job.queue, "")) for job in page.jobs]
    output.show_table(["job", "state", "what", "queue", "created", "tries", "detail"], rows)
    output.say_more(page.cursor, f"newest {limit}", limit)


def _held_back(hf: Client, queues: set[str]) -> dict[str, str]:
    """What holds back all jobs of a queue, for queues that are held back."""
    if not queues:
        return {}
    from holdfast.cli.queues.queues import breaker_says
    from holdfast.core.gates.pressure import effect_of, is_held
    from holdfast.core.messages.queues import Queue

    settings = {one.name: one for one in hf.queues()}
    machines = hf.machines()
    found = {}
    for name in queues:
        queue = settings.get(name, Queue(name=name))
        said = []
        if queue.paused_at is not None:
            said.append(f"queue is paused: {queue.pause_reason}" if queue.pause_reason else "queue is paused")
        if queue.tripped is not None:
            said.append(breaker_says(queue.tripped))
        if machines and all(is_held(machine.holds, name, queue.queue_class) for machine in machines):
            presses = [one for machine in machines for one in machine.pressure]
            says = [one.says for one in presses if is_held(effect_of(one).holds, name, queue.queue_class)]
            said.append("held back: " + "; ".join(says))
        found[name] = ", ".join(said)
    return found


def _row(hf: Client, job: Job, held: str) -> list[str]:
    said = [
        jobs_shown.numbered(jobs_shown.detail(job), hf),
        held if isinstance(job.state, Queued) else "",
        job.schedule_id and jobs_shown.triggered(job.trigger, hf),
    ]
    return [
        str(job.number),
        output.state_text(job.state.name),
        jobs_shown.what(job),
        job.queue,
        times.ago(job.created_at),
        str(job.attempts),
        ", ".join(filter(None, said)),
    ]
