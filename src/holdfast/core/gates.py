"""Why a waiting job does not run: one gate for each reason, one list for everybody who asks.

A gate looks at a job and at the world around it, and is open or closed. A closed one says why in words, what it sees
now, what would open it and, where that is known, when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from holdfast.core.breaker import BreakerState, may_probe, state_at
from holdfast.core.job import WAITING, Job, Millis, Queued, Scheduled
from holdfast.core.subject import DEFAULT_TENANT
from holdfast.core.timing import ago
from holdfast.core.tokens import KINDS, Tokens
from holdfast.core.world import Place, TokenPlace, Turn, World

# A sentence with more queues than that is not read to its end.
MOST_NAMED = 5
# Nobody needs to know how many more go first.
MOST_COUNTED = 1_000


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
    """Its time has come, and is not over."""
    over = _over(job, world.now)
    if over is not None:
        return Closed("due", over, "it is about to be skipped", "nothing: it does not run any more")
    until = job.state.until if isinstance(job.state, Scheduled) else None
    if until is None or until <= world.now:
        return Open("due", "its time has come")
    return Closed("due", "it is not due yet", f"{until - world.now} ms to go", "its time", until)


def _over(job: Job, now: Millis) -> str | None:
    if job.deadline is not None and job.deadline <= now:
        return "its deadline has passed"
    if isinstance(job.state, Queued) and job.ttl_ms is not None and job.state.since + job.ttl_ms <= now:
        return "it was ready for longer than its time to live"
    return None


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


def machine_pressure(job: Job, world: World) -> Verdict:
    """A machine that could run it has enough of everything to start it."""
    gate = "machine pressure"
    if not any(place.pressure_says for place in world.places):
        return Open(gate, "no machine that could run it holds its queue back")
    seen = _seen([(place.node, place.pressure_says) for place in world.places if place.pressure_says])
    if all(place.is_held for place in world.places):
        said = f"the machine needs rest, so queue {job.queue!r} is held back"
        return Closed(gate, said, seen, "less pressure on the machine; light queues go on")
    if world.pulls_at is not None:
        said = "the machine is busy, so its workers take jobs only now and then"
        return Closed(gate, said, seen, "a moment", world.pulls_at)
    return Open(gate, seen)


def idle(job: Job, world: World) -> Verdict:
    """The machine is idle, if it waits for that."""
    if not job.wait_for_idle:
        return Open("idle", "it does not wait for an idle machine")
    places = _unheld(world)
    seen = _seen([(place.node, place.idle_says) for place in places])
    if any(place.is_idle for place in places):
        return Open("idle", seen)
    return Closed("idle", "it waits until nobody uses the machine", seen, "an idle machine")


def charging(job: Job, world: World) -> Verdict:
    """The machine has mains power, if it waits for that; an idle one, if it waits for that as well."""
    if not job.require_charging:
        return Open("charging", "it does not wait for mains power")
    unheld = _unheld(world)
    idle_ones = tuple(place for place in unheld if place.is_idle) if job.wait_for_idle else ()
    places = idle_ones or unheld
    seen = _seen([(place.node, place.charging_says) for place in places])
    if any(place.is_charging for place in places):
        return Open("charging", seen)
    return Closed("charging", "it waits until the machine has mains power", seen, "a machine on mains power")


def _unheld(world: World) -> tuple[Place, ...]:
    """The machines that do not hold it back; all of them if they all do, which another gate says."""
    return tuple(place for place in world.places if not place.is_held) or world.places


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


def breaker(job: Job, world: World) -> Verdict:
    """Its queue is not held back because one run after the other failed by the fault of the machine."""
    found = world.breaker
    if found is None:
        return Open("breaker", "its queue is not held back by failures")
    if may_probe(found.opened_at, found.half_opens_at, world.is_probing, world.now):
        return Open("breaker", "one job of its queue may start, to see whether the machine works again")
    if state_at(found.opened_at, found.half_opens_at, world.now) is BreakerState.HALF_OPEN:
        said = f"a job of queue {job.queue!r} is running to see whether the machine works again"
        return Closed("breaker", said, f"job {found.probe} is running", "a good end of that job")
    failures = "the last run" if found.failures == 1 else f"the last {found.failures} runs"
    said = f"{failures} of queue {job.queue!r} failed by the fault of the machine, so nothing of it starts for a while"
    return Closed("breaker", said, found.reason, f"time, or: holdfast resume {job.queue}", found.half_opens_at)


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
    now = f"{world.started} of {world.rate.limit} started in the last {world.rate.window}"
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


def machine(job: Job, world: World) -> Verdict:
    """A worker on the machine that it is tied to would take it."""
    gate, tie = "machine", world.tie
    if tie is None:
        return Open(gate, "it may run on any machine")
    if tie.is_served:
        return Open(gate, f"it may run on {tie.node} alone, where a worker offers it")
    said = f"it may run on machine {tie.node!r} alone"
    if tie.is_alive:
        now, needs = "no worker there offers it", "a worker there that runs this task and serves this queue"
    else:
        now, needs = f"nobody is there; it was last seen {ago(world.now - tie.seen_at)}", "that machine to come back"
    return Closed(gate, said, now, f"{needs}, or: holdfast move {job.number} --anywhere")


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


def tokens(job: Job, world: World) -> Verdict:
    """A machine that could run it has what it takes of cores, graphics cards and heavy input and output."""
    gate, needs = "tokens", job.tokens
    if not needs:
        return Open(gate, "it needs no tokens")
    large = [place for place in world.token_places if needs.fit(place.capacity)]
    free = [place for place in large if needs.fit(place.capacity.less(place.in_use))]
    fits = [place for place in free if needs.fit(place.capacity.less(place.in_use).less(place.kept))]
    if fits or not world.token_places:
        return Open(gate, f"it needs {needs}" + (f"; free on {fits[0].node}" if fits else ""))
    if free:
        place = free[0]
        said = f"it needs {needs}, which are kept for a job that has waited for longer"
        return Closed(
            gate, said, f"job {place.kept_for} waits for {place.kept} on {place.node}", "the start of that job"
        )
    if large:
        seen = "; ".join(_tokens_in_use(needs, place) for place in large[:MOST_NAMED])
        return Closed(gate, f"it needs {needs}", seen, "the end of jobs that use them")
    seen = "; ".join(f"{place.node} has {place.capacity}" for place in world.token_places[:MOST_NAMED])
    said = f"it needs {needs}, more than any machine has that could run it"
    return Closed(gate, said, seen, f"a machine that has more, or: {_more_tokens(needs, world.token_places)}")


def _more_tokens(needs: Tokens, places: Sequence[TokenPlace]) -> str:
    """The command after which the first of these machines has as many."""
    first = places[0]
    lacking = [kind for kind in KINDS if getattr(needs, kind) > getattr(first.capacity, kind)]
    node = f" --node {first.node}" if len(places) > 1 else ""
    return f"holdfast tokens set {' '.join(f'--{kind} {getattr(needs, kind)}' for kind in lacking)}{node}"


def _tokens_in_use(needs: Tokens, place: TokenPlace) -> str:
    said = [
        f"{getattr(place.in_use, kind)} of {getattr(place.capacity, kind)} {kind}"
        for kind in KINDS
        if getattr(needs, kind)
    ]
    return f"{', '.join(said)} in use on {place.node}"


def tenants_turn(job: Job, world: World) -> Verdict:
    """A slot that could take it is free, and nobody goes first."""
    gate, turn = "tenant's turn", world.turn
    if turn is None:
        return Open(gate, "it has its turn when nothing else holds it")
    if turn.is_next:
        return Open(gate, f"it is next; {_slots_say(turn)}")
    if isinstance(job.state, Scheduled):
        return Closed(gate, "its time has come only now", "it is about to be made ready", "a moment")
    if turn.kept_for is not None:
        said = "another job goes first, with nothing beside it, because its process died before"
        return Closed(gate, said, f"job {turn.kept_for} runs alone next", "the end of that job")
    line = _line_says(job, turn)
    if not turn.slots:
        said, needs = "no worker has a slot for its queue", "a worker with a slot for this queue"
        return Closed(gate, said, "; ".join(line) or "no such slot", needs)
    if not turn.free_slots:
        needs = "the end of a job that runs there, or more slots"
        return Closed(gate, _all_busy(turn.slots), "; ".join(line) or "none is free", needs)
    if turn.share is not None:
        counted = "1 job" if turn.share == 1 else f"{turn.share} jobs"
        said = f"{counted} of its tenant {job.tenant!r} may run at once, and so many do"
        return Closed(gate, said, "; ".join([_slots_say(turn), *line]), "the end of one of these")
    return Closed(gate, "others go first", "; ".join([_slots_say(turn), *line]), "its turn, or more slots")


def _slots_say(turn: Turn) -> str:
    return f"{turn.free_slots} of {turn.slots} slots that could take it {'is' if turn.free_slots == 1 else 'are'} free"


def _all_busy(slots: int) -> str:
    return (
        "the only slot that could take it is busy" if slots == 1 else f"all {slots} slots that could take it are busy"
    )


def _line_says(job: Job, turn: Turn) -> list[str]:
    """Who goes before it, in words."""
    said = []
    if turn.first is not None:
        said.append(f"job {turn.first} goes first")
    if turn.ahead:
        tenant = f" of its tenant {job.tenant!r}" if turn.others or job.tenant != DEFAULT_TENANT else ""
        more = " or more" if turn.ahead >= MOST_COUNTED else ""
        said.append(f"{turn.ahead}{more} {'job' if turn.ahead == 1 else 'jobs'}{tenant} before it")
    if turn.others:
        named = ", ".join(map(repr, turn.others[:MOST_NAMED]))
        more = ", …" if len(turn.others) > MOST_NAMED else ""
        said.append(f"it takes turns with {'tenant' if len(turn.others) == 1 else 'tenants'} {named}{more}")
    return said


GATES: Sequence[Gate] = (
    due,
    dependencies,
    event,
    machine_pressure,
    reservation,
    queue_paused,
    breaker,
    queue_concurrency,
    rate_limit,
    idle,
    charging,
    worker,
    machine,
    subject_busy,
    alone,
    tokens,
    tenants_turn,
)


def look(job: Job, world: World) -> list[Verdict]:
    """What every gate says about a waiting job; nothing for a job that does not wait."""
    return [gate(job, world) for gate in GATES] if job.state.name in WAITING else []
