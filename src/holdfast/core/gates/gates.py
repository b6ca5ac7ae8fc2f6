"""Why a waiting job does not run: one gate for each reason.

A gate is open or closed. A closed one says why, what it sees now, what would open it and, where that is known, when.

Each gate is decided in one place:
- The gates of the queue are functions of `core/gates/queue_gates.py`: machine pressure, reservation, queue paused,
  breaker, queue concurrency, rate limit. The claim takes the slots that they give. Here they get their words.
- The gates of the job are decided by the SQL of the claim, which finds only jobs that pass them. Here the same is found
  for one job, in words.
  Due, dependencies, event: only jobs that are QUEUED are found.
  Subject busy, and a deadline or a time to live that is over: `sql/parts/claimable.sql`.
  Idle, charging, machine, tokens: the lane of the job. Whether its tokens fit is asked of the tokens that are left.
  Worker: the queue and the task of the job. Alone: suspects are found by a statement of their own.
- The tenant's turn is what the claim itself chooses, asked without taking anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from holdfast.core.gates import queue_gates
from holdfast.core.gates.gate_facts import GateFacts, MachineFacts, MachineTokens, PlaceInLine
from holdfast.core.gates.queue_gates import HoldReason
from holdfast.core.job import WAITING, Millis, Queued, Scheduled
from holdfast.core.jobs.stored_job import Job
from holdfast.core.rules import timing
from holdfast.core.rules.tokens import KINDS, Tokens
from holdfast.core.values.subject import DEFAULT_TENANT

# A sentence with more names is not read to its end.
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
Gate: TypeAlias = Callable[[Job, GateFacts], Verdict]


def due(job: Job, facts: GateFacts) -> Verdict:
    """Its time has come, and is not over."""
    over = _over(job, facts.now)
    if over is not None:
        return Closed("due", over, "it is about to be skipped", "nothing: it does not run any more")
    until = job.state.until if isinstance(job.state, Scheduled) else None
    if until is None or until <= facts.now:
        return Open("due", "its time has come")
    return Closed("due", "it is not due yet", f"{until - facts.now} ms to go", "its time", until)


def _over(job: Job, now: Millis) -> str | None:
    if job.deadline is not None and job.deadline <= now:
        return "its deadline has passed"
    if isinstance(job.state, Queued) and job.ttl_ms is not None and job.state.since + job.ttl_ms <= now:
        return "it was ready for longer than its time to live"
    return None


def dependencies(job: Job, facts: GateFacts) -> Verdict:
    """What it waits for has ended."""
    if not facts.waits_for:
        return Open("dependencies", "it waits for no other job")
    named = ", ".join(facts.waits_for)
    return Closed("dependencies", "it waits for other jobs", f"not ended: {named}", "the end of these jobs")


def event(job: Job, facts: GateFacts) -> Verdict:
    """The event that it waits for has come."""
    if facts.event_attributes is None:
        said = "it waits for no event" if job.wait_for_event is None else f"event {job.wait_for_event!r} has come"
        return Open("event", said)
    wanted = "".join(f" {name}={value}" for name, value in sorted(facts.event_attributes.items()))
    said = f"it waits for an event {job.wait_for_event!r}" + (f" with{wanted}" if wanted else "")
    name = job.wait_for_event or ""
    needs = "such an event" if name.endswith("*") else f"holdfast emit {name}{wanted}"
    return Closed("event", said, "none came since it was enqueued", needs)


def machine_pressure(job: Job, facts: GateFacts) -> Verdict:
    """No pressure on the machines keeps its queue from starting jobs."""
    gate = "machine pressure"
    says = [(machine.node, machine.pressure_says) for machine in facts.machines if machine.pressure_says]
    if facts.machines and all(machine.is_held for machine in facts.machines):
        said = f"the machine needs rest, so queue {job.queue!r} is held back"
        return Closed(gate, said, _seen(says), "less pressure on the machine; light queues go on")
    if facts.pulls_at is not None:
        said = "the machine is busy, so its workers take jobs only now and then"
        return Closed(gate, said, _seen(says), "a moment", facts.pulls_at)
    return Open(gate, _seen(says) if says else "no machine that could run it holds its queue back")


def idle(job: Job, facts: GateFacts) -> Verdict:
    """The machine is idle, if it waits for that."""
    if not job.wait_for_idle:
        return Open("idle", "it does not wait for an idle machine")
    machines = _unheld(facts)
    seen = _seen([(machine.node, machine.idle_says) for machine in machines])
    if any(machine.is_idle for machine in machines):
        return Open("idle", seen)
    return Closed("idle", "it waits until nobody uses the machine", seen, "an idle machine")


def charging(job: Job, facts: GateFacts) -> Verdict:
    """The machine has mains power, if it waits for that. It must be the idle one, if it waits for both."""
    if not job.require_charging:
        return Open("charging", "it does not wait for mains power")
    unheld = _unheld(facts)
    idle_ones = tuple(machine for machine in unheld if machine.is_idle) if job.wait_for_idle else ()
    machines = idle_ones or unheld
    seen = _seen([(machine.node, machine.charging_says) for machine in machines])
    if any(machine.is_charging for machine in machines):
        return Open("charging", seen)
    return Closed("charging", "it waits until the machine has mains power", seen, "a machine on mains power")


def _unheld(facts: GateFacts) -> tuple[MachineFacts, ...]:
    """The machines that do not hold it back. All of them, if each does: another gate says so."""
    return tuple(machine for machine in facts.machines if not machine.is_held) or facts.machines


def _seen(said: list[tuple[str, str]]) -> str:
    if not said:
        return "no machine that could run it has been looked at yet"
    return said[0][1] if len(said) == 1 else "; ".join(f"{node}: {text}" for node, text in said)


def queue_paused(job: Job, facts: GateFacts) -> Verdict:
    """Its queue is not paused."""
    if not isinstance(queue_gates.pause(facts.queue, facts.now), HoldReason):
        return Open("queue paused", "not paused")
    because = f" ({facts.pause_reason})" if facts.pause_reason else ""
    return Closed("queue paused", f"queue {job.queue!r} is paused{because}", "paused", "a resume of the queue")


def reservation(job: Job, facts: GateFacts) -> Verdict:
    """Nobody has reserved its queue."""
    held, late = facts.reserved, facts.ran_out
    if not isinstance(queue_gates.reservation(facts.queue, facts.now), HoldReason):
        told = "" if late is None else f"; the reservation of {late.reserved_by} ran out while he still uses it"
        return Open("reservation", f"not reserved{told}")
    assert held is not None
    scope = "everything" if held.scope == "*" else f"queue {held.scope!r}"
    said = f"{scope} is reserved by {held.reserved_by}"
    now = "reserved" if held.is_granted else "reserved, but what runs there has not ended"
    if held.in_line:
        now += f"; {held.in_line} more in line"
    # Before the grant, it is not known when its time to live begins.
    return Closed(
        "reservation", said, now, "a release of the reservation", held.expires_at if held.is_granted else None
    )


def breaker(job: Job, facts: GateFacts) -> Verdict:
    """The breaker of its queue is closed, or lets one job through."""
    slots, found = queue_gates.breaker(facts.queue, facts.now), facts.breaker
    if slots == queue_gates.NO_LIMIT:
        return Open("breaker", "its queue is not held back by failures")
    if not isinstance(slots, HoldReason):
        return Open("breaker", "one job of its queue may start, to see whether the machine works again")
    assert found is not None
    if slots is HoldReason.PROBE_RUNNING:
        said = f"a job of queue {job.queue!r} is running to see whether the machine works again"
        return Closed("breaker", said, f"job {found.probe} is running", "a good end of that job")
    failures = "the last run" if found.failures == 1 else f"the last {found.failures} runs"
    said = f"{failures} of queue {job.queue!r} failed by the fault of the machine, so nothing of it starts for a while"
    return Closed("breaker", said, found.reason, f"time, or: holdfast resume {job.queue}", found.half_opens_at)


def queue_concurrency(job: Job, facts: GateFacts) -> Verdict:
    """Its queue may run one more."""
    limit, running = facts.queue.state.concurrency, facts.queue.state.running
    now = f"{running} running, no limit" if limit is None else f"{running} of {limit} running"
    if not isinstance(queue_gates.concurrency(facts.queue, facts.now), HoldReason):
        return Open("queue concurrency", now)
    said = f"queue {job.queue!r} runs as many jobs as it may"
    return Closed("queue concurrency", said, now, "the end of a job of this queue, or a higher limit")


def rate_limit(job: Job, facts: GateFacts) -> Verdict:
    """Its queue may start one more in this time."""
    rate = facts.queue.state.rate
    if rate is None:
        return Open("rate limit", "its queue has no rate")
    now = f"{facts.queue.starts.in_window} of {rate.limit} started in the last {rate.window}"
    if not isinstance(queue_gates.rate(facts.queue, facts.now), HoldReason):
        return Open("rate limit", now)
    said = f"queue {job.queue!r} has started as many jobs as it may in this time"
    return Closed("rate limit", said, now, "time, or a higher rate", facts.rate_opens_at)


def worker(job: Job, facts: GateFacts) -> Verdict:
    """A living worker offers its task and serves its queue."""
    if facts.is_offered:
        return Open("worker", "a worker offers it")
    said = f"no worker offers task {job.task!r} on queue {job.queue!r}"
    if facts.offered_on:
        named = ", ".join(map(repr, facts.offered_on[:MOST_NAMED]))
        said += f"; one offers it on {named}{', …' if len(facts.offered_on) > MOST_NAMED else ''}"
    return Closed("worker", said, "no such worker", "a program that runs this task and serves this queue")


def machine(job: Job, facts: GateFacts) -> Verdict:
    """A worker on the machine that it is tied to would take it."""
    gate, tie = "machine", facts.tie
    if tie is None:
        return Open(gate, "it may run on any machine")
    if tie.is_served:
        return Open(gate, f"it may run on {tie.node} alone, where a worker offers it")
    said = f"it may run on machine {tie.node!r} alone"
    if tie.is_alive:
        now, needs = "no worker there offers it", "a worker there that runs this task and serves this queue"
    else:
        now, needs = (
            f"nobody is there; it was last seen {timing.ago(facts.now - tie.seen_at)}",
            "that machine to come back",
        )
    return Closed(gate, said, now, f"{needs}, or: holdfast move {job.number} --anywhere")


def subject_busy(job: Job, facts: GateFacts) -> Verdict:
    """No other job of its subject is running."""
    if facts.busy_with is None:
        return Open("subject busy", "no other job of its subject runs")
    said = f"an earlier generation of {job.subject!r} is running"
    return Closed("subject busy", said, f"job {facts.busy_with} is running", "the end of that job")


def alone(job: Job, facts: GateFacts) -> Verdict:
    """It may run beside others, and they beside it."""
    if facts.kept_for is not None:
        said = "every worker that offers its task runs a job alone, whose process died before"
        return Closed("alone", said, f"job {facts.kept_for} runs alone", "the end of that job")
    if not facts.must_run_alone:
        return Open("alone", "it may run beside others")
    said = "its process died while it ran, so it runs next with nothing beside it"
    return Closed("alone", said, "its worker is not empty", "a worker with nothing else to do")


def tokens(job: Job, facts: GateFacts) -> Verdict:
    """A machine that could run it has the tokens that it needs."""
    gate, needs = "tokens", job.tokens
    if not needs:
        return Open(gate, "it needs no tokens")
    large = [machine for machine in facts.tokens if needs.fit(machine.capacity)]
    free = [machine for machine in large if needs.fit(machine.free)]
    fits = [machine for machine in free if needs.fit(machine.free.less(machine.kept))]
    if fits or not facts.tokens:
        return Open(gate, f"it needs {needs}" + (f"; free on {fits[0].node}" if fits else ""))
    if free:
        machine = free[0]
        said = f"it needs {needs}, which are kept for a job that has waited for longer"
        return Closed(
            gate, said, f"job {machine.kept_for} waits for {machine.kept} on {machine.node}", "the start of that job"
        )
    if large:
        seen = "; ".join(_tokens_in_use(needs, machine) for machine in large[:MOST_NAMED])
        return Closed(gate, f"it needs {needs}", seen, "the end of jobs that use them")
    seen = "; ".join(f"{machine.node} has {machine.capacity}" for machine in facts.tokens[:MOST_NAMED])
    said = f"it needs {needs}, more than any machine has that could run it"
    return Closed(gate, said, seen, f"a machine that has more, or: {_more_tokens(needs, facts.tokens)}")


def _more_tokens(needs: Tokens, machines: Sequence[MachineTokens]) -> str:
    """The command that gives the first of these machines enough tokens."""
    first = machines[0]
    lacking = [kind for kind in KINDS if getattr(needs, kind) > getattr(first.capacity, kind)]
    node = f" --node {first.node}" if len(machines) > 1 else ""
    return f"holdfast tokens set {' '.join(f'--{kind} {getattr(needs, kind)}' for kind in lacking)}{node}"


def _tokens_in_use(needs: Tokens, machine: MachineTokens) -> str:
    said = [
        f"{getattr(machine.in_use, kind)} of {getattr(machine.capacity, kind)} {kind}"
        for kind in KINDS
        if getattr(needs, kind)
    ]
    return f"{', '.join(said)} in use on {machine.node}"


def tenants_turn(job: Job, facts: GateFacts) -> Verdict:
    """A slot that could take it is free, and no other job goes first."""
    gate, place = "tenant's turn", facts.place
    if place is None:
        return Open(gate, "it has its turn when nothing else holds it")
    if place.is_next:
        return Open(gate, f"it is next; {_slots_say(place)}")
    if isinstance(job.state, Scheduled):
        return Closed(gate, "its time has come only now", "it is about to be made ready", "a moment")
    if place.kept_for is not None:
        said = "another job goes first, with nothing beside it, because its process died before"
        return Closed(gate, said, f"job {place.kept_for} runs alone next", "the end of that job")
    line = _line_says(job, place)
    if not place.slots:
        said, needs = "no worker has a slot for its queue", "a worker with a slot for this queue"
        return Closed(gate, said, "; ".join(line) or "no such slot", needs)
    if not place.free_slots:
        needs = "the end of a job that runs there, or more slots"
        return Closed(gate, _all_busy(place.slots), "; ".join(line) or "none is free", needs)
    if place.share is not None:
        counted = "1 job" if place.share == 1 else f"{place.share} jobs"
        said = f"{counted} of its tenant {job.tenant!r} may run at once, and so many do"
        return Closed(gate, said, "; ".join([_slots_say(place), *line]), "the end of one of these")
    return Closed(gate, "others go first", "; ".join([_slots_say(place), *line]), "its turn, or more slots")


def _slots_say(place: PlaceInLine) -> str:
    return (
        f"{place.free_slots} of {place.slots} slots that could take it {'is' if place.free_slots == 1 else 'are'} free"
    )


def _all_busy(slots: int) -> str:
    return (
        "the only slot that could take it is busy" if slots == 1 else f"all {slots} slots that could take it are busy"
    )


def _line_says(job: Job, place: PlaceInLine) -> list[str]:
    """Who goes before it, in words."""
    said = []
    if place.first is not None:
        said.append(f"job {place.first} goes first")
    if place.ahead:
        tenant = f" of its tenant {job.tenant!r}" if place.others or job.tenant != DEFAULT_TENANT else ""
        more = " or more" if place.ahead >= MOST_COUNTED else ""
        said.append(f"{place.ahead}{more} {'job' if place.ahead == 1 else 'jobs'}{tenant} before it")
    if place.others:
        named = ", ".join(map(repr, place.others[:MOST_NAMED]))
        more = ", …" if len(place.others) > MOST_NAMED else ""
        said.append(f"it takes turns with {'tenant' if len(place.others) == 1 else 'tenants'} {named}{more}")
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


def look(job: Job, facts: GateFacts) -> list[Verdict]:
    """What every gate says about a job. A job that does not wait has no gates."""
    return [gate(job, facts) for gate in GATES] if job.state.name in WAITING else []
