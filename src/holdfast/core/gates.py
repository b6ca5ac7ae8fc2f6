"""Why a waiting job does not run: one gate for each reason, one list for everybody who asks.

A gate looks at a job and at the world around it, and is open or closed. A closed one says why in words, what it sees
now, what would open it and, where that is known, when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from holdfast.core.job import WAITING, Job, JobId, Millis, Scheduled


class Reserved(Struct, frozen=True):
    """Somebody keeps the queue, or everything, for himself."""

    reserved_by: str
    scope: str
    expires_at: Millis


class World(Struct, frozen=True, kw_only=True):
    """What the gates of one job depend on, read together with it."""

    now: Millis
    waits_for: tuple[JobId, ...] = ()
    paused_at: Millis | None = None
    pause_reason: str | None = None
    reserved: Reserved | None = None
    concurrency: int | None = None
    running: int = 0
    is_offered: bool = True
    busy_with: JobId | None = None
    must_run_alone: bool = False
    kept_for: JobId | None = None


class Open(Struct, frozen=True, tag="open", tag_field="gate_is"):
    """The gate does not hold the job; `now` is what it sees."""

    gate: str
    now: str


class Closed(Struct, frozen=True, tag="closed", tag_field="gate_is"):
    """The gate holds the job: why, what it sees now, what it needs, and when it will open if that is known."""

    gate: str
    reason: str
    now: str
    needs: str
    opens_at: Millis | None = None


Verdict: TypeAlias = Open | Closed
Gate: TypeAlias = Callable[[Job, World], Verdict]


def due(job: Job, world: World) -> Verdict:
    """Its time has come."""
    until = job.state.until if isinstance(job.state, Scheduled) else None
    if until is None or until <= world.now:
        return Open("due", "its time has come")
    return Closed("due", "it is not due yet", f"{until - world.now} ms to go", "its time", until)


def dependencies(job: Job, world: World) -> Verdict:
    """What it waits for has ended."""
    if not world.waits_for:
        return Open("dependencies", "it waits for no other job")
    named = ", ".join(world.waits_for)
    return Closed("dependencies", "it waits for other jobs", f"not ended: {named}", "the end of these jobs")


def queue_paused(job: Job, world: World) -> Verdict:
    """Its queue is not paused."""
    if world.paused_at is None:
        return Open("queue paused", "not paused")
    because = f" ({world.pause_reason})" if world.pause_reason else ""
    return Closed("queue paused", f"queue {job.queue!r} is paused{because}", "paused", "a resume of the queue")


def reservation(job: Job, world: World) -> Verdict:
    """Nobody has reserved its queue."""
    held = world.reserved
    if held is None:
        return Open("reservation", "not reserved")
    scope = "everything" if held.scope == "*" else f"queue {held.scope!r}"
    said = f"{scope} is reserved by {held.reserved_by}"
    return Closed("reservation", said, "reserved", "a release of the reservation", held.expires_at)


def queue_concurrency(job: Job, world: World) -> Verdict:
    """Its queue may run one more."""
    if world.concurrency is None:
        return Open("queue concurrency", f"{world.running} running, no limit")
    now = f"{world.running} of {world.concurrency} running"
    if world.running < world.concurrency:
        return Open("queue concurrency", now)
    said = f"queue {job.queue!r} runs as many jobs as it may"
    return Closed("queue concurrency", said, now, "the end of a job of this queue, or a higher limit")


def worker(job: Job, world: World) -> Verdict:
    """A living worker offers its task and serves its queue."""
    if world.is_offered:
        return Open("worker", "a worker offers it")
    said = f"no worker offers task {job.task!r} on queue {job.queue!r}"
    return Closed("worker", said, "no such worker", "a program that runs this task and serves this queue")


def subject_busy(job: Job, world: World) -> Verdict:
    """No other job of its subject is running."""
    if world.busy_with is None:
        return Open("subject busy", "no other job of its subject runs")
    said = f"an earlier generation of {job.subject!r} is running"
    return Closed("subject busy", said, f"job {world.busy_with} is running", "the end of that job")


def alone(job: Job, world: World) -> Verdict:
    """It may run beside others, and they beside it."""
    if world.kept_for is not None:
        said = "every worker that offers its task runs a job alone, whose process died before"
        return Closed("alone", said, f"job {world.kept_for} runs alone", "the end of that job")
    if not world.must_run_alone:
        return Open("alone", "it may run beside others")
    said = "its process died while it ran, so it runs next with nothing beside it"
    return Closed("alone", said, "its worker is not empty", "a worker with nothing else to do")


GATES: Sequence[Gate] = (
    due,
    dependencies,
    queue_paused,
    reservation,
    queue_concurrency,
    worker,
    subject_busy,
    alone,
)


def look(job: Job, world: World) -> list[Verdict]:
    """What every gate says about a waiting job; nothing for a job that does not wait."""
    return [gate(job, world) for gate in GATES] if job.state.name in WAITING else []
