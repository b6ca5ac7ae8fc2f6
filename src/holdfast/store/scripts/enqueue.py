"""Store new jobs, one or many, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, structs

from holdfast.core.errors import NotFound
from holdfast.core.event import EVENT, attribute_key, attribute_value, shape_of
from holdfast.core.group import LEFT_OUT_CODE, GroupMode, Needs, OnFailure, Turn, dependency_turn, next_turn
from holdfast.core.job import TERMINAL, Millis, StateName
from holdfast.core.order import next_position
from holdfast.core.requests import Enqueued, NewJob
from holdfast.core.subject import Newest, Same, Stale, arrive
from holdfast.core.timing import first_state
from holdfast.store.engine import Tx
from holdfast.store.scripts.endings import GROUP_RULE, after_key, announce_ended, awaited_turn, group_key
from holdfast.store.scripts.events import register_pattern
from holdfast.store.scripts.group_events import tell_groups
from holdfast.store.scripts.groups import find_group
from holdfast.store.scripts.job_events import tell_ended
from holdfast.store.scripts.look import Link, find_row, last_link
from holdfast.store.statements import sql


class Condition(Struct, frozen=True):
    """A row of `job_conditions` for a job that is about to be stored."""

    key: str
    value: str
    satisfied_at: Millis | None


class Placing(Struct):
    """What the rows that exist already mean for a new job."""

    generation: int | None = None
    group_seq: int | None = None
    conditions: list[Condition] = []
    ends_as: StateName | None = None
    reason: str | None = None
    error_code: str | None = None
    retry_of: str | None = None

    def end(self, state: StateName, reason: str, error_code: str | None = None) -> None:
        """The job ends the moment it is stored; the first reason stands."""
        if self.ends_as is None:
            self.ends_as, self.reason, self.error_code = state, reason, error_code

    @property
    def open_conditions(self) -> int:
        """How many conditions still have to come true."""
        return sum(condition.satisfied_at is None for condition in self.conditions)


class Member(Struct, frozen=True):
    """The last member of a sequential group."""

    id: str
    group_seq: int


def enqueue(tx: Tx, jobs: Sequence[NewJob], now: Millis, repeated: bool = False) -> list[Enqueued]:
    """Store the jobs in the order given; each takes the place behind the last one of its queue and priority.

    `repeated`: an earlier call with the same ids may have come through; what it stored is the answer.
    """
    batch = Batch(tx, now)
    answers = [(_stored(tx, job) if repeated else None) or batch.add(job) for job in jobs]
    batch.close()
    return answers


def _stored(tx: Tx, job: NewJob) -> Enqueued | None:
    found = tx.one(sql.last_link, Link, id=job.id)
    return None if found is None else Enqueued(job.id, StateName(found.state), found.generation)


class Batch:
    """Rows on their way into the store, written together as long as no later job has to see them."""

    def __init__(self, tx: Tx, now: Millis) -> None:
        self._tx = tx
        self._now = now
        self._rows: list[dict[str, Any]] = []
        self._highest: dict[tuple[str, int], int | None] = {}
        self._conditions: list[dict[str, Any]] = []
        self._parallel: dict[str, bool] = {}
        self._tails: dict[str, tuple[str, int]] = {}
        self._ended: list[str] = []
        self._late: list[str] = []

    def add(self, job: NewJob) -> Enqueued:
        """Take a job in; an earlier request that stands for it is the answer instead."""
        quick = self._quick_placing(job)
        if quick is not None:
            answer = self._store(job, quick)
            if quick.group_seq is not None:
                self._remember_tail(job, quick, answer.state)
            return answer
        self.flush()
        existing = _by_key(self._tx, job)
        if existing is not None:
            return existing
        placing = Placing()
        if job.subject is not None:
            existing = _place_subject(self._tx, job, placing, self._now)
            if existing is not None:
                return existing
        _place_dependencies(self._tx, job, placing, self._now)
        _place_in_group(self._tx, job, placing, self._now)
        _place_event(self._tx, job, placing)
        answer = self.place(job, placing)
        if job.subject is not None:
            self._tails.clear()  # It may have ended some of them.
        elif job.group_id is not None and placing.group_seq is not None:
            self._remember_tail(job, placing, answer.state)
        if placing.ends_as is not None:
            announce_ended(self._tx, [(job.id, placing.ends_as)], self._now, later=True)
            self._ended.append(job.id)
        return answer

    def close(self) -> None:
        """Write the rest, and tell of what came too late, and of groups whose members have all ended."""
        self.flush()
        if self._late:
            tell_ended(self._tx, self._late, self._now)
        if self._ended or self._late:
            tell_groups(self._tx, [*self._ended, *self._late], self._now)

    def _quick_placing(self, job: NewJob) -> Placing | None:
        """Where it belongs, if that is known without a look at the store: by itself, or behind one of this batch."""
        if job.is_plain:
            return Placing()
        if job.group_id is None or not structs.replace(job, group_id=None).is_plain:
            return None
        if job.group_id in self._tails:
            before, seq = self._tails[job.group_id]
            return Placing(group_seq=seq + 1, conditions=[Condition(group_key(before), GROUP_RULE, None)])
        if job.group_id not in self._parallel:
            self._parallel[job.group_id] = find_group(self._tx, job.group_id).mode == GroupMode.PARALLEL
        return Placing() if self._parallel[job.group_id] else None

    def _remember_tail(self, job: NewJob, placing: Placing, state: StateName) -> None:
        assert job.group_id is not None
        assert placing.group_seq is not None
        if state in TERMINAL:
            self._tails.pop(job.group_id, None)
        else:
            self._tails[job.group_id] = (job.id, placing.group_seq)

    def flush(self) -> None:
        """Write what has been taken in so far."""
        if self._rows:
            self._tx.run_many(sql.insert_job, self._rows)
            self._rows = []
        if self._conditions:
            self._tx.run_many(sql.insert_condition, self._conditions)
            self._conditions = []

    def place(self, job: NewJob, placing: Placing) -> Enqueued:
        """Write the job with its conditions, at once."""
        answer = self._store(job, placing)
        self.flush()
        return answer

    def _store(self, job: NewJob, placing: Placing) -> Enqueued:
        now = self._now
        due = job.due if job.delay_ms is None else now + job.delay_ms
        state = placing.ends_as or first_state(now, due, job.deadline, blocked=placing.open_conditions > 0)
        if state is StateName.SKIPPED_DEADLINE and placing.reason is None:
            placing.reason = "its deadline had passed when it came"
        if state is StateName.QUEUED:
            self._tx.changes.ready.add(job.queue)
        if state is StateName.SCHEDULED or job.ttl_ms is not None or job.deadline is not None:
            self._tx.changes.due = True
        self._tx.tally.count_enqueued(job.queue)
        if state in TERMINAL and placing.ends_as is None:
            self._tx.tally.count_ended(state)
            self._late.append(job.id)
        self._rows.append(self._row(job, placing, state, due))
        if placing.conditions:
            self._conditions += [structs.asdict(condition) | {"job_id": job.id} for condition in placing.conditions]
        return Enqueued(job.id, state, placing.generation)

    def _row(self, job: NewJob, placing: Placing, state: StateName, due: Millis | None) -> dict[str, Any]:
        policy = job.policy
        return {
            "id": job.id,
            "queue": job.queue,
            "job_type": job.task,
            "subject_key": job.subject,
            "generation": placing.generation,
            "priority": job.priority,
            "position": self._next_position(job.queue, job.priority),
            "state": state.value,
            "created_at": self._now,
            "queued_at": self._now if state is StateName.QUEUED else None,
            "finished_at": self._now if state in TERMINAL else None,
            "payload": job.payload,
            "error_code": placing.error_code,
            "reason": placing.reason,
            "trace_id": job.trace_id,
            "retry_mode": policy.mode.value,
            "max_retries": policy.retries,
            "max_infra": policy.infra,
            "backoff_initial_ms": policy.initial_ms,
            "backoff_factor": policy.factor,
            "backoff_cap_ms": policy.cap_ms,
            "deadline": job.deadline,
            "ttl_ms": job.ttl_ms,
            "timeout_ms": job.timeout_ms,
            "schedule_type": _schedule_type(job),
            "scheduled_at": due,
            "schedule_delay_ms": job.delay_ms,
            "open_conditions": placing.open_conditions,
            "parent_job_id": job.parent_job_id,
            "group_id": job.group_id,
            "group_seq": placing.group_seq,
            "user_tag": job.tag,
            "tenant": job.tenant,
            "idempotency_key": job.idempotency_key,
            "trigger": job.trigger,
            "wait_for_idle": int(job.wait_for_idle),
            "require_charging": int(job.require_charging),
            "wait_for_event": job.wait_for_event,
            "template_id": job.template_id,
            "schedule_id": job.schedule_id,
            "fire_time": job.fire_time,
            "retry_of": placing.retry_of,
        }

    def _next_position(self, queue: str, priority: int) -> int:
        lane = (queue, priority)
        if lane not in self._highest:
            self._highest[lane] = self._tx.value(sql.highest_position, queue=queue, priority=priority)
        place = self._highest[lane] = next_position(self._highest[lane])
        return place


def _schedule_type(job: NewJob) -> str:
    if job.after or job.group_id is not None or job.wait_for_event or job.wait_for_idle or job.require_charging:
        return "CONDITION"
    if job.delay_ms is not None:
        return "AFTER"
    return "IMMEDIATE" if job.due is None else "AT"


def _by_key(tx: Tx, job: NewJob) -> Enqueued | None:
    if job.idempotency_key is None:
        return None
    found = tx.one(sql.find_by_idempotency_key, Link, job_type=job.task, idempotency_key=job.idempotency_key)
    return None if found is None else _existing(tx, found)


def _existing(tx: Tx, found: Link) -> Enqueued:
    last = last_link(tx, found.id) or found
    return Enqueued(found.id, StateName(last.state), found.generation, existing=True)


def _place_subject(tx: Tx, job: NewJob, placing: Placing, now: Millis) -> Enqueued | None:
    subject = {"job_type": job.task, "subject_key": job.subject}
    match arrive(job.generation, tx.value(sql.newest_generation, **subject)):
        case Newest(generation=generation):
            placing.generation = generation
            tx.run(sql.remember_generation, generation=generation, now=now, **subject)
            _push_aside(tx, job, generation, now)
        case Same(generation=generation):
            found = tx.one(sql.find_by_generation, Link, generation=generation, **subject)
            return _existing(tx, found) if found else Enqueued(None, StateName.DONE, generation, existing=True)
        case Stale(generation=generation, newest=newest):
            placing.generation = generation
            placing.end(StateName.SUPERSEDED, f"generation {newest} of its subject is known already")
    return None


def _push_aside(tx: Tx, job: NewJob, generation: int, now: Millis) -> None:
    subject = {"job_type": job.task, "subject_key": job.subject}
    reason = f"superseded by generation {generation}"
    gone = tx.rows(sql.supersede_waiting, reason=reason, now=now, **subject)
    if gone:
        announce_ended(tx, [(row["id"], StateName.SUPERSEDED) for row in gone], now)
    if job.stop_older and tx.run(sql.ask_older_to_stop, now=now, **subject):
        tx.changes.stops = True


def _place_dependencies(tx: Tx, job: NewJob, placing: Placing, now: Millis) -> None:
    # The stricter wish first: of two about one parent, the first is kept.
    for dependency in sorted(job.after, key=lambda wish: wish.needs is not Needs.DONE):
        parent = last_link(tx, dependency.job_id)
        if parent is None:
            raise NotFound(f"there is no job {dependency.job_id!r} to wait for; nothing was enqueued")
        state = StateName(parent.state)
        if state in TERMINAL and dependency_turn(dependency.needs, state) is not Turn.START:
            placing.end(StateName.CANCELLED, f"predecessor {parent.id} ended as {state}")
        satisfied_at = now if state in TERMINAL else None
        key = after_key(parent.id)
        if all(condition.key != key for condition in placing.conditions):
            placing.conditions.append(Condition(key, dependency.needs, satisfied_at))


def _place_event(tx: Tx, job: NewJob, placing: Placing) -> None:
    if job.wait_for_event is None:
        return
    shape = shape_of(job.wait_for_event, job.event_attributes)
    register_pattern(tx, shape)
    key = shape.key(job.event_attributes)
    assert key is not None
    placing.conditions.append(Condition(EVENT, key, None))
    placing.conditions += [
        Condition(attribute_key(name), attribute_value(job.event_attributes[name]), None) for name in shape.attributes
    ]


def _place_in_group(tx: Tx, job: NewJob, placing: Placing, now: Millis) -> None:
    if job.group_id is None:
        return
    group = find_group(tx, job.group_id)
    if group.mode != GroupMode.SEQUENTIAL:
        return
    member = tx.one(sql.last_group_member, Member, group_id=group.id)
    placing.group_seq = 1 if member is None else member.group_seq + 1
    if member is None:
        return
    link = last_link(tx, member.id)
    assert link is not None
    was_left_out = find_row(tx, link.id).error_code == LEFT_OUT_CODE
    state = StateName.DONE if was_left_out else StateName(link.state)
    turn = next_turn(OnFailure(group.on_failure), state) if state in TERMINAL else Turn.START
    if turn is not Turn.START:
        code = LEFT_OUT_CODE if turn is Turn.CANCEL else None
        placing.end(StateName.CANCELLED, f"predecessor {link.id} ended as {state}", code)
    awaited = awaited_turn(tx, link.id) if state in TERMINAL else group_key(link.id)
    satisfied_at = now if awaited is None else None
    placing.conditions.append(Condition(awaited or group_key(link.id), GROUP_RULE, satisfied_at))
