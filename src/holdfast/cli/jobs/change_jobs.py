"""`holdfast cancel`, `retry` and `move`: change what becomes of jobs, one or many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import jobs_shown
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.completion import jobs as some_jobs
from holdfast.cli.frame.confirm import confirm
from holdfast.cli.frame.options import ErrorOption, JobsArgument, PriorityOption, StateOption, TaskOption, YesOption
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.progress import ProgressBar
from holdfast.cli.frame.words import Argument, Option
from holdfast.cli.jobs import job_options
from holdfast.cli.jobs.job_options import Anywhere, FilterWords, Here
from holdfast.core.errors import InvalidInput
from holdfast.core.job import TERMINAL, WAITING, StateName
from holdfast.core.messages.jobs import Cancelling
from holdfast.core.rules import rule
from holdfast.core.settings import rule_table
from holdfast.core.settings.rule_table import RULES

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.core.jobs.stored_job import Job

AT_ONCE = 1_000
MOST = 10_000


def cancel(
    jobs: JobsArgument = None,
    state: StateOption = None,
    task: TaskOption = None,
    yes: YesOption = False,
    **said: Annotated[Any, FilterWords()],
) -> Output:
    """Cancel jobs by number, or all that fit.

    Those that run are asked to stop.

    \b
    Examples:
      holdfast cancel 42
      holdfast cancel --queue build --state queued
    """
    hf = client()
    wanted = _which(jobs, jobs_shown.filters(state, task) | job_options.read_options(hf, said))
    done = _cancel_each(hf, jobs) if jobs else _cancel_all(hf, wanted, yes=yes)
    counts = ((done.cancelled, "cancelled"), (done.requested, "asked to stop"), (done.ended, "had ended already"))
    return Output(done, ", ".join(f"{count} {said}" for count, said in counts if count) or "nothing to cancel")


def _cancel_each(hf: Client, jobs: list[str]) -> Cancelling:
    # All of them are found before the first one is changed.
    done = [handle.cancel() for handle in [hf.job(job) for job in jobs]]
    return Cancelling(
        sum(one.cancelled for one in done), sum(one.requested for one in done), sum(one.ended for one in done)
    )


def _cancel_all(hf: Client, wanted: dict[str, Any], *, yes: bool) -> Cancelling:
    states = {StateName(name) for name in wanted.pop("state", None) or StateName}
    waiting, running = sorted(states & WAITING), sorted(states & {StateName.RUNNING})
    count = _count(hf, "cancel", wanted, [*waiting, *running])
    confirm("Cancel", count.jobs, more=count.more, yes=yes)
    cancelled = requested = 0
    with ProgressBar("cancelling") as shown:
        is_left = bool(waiting)
        while is_left:
            step = hf.bulk("cancel", limit=AT_ONCE, state=waiting, **wanted)
            is_left = step.more
            cancelled += step.jobs
            shown.at(cancelled, max(count.jobs, cancelled))
        # Running jobs are asked once. They stay in the list until they have stopped.
        if running:
            requested = hf.bulk("cancel", limit=MOST, state=running, **wanted).jobs
    return Cancelling(cancelled, requested)


def retry(
    jobs: JobsArgument = None,
    state: StateOption = None,
    task: TaskOption = None,
    error: ErrorOption = None,
    priority: PriorityOption = None,
    yes: YesOption = False,
    **said: Annotated[Any, FilterWords()],
) -> Output:
    """Run jobs again, as new ones.

    Each new job gets what the old one ran with. Name jobs, or say which: without --state, those that failed.

    \b
    Examples:
      holdfast retry 42
      holdfast retry --state failed --error "connection refused"
    """
    hf = client()
    wanted = _which(jobs, jobs_shown.filters(state, task, error) | job_options.read_options(hf, said))
    if jobs:
        again = [handle.retry(priority).job for handle in [hf.job(job) for job in jobs]]
    else:
        states = sorted({StateName(name) for name in wanted.pop("state", None) or ["FAILED"]} & TERMINAL)
        count = _count(hf, "retry", wanted, states)
        confirm("Run again", count.jobs, more=count.more, yes=yes)
        again = list(_retry_all(hf, {**wanted, "state": states}, count.jobs, priority)) if states else []
    if jobs or len(again) == 1:
        return Output(again, [job.number for job in again])
    made = f"{len(again)} new jobs, {again[0].number} to {again[-1].number}" if again else "nothing to run again"
    return Output(again, made)


def _retry_all(hf: Client, wanted: dict[str, Any], count: int, priority: int | None) -> Iterator[Job]:
    """Retry them one by one, in the order of their enqueue. A call for all of them could not be repeated safely."""
    found, cursor = [], None
    while True:
        page = hf.jobs(limit=AT_ONCE, cursor=cursor, **wanted)
        found += page.jobs
        cursor = page.cursor
        if cursor is None:
            break
    with ProgressBar("enqueuing again") as shown:
        for number, job in enumerate(reversed(found), 1):
            handle = hf._handle(job)
            # Only the last link of a retry chain is retried.
            if handle.job.id == job.id:
                yield handle.retry(priority).job
            shown.at(number, max(len(found), count))


def move(
    job: Annotated[str | None, Argument("[JOB]", help="A job's number or id.", complete=some_jobs)] = None,
    where: Annotated[str | None, Argument("[top|bottom|before|after]", help="Which place.")] = None,
    other: Annotated[str | None, Argument("[JOB]", help="The other job.", complete=some_jobs)] = None,
    priority: Annotated[
        int | None, Option("--priority", "-p", metavar="N", field="priority", help="A new priority.")
    ] = None,
    node: Annotated[
        str | None,
        Option("--node", metavar="NODE", field="node", help="Instead of a job: all that are tied to this machine."),
    ] = None,
    to: Annotated[str | None, Option("--to", metavar="NODE", help="From now on, on this machine alone.")] = None,
    here: Here = False,
    anywhere: Anywhere = False,
    yes: YesOption = False,
) -> Output:
    """Change the place of a waiting job in its queue, its priority, or the machine it is tied to.

    With --node, all waiting jobs that are tied to that machine may run elsewhere: on any, unless you say where.

    \b
    Examples:
      holdfast move 42 top
      holdfast move 42 before 17
      holdfast move 42 --priority 10
      holdfast move 42 --anywhere
      holdfast move --node old-laptop
    """
    hf = client()
    target = job_options.machine(hf, here, to, anywhere)
    if node is not None:
        if job is not None or where is not None or priority is not None:
            raise InvalidInput(f"--node {node} means all jobs that are tied to it; give no job and no place with it")
        return _move_all(hf, node, target, yes=yes)
    if job is None:
        raise InvalidInput("name a job, or a machine with --node to move all that are tied to it")
    moves = here or anywhere or to is not None
    _check_place(where, other, is_enough=priority is not None or moves)
    handle = hf.job(job)
    if priority is not None:
        handle.set_priority(priority)
    if moves:
        handle.set_node(target)
    if where is not None:
        handle.move((where, hf.job(other)) if other is not None else where)  # type: ignore[arg-type]
    moved = handle.job
    said = [f"has priority {moved.priority}"] if priority is not None and where is None else []
    said += [f"may run on {moved.node or 'any machine'}"] if moves else []
    said += ["was moved"] if where is not None else []
    return Output(moved, f"job {moved.number} {' and '.join(said)}")


def _check_place(where: str | None, other: str | None, *, is_enough: bool) -> None:
    if where is None and not is_enough:
        raise InvalidInput(
            "say where the job goes: top, bottom, before JOB or after JOB; or give --priority, --to, --here or "
            "--anywhere"
        )
    if where is not None:
        rule_table.check_place(where, other)


def _move_all(hf: Client, node: str, target: str | None, *, yes: bool) -> Output:
    from holdfast.client.resources.nodes import MOST_COUNTED

    count = hf.count_tied(node)
    confirm("Move", count, more=count >= MOST_COUNTED, yes=yes)
    moved = hf.move_jobs(node, target)
    said = f"{moved} {'job' if moved == 1 else 'jobs'} moved" if moved else f"no waiting job is tied to {node}"
    return Output({"jobs": moved}, said)


def _which(jobs: list[str] | None, wanted: dict[str, Any]) -> dict[str, Any]:
    """Refuse both jobs and filters, and neither of them."""
    if bool(jobs) == bool(wanted):
        raise InvalidInput(
            "name jobs, or say which ones with --state, --queue, --task, --tag or --group"
            + (", not both" if jobs else "")
        )
    if "state" in wanted:
        rule.check_all(RULES["states"], "--state", wanted["state"])
    return wanted | {"without_system": True}


def _count(hf: Client, action: str, wanted: dict[str, Any], states: list[StateName]) -> Any:
    if not states:
        raise InvalidInput(f"no job in that state can be {'cancelled' if action == 'cancel' else 'run again'}")
    return hf.bulk(action, dry_run=True, limit=MOST, state=states, **wanted)
