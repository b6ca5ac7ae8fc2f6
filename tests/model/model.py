"""The rules of jobs once more, in plain dictionaries: what a store should do, written without a look at how it does it.

Ids of runs and of links, and the jitter of a retry, cannot be known beforehand: `seen` holds what the store chose.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field

from msgspec import structs

from holdfast.core.errors import NotFound
from holdfast.core.job import TERMINAL, WAITING
from holdfast.core.job import StateName as S
from holdfast.core.jobs.requests import ClaimRequest
from holdfast.core.values.group import GroupMode, Needs, OnFailure
from holdfast.core.values.retry import RetryPolicy
from holdfast.store.scripts.claiming.choose import SUSPECT_PATIENCE_MS
from tests.model import admission, breakers, fairness, news, tokens
from tests.model.records import (
    Ask,
    Breaker,
    Delivery,
    Event,
    Group,
    Held,
    Job,
    Letter,
    Machine,
    Queue,
    Run,
    Schedule,
    Seen,
    Session,
    Template,
    Tenant,
    Webhook,
    duplicate,
)

Answer = tuple[str | None, S, int | None, bool]

GAP = 100


@dataclass
class Model:
    """Jobs from their enqueue to their end. How runs end is in `settling`, what people and clocks do in `commands`."""

    jobs: dict[str, Job] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    newest: dict[tuple[str, str], int] = field(default_factory=dict)
    limits: dict[str, int | None] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    queues: dict[str, Queue] = field(default_factory=dict)
    started: dict[str, tuple[int, ...]] = field(default_factory=dict)  # moments of starts, of queues with a rate
    tenants: dict[tuple[str, str], Tenant] = field(default_factory=dict)  # those of no queue hold for all
    clocks: dict[str, float] = field(default_factory=dict)
    breakers: dict[str, Breaker] = field(default_factory=dict)
    letters: dict[str, Letter] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    patterns: set[tuple[str, frozenset[str]]] = field(default_factory=set)
    machines: dict[str, Machine] = field(default_factory=dict)
    webhooks: dict[str, Webhook] = field(default_factory=dict)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    numbers: int = 0
    stillborn: list[Job] = field(default_factory=list)
    seen: Seen = field(default_factory=Seen)

    def copied(self, seen: Seen) -> Model:
        """One that can be changed while this one stays as it is. A deep copy would take most of a history's time."""
        after = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict):
                setattr(after, name, {key: duplicate(record) for key, record in value.items()})
            elif isinstance(value, set):
                setattr(after, name, set(value))
        after.seen = seen
        return after

    def find(self, *states: S) -> list[Job]:
        return sorted((job for job in self.jobs.values() if job.state in states), key=lambda job: job.number)

    def ready(self, queue: str) -> list[Job]:
        return sorted((job for job in self.find(S.QUEUED) if job.ask.queue == queue), key=lambda job: job.rank)

    def in_line(self, line: tuple[str, str, int]) -> list[Job]:
        return [job for job in self.ready(line[0]) if job.line == line]

    def running_of(self, session: str) -> list[Job]:
        return [job for job in self.find(S.RUNNING) if job.session == session]

    def last(self, job_id: str) -> Job:
        """The last link of a chain speaks for it."""
        if job_id not in self.jobs:
            raise NotFound(job_id)
        links = [job for job in self.jobs.values() if job.retry_of == job_id]
        return self.last(links[0].id) if links else self.jobs[job_id]

    def end_of(self, line: tuple[str, str, int]) -> int:
        return max((job.position for job in self.in_line(line)), default=0) + GAP

    # Enqueue: an earlier request may stand for this one; otherwise subject, dependencies and group decide its fate.

    def enqueue(
        self, asked: Iterable[Ask], now: int, *, guarded: bool = True, again: Job | None = None
    ) -> list[Answer]:
        """`guarded`: a full queue refuses them, or makes room. `again`: the job that they are another try of."""
        asked = list(asked)
        if guarded:
            admission.refuse_early(self, asked, now)
        places: dict[tuple[str, str, int], int] = {}
        self.stillborn = []
        met: dict[str, admission.Met] = {}
        answers = []
        for ask in asked:
            # The end of the line is where it is before anybody is pushed aside.
            line = (ask.queue, ask.tenant, ask.priority)
            places.setdefault(line, self.end_of(line) - GAP)
            met.setdefault(ask.queue, admission.Met(admission.length(self, ask.queue), self.numbers))
            answers.append(self._enqueue(ask, places, now, again))
        if guarded:
            admission.let_in(self, met, [answer[0] for answer in answers if not answer[3]], now)
        for late in self.stillborn:
            if late.state is S.SKIPPED_DEADLINE:
                news.tell_ended(self, late, now)
        news.tell_groups(self, self.stillborn, now)
        return answers

    def _enqueue(self, ask: Ask, places: dict[tuple[str, str, int], int], now: int, again: Job | None) -> Answer:
        firsts = [job for job in self.jobs.values() if job.retry_of is None and job.ask.task == ask.task]
        for old in firsts:
            if ask.idempotency_key is not None and ask.idempotency_key == old.ask.idempotency_key:
                return old.id, self.last(old.id).state, old.generation, True
        ask = structs.replace(ask, policy=ask.policy or self.queue(ask.queue).retry or RetryPolicy())
        job = Job(ask, ask.id, now, due=ask.due if ask.delay_ms is None else now + ask.delay_ms)
        if job.subject is not None:
            newest = self.newest.get(job.subject)
            job.generation = (newest or 0) + 1 if ask.generation is None else ask.generation
            if job.generation == newest:
                return self._known(job)
            if newest is None or job.generation > newest:
                self._push_aside(job, job.generation, now)
            else:
                job.state = S.SUPERSEDED
        self._depend(job)
        if again is None:
            self._join(job)
        elif again.ask.group_id is not None:
            job.retry_of, job.seq, job.is_retried = again.id, again.seq, True
            if again.seq is not None:
                self.line_up(job)
        self._listen(job)
        job.position = places[job.line] = places[job.line] + GAP
        self.add(job)
        if job.state is S.SCHEDULED and job.is_late(now):
            job.state = S.SKIPPED_DEADLINE
        if job.state is S.SCHEDULED:
            self.start_if_free(job, now)
        else:
            self.stillborn.append(job)
            self.end(job, job.state, job.why, now, later=True)
        job.arrived = job.state
        return job.id, job.state, job.generation, False

    def _known(self, job: Job) -> Answer:
        """The job that stands for a generation: the first one, or the last that a member of a group was retried as."""
        same = [old for old in self.jobs.values() if (old.subject, old.generation) == (job.subject, job.generation)]
        found = max(
            (old for old in same if old.retry_of is None or old.is_retried),
            key=lambda old: (old.retry_of is None, old.number),
            default=None,
        )
        if found is None:
            return None, S.DONE, job.generation, True
        return found.id, self.last(found.id).state, job.generation, True

    def add(self, job: Job) -> None:
        self.numbers += 1
        job.number = self.numbers
        self.jobs[job.id] = job

    def _push_aside(self, job: Job, generation: int, now: int) -> None:
        self.newest[job.ask.task, job.ask.subject or ""] = generation
        for old in [old for old in self.jobs.values() if old.subject == job.subject]:
            if old.state in WAITING:
                self.end(old, S.SUPERSEDED, f"superseded by generation {generation}", now)
            elif old.state is S.RUNNING and job.ask.stop_older:
                old.stop = old.stop or "superseded"

    def _depend(self, job: Job) -> None:
        for wish in job.ask.after:
            parent = self.last(wish.job_id)
            job.parents[parent.id] = Needs.DONE if job.parents.get(parent.id) is Needs.DONE else wish.needs
            if parent.state not in TERMINAL:
                both = (wish.needs, job.waits.get(parent.id))
                job.waits[parent.id] = Needs.DONE if Needs.DONE in both else Needs.ENDED
            elif wish.needs is Needs.DONE and parent.state is not S.DONE and job.state is S.SCHEDULED:
                job.state, job.why, job.blamed = S.CANCELLED, "predecessor", parent.id

    def _listen(self, job: Job) -> None:
        job.unheard = job.ask.wait_for_event is not None
        if job.ask.wait_for_event is not None:
            self.patterns.add((job.ask.wait_for_event, frozenset(job.ask.event_attributes)))

    # Groups: nobody starts before all members before it have ended, whatever became of them.

    def _join(self, job: Job) -> None:
        if job.ask.group_id is None:
            return
        if job.ask.group_id not in self.groups:
            raise NotFound(job.ask.group_id)
        if self.groups[job.ask.group_id].mode is GroupMode.PARALLEL:
            return
        members = [old for old in self.jobs.values() if old.ask.group_id == job.ask.group_id]
        job.seq = max((old.seq or 0 for old in members), default=0) + 1
        self.line_up(job)
        if job.seq > 1:
            before = self.last(next(old.id for old in members if old.seq == (job.seq or 0) - 1))
            if before.state in TERMINAL and not self._may_follow(job, before) and job.state is S.SCHEDULED:
                job.state, job.why, job.blamed = S.CANCELLED, "predecessor", before.id

    def line_up(self, job: Job) -> None:
        """Its turn comes after that of all members of its group that go on."""
        job.turn = 1 + max((old.turn for old in self.jobs.values() if old.ask.group_id == job.ask.group_id), default=0)
        job.behind = self._live_before(job)

    def _live_before(self, job: Job) -> str | None:
        """The nearest member before it that has not ended."""
        live = [old for old in self.find(S.RUNNING, *WAITING) if old.ask.group_id == job.ask.group_id]
        before = [old for old in live if old.turn < job.turn]
        return max(before, key=lambda old: old.turn).id if before else None

    def _may_follow(self, job: Job, before: Job) -> bool:
        """`skip` leaves out one only: one that was left out counts as done."""
        on_failure = self.groups[job.ask.group_id or ""].on_failure
        if on_failure is OnFailure.CONTINUE or before.left_out or before.state is S.DONE:
            return True
        job.left_out = on_failure is OnFailure.SKIP and job.state is S.SCHEDULED
        return False

    def end(self, job: Job, state: S, why: str, now: int, *, later: bool = False) -> None:
        """A job ends, and whoever waits for it starts or is cancelled. `later`: the caller tells of it."""
        job.state, job.ended, job.why = state, now, why
        job.run = job.session = job.stop = None
        if not (later and state is S.SKIPPED_DEADLINE):
            news.tell_ended(self, job, now)
        news.tell_groups(self, [] if later else [job], now)
        doomed: list[Job] = []
        for other in [other for other in self.find(S.SCHEDULED) if job.id in (*other.waits, other.behind)]:
            came_true = job.id in other.waits
            good = other.waits.pop(job.id, Needs.ENDED) is Needs.ENDED or state is S.DONE
            if other.behind == job.id:
                other.behind = self._live_before(other)
                came_true = came_true or other.behind is None
                good = self._may_follow(other, job) and good
            if good and other.state is S.SCHEDULED:
                # One that is blamed waits to be cancelled, for an end that came before this one.
                if came_true and other.blamed is None:
                    self.meet(other, now, now)
            elif other.state is S.SCHEDULED:
                doomed.append(other)
        # All of them for this end, before those that waited for one of them.
        for other in doomed:
            other.blamed = other.blamed or job.id
        for other in doomed:
            if other.state is S.SCHEDULED:
                self.end(other, S.CANCELLED, "predecessor", now)

    def start_if_free(self, job: Job, now: int) -> None:
        if not job.is_held and (job.due is None or job.due <= now):
            self.make_ready(job, now)

    def meet(self, job: Job, at: int, now: int) -> None:
        """What it waited for came at a moment, and is known now."""
        job.met = max(job.met, at)
        if not job.is_held and (job.due is None or job.due <= now):
            self.make_ready(job, job.free_since)

    def make_ready(self, job: Job, now: int) -> None:
        job.state, job.queued = S.QUEUED, now
        fairness.arrive(self, job)

    def close_letter(self, job_id: str, retried: str | None) -> None:
        """What had failed for good runs once more."""
        letter = self.letters.get(job_id)
        if letter is not None and letter.closed is None:
            letter.closed, letter.retried = "retried", retried

    def queue(self, name: str) -> Queue:
        """What is set for a queue."""
        return self.queues.get(name, Queue())

    # Claim

    def claim(self, request: ClaimRequest, now: int) -> list[str]:
        mine = self.running_of(request.session_id)
        session = self.sessions.get(request.session_id)
        if request.slots <= 0 or not request.tasks:
            return []
        free = {asked.queue: self._free(asked.queue, asked.slots, now) for asked in request.queues}
        if session is None or session.status != "running" or any(job.suspect for job in mine):
            return []
        ready = [job for queue in free if free[queue] > 0 for job in self.ready(queue) if job.ask.task in request.tasks]
        lane = [job for job in ready if self.suits(job, session.node)]
        beside = tokens.in_use(self, session.node, without=request.session_id)
        alone_next = sorted((job for job in lane if job.suspect), key=lambda job: (job.queued or 0, job.number))
        suspects = [job for job in alone_next if tokens.fits(job, beside)]
        tokens.note_passed(
            next((job for job in alone_next if job not in suspects and tokens.fits(job, [0, 0, 0])), None), now
        )
        if suspects and mine and now - (suspects[0].queued or 0) > SUSPECT_PATIENCE_MS:
            return []
        alone = [job for job in suspects if not mine and self.may_run(job, now)]
        taken, kept = alone[:1], None
        if alone:
            fairness.pay(self, alone[0], now)
        else:
            able = [job for job in lane if not job.suspect and self.may_run(job, now)]
            taken, kept = tokens.share_out(self, request, session.node, able, free, now)
        for queue in dict.fromkeys(job.ask.queue for job in taken):
            fairness.note_starts(self, queue, sum(job.ask.queue == queue for job in taken), now)
        for job in taken:
            job.state, job.session, job.run = S.RUNNING, request.session_id, self.seen.runs.get(job.id, "?")
            job.attempts, job.passed = job.attempts + 1, None
            self.runs[job.run] = Run(job.id, job.attempts, request.session_id, job.ask.payload)
            breakers.note_start(self, job, now)
        if kept is not None and not kept.aged:
            kept.aged = True
            line = (kept.ask.queue, kept.ask.tenant, kept.ask.priority + 1)
            kept.ask, kept.position = structs.replace(kept.ask, priority=line[2]), self.end_of(line)
        return [job.id for job in taken]

    def _free(self, queue: str, slots: int, now: int) -> int:
        running = sum(job.ask.queue == queue for job in self.find(S.RUNNING))
        limit = self.limits.get(queue)
        reserved = any(held.status == "ACTIVE" and held.scope in ("*", queue) for held in self.held.values())
        if reserved or queue in self.paused:
            return 0
        slots = slots if limit is None else min(slots, limit - running)
        slots = min(slots, breakers.may_start(self, queue, now))
        return slots if slots <= 0 else min(slots, fairness.look_at_rate(self, queue, now))

    def suits(self, job: Job, node: str) -> bool:
        """Whether a machine is what the job waits for; of one that nobody looked at, nothing is known."""
        machine = self.machines.get(node, Machine(False, False))
        return machine.idle >= job.ask.wait_for_idle and machine.charging >= job.ask.require_charging

    def may_run(self, job: Job, now: int) -> bool:
        busy = job.subject is not None and any(other.subject == job.subject for other in self.find(S.RUNNING))
        return not busy and not job.is_late(now) and not job.is_stale(now)
