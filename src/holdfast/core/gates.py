"""Why a waiting job does not run: one gate for each reason, one list for everybody who asks.

A gate looks at a job and at the world around it, and is open or closed. A closed one says why in words, what it sees
now, what would open it and, where that is known, when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from holdfast.core.job import WAITING, Job, JobId, Millis, Scheduled
from holdfast.core.rate import Rate

# A sentence with more queues than that is not read to its end.
MOST_NAMED = 5


class Reserved(Struct, frozen=True):
    """Somebody keeps the queue, or everything, for himself; until it is granted, he waits for what runs there."""

    reserved_by: str
    scope: str
    expires_at: Millis
    is_granted: bool = True
    in_line: int = 0


class Place(Struct, frozen=True):
    """A machine where the job could run: what its probe has found, each with a sentence for people."""

    node: str
    is_idle: bool
    is_charging: bool
    idle_says: str
    charging_says: str


class World(Struct, frozen=True, kw_only=True):
    """What the gates of one job depend on, read together with it.

    `event_attributes` is what the event must have that the job waits for; None: it has come, or none is waited for.
    `ran_out` is a reservation whose time is over although whoever made it goes on. `offered_on` are the queues that
    its task is taken from, where its own is not among them.
    """

    now: Millis
    waits_for: tuple[JobId, ...] = ()
    event_attributes: dict[str, str] | None = None
    places: tuple[Place, ...] = ()
    paused_at: Millis | None = None
    pause_reason: str | None = None
    reserved: Reserved | None = None
    ran_out: Reserved | None = None
    concurrency: int | None = None
    running: int = 0
    rate: Rate | None = None
    started: int = 0
    rate_opens_at: Millis | None = None
    is_offered: bool = True
    offered_on: tuple[str, ...] = ()
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


def event(job: Job, world: World) -> Verdict:
    """The event that it waits for has come."""
    if world.event_attributes is None:
        said = "it waits for no event" if job.wait_for_event is None else f"event {job.wait_for_event!r} has come"
        return Open("event", said)
    wanted = "".join(f" {name}={value}" for name, value in sorted(world.event_attributes.items()))
    said = f"it waits for an event {job.wait_for_event!r}" + (f" with{wanted}" if wanted else "")
    name = job.wait_for_event or ""
    needs = "such an event" if name.endswith("*") else f"holdfast emit {name}{wanted}"
    return Closed("event", said, "none came since it was enqueued", needs)


def idle(job: Job, world: World) -> Verdict:
    """The machine is idle, if it waits for that."""
    if not job.wait_for_idle:
        return Open("idle", "it does not wait for an idle machine")
    seen = _seen([(place.node, place.idle_says) for place in world.places])
    if any(place.is_idle for place in world.places):
        return Open("idle", seen)
    return Closed("idle", "it waits until nobody uses the machine", seen, "an idle machine")


def charging(job: Job, world: World) -> Verdict:
    """The machine has mains power, if it waits for that; an idle one, if it waits for that as well."""
    if not job.require_charging:
        return Open("charging", "it does not wait for mains power")
    idle_ones = tuple(place for place in world.places if place.is_idle) if job.wait_for_idle else ()
    places = idle_ones or world.places
    seen = _seen([(place.node, place.charging_says) for place in places])
    if any(place.is_charging for place in places):
        return Open("charging", seen)
    return Closed("charging", "it waits until the machine has mains power", seen, "a machine on mains power")


def _seen(said: list[tuple[str, str]]) -> str:
    if not said:
        return "no machine that could run it has been looked at yet"
    return said[0][1] if len(said) == 1 else "; ".join(f"{node}: {text}" for node, text in said)


def queue_paused(job: Job, world: World) -> Verdict:
    """Its queue is not paused."""
    if world.paused_at is None:
        return Open("queue paused", "not paused")
    because = f" ({world.pause_reason})" if world.pause_reason else ""
    return Closed("queue paused", f"queue {job.queue!r} is paused{because}", "paused", "a resume of the queue")


def reservation(job: Job, world: World) -> Verdict:
    """Nobody has reserved its queue."""
    held, late = world.reserved, world.ran_out
    if held is None:
        told = "" if late is None else f"; the reservation of {late.reserved_by} ran out while he still uses it"
        return Open("reservation", f"not reserved{told}")
    scope = "everything" if held.scope == "*" else f"queue {held.scope!r}"
    said = f"{scope} is reserved by {held.reserved_by}"
    now = "reserved" if held.is_granted else "reserved, but what runs there has not ended"
    if held.in_line:
        now += f"; {held.in_line} more in line"
    # Before the grant, it is not known when its time to live begins.
    return Closed(
        "reservation", said, now, "a release of the reservation", held.expires_at if held.is_granted else None
    )


def queue_concurrency(job: Job, world: World) -> Verdict:
    """Its queue may run one more."""
    if world.concurrency is None:
        return Open("queue concurrency", f"{world.running} running, no limit")
    now = f"{world.running} of {world.concurrency} running"
    if world.running < world.concurrency:
        return Open("queue concurrency", now)
    said = f"queue {job.queue!r} runs as many jobs as it may"
    return Closed("queue concurrency", said, now, "the end of a job of this queue, or a higher limit")


def rate_limit(job: Job, world: World) -> Verdict:
    """Its queue may start one more in this time."""
    if world.rate is None:
        return Open("rate limit", "its queue has no rate")
    now = f"{world.started} of {world.rate.limit} started within a {world.rate.window}"
    if world.started < world.rate.limit:
        return Open("rate limit", now)
    said = f"queue {job.queue!r} has started as many jobs as it may in this time"
    return Closed("rate limit", said, now, "time, or a higher rate", world.rate_opens_at)


def worker(job: Job, world: World) -> Verdict:
    """A living worker offers its task and serves its queue."""
    if world.is_offered:
        return Open("worker", "a worker offers it")
    said = f"no worker offers task {job.task!r} on queue {job.queue!r}"
    if world.offered_on:
        named = ", ".join(map(repr, world.offered_on[:MOST_NAMED]))
        said += f"; one offers it on {named}{', …' if len(world.offered_on) > MOST_NAMED else ''}"
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
    event,
    queue_paused,
    reservation,
    queue_concurrency,
    rate_limit,
    idle,
    charging,
    worker,
    subject_busy,
    alone,
)


def look(job: Job, world: World) -> list[Verdict]:
    """What every gate says about a waiting job; nothing for a job that does not wait."""
    return [gate(job, world) for gate in GATES] if job.state.name in WAITING else []
