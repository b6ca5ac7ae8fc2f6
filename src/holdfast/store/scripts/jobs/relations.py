"""How a new job relates to the jobs that exist: what it waits for, and what it supersedes. It is stored elsewhere."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.errors import NotFound
from holdfast.core.job import TERMINAL, Millis, StateName
from holdfast.core.jobs.requests import Enqueued, NewJob
from holdfast.core.values.event import EVENT, attribute_key, attribute_value, shape_of
from holdfast.core.values.group import (
    LEFT_OUT_CODE,
    DependencyTurn,
    GroupMode,
    Needs,
    OnFailure,
    dependency_turn,
    next_turn,
    why_cancelled,
)
from holdfast.core.values.subject import Newest, Same, Stale, arrive
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.events.events import register_pattern
from holdfast.store.scripts.groups import groups
from holdfast.store.scripts.jobs import endings
from holdfast.store.scripts.jobs.endings import GROUP_RULE
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.scripts.reading.read_jobs import Link
from holdfast.store.scripts.telling.log_lines import JobEnd
from holdfast.store.scripts.telling.wake_ups import wake_ready
from holdfast.store.statements import sql
from holdfast.store.topics import STOPS


class NewCondition(Struct, frozen=True):
    """A row of `job_conditions` for a job that is about to be stored."""

    key: str
    value: str
    satisfied_at: Millis | None


class Relations(Struct):
    """What the jobs that exist mean for a new job."""

    generation: int | None = None
    group_seq: int | None = None
    conditions: list[NewCondition] = []
    ends_as: StateName | None = None
    reason: str | None = None
    error_code: str | None = None
    retry_of: str | None = None
    retried_from: str | None = None
    newer: int | None = None

    def end(self, state: StateName, reason: str, error_code: str | None = None) -> None:
        """Note that the job ends as soon as it is stored. The first reason counts."""
        if self.ends_as is None:
            self.ends_as, self.reason, self.error_code = state, reason, error_code

    @property
    def open_conditions(self) -> int:
        """How many conditions still have to come true."""
        return sum(condition.satisfied_at is None for condition in self.conditions) if self.conditions else 0


class LastMember(Struct, frozen=True):
    """The last member of a sequential group."""

    id: str
    group_seq: int


def find_place(tx: Tx, job: NewJob, now: Millis, old: JobRow | None = None) -> Relations | Enqueued:
    """The relations of a new job, or an earlier request that stands for it. Jobs that it supersedes end here.

    `old` is the job that this one retries by hand.
    """
    existing = _by_key(tx, job)
    if existing is not None:
        return existing
    placing = Relations() if old is None else Relations(retried_from=old.id)
    if job.subject is not None:
        existing = _place_subject(tx, job, placing, now)
        if existing is not None:
            return existing
    _place_dependencies(tx, job, placing, now)
    if old is None:
        _place_in_group(tx, job, placing, now)
    elif old.group_id is not None:
        _place_again_in_group(tx, old, placing, now)
    _place_event(tx, job, placing)
    return placing


def _by_key(tx: Tx, job: NewJob) -> Enqueued | None:
    if job.idempotency_key is None:
        return None
    found = tx.one(sql.find_by_idempotency_key, Link, job_type=job.task, idempotency_key=job.idempotency_key)
    return None if found is None else _existing(tx, found)


def _existing(tx: Tx, found: Link) -> Enqueued:
    last = read_jobs.last_link(tx, found.id) or found
    return Enqueued(found.id, StateName(last.state), found.generation, existing=True, number=found.number)


def _place_subject(tx: Tx, job: NewJob, placing: Relations, now: Millis) -> Enqueued | None:
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
            placing.generation, placing.newer = generation, newest
            placing.end(StateName.SUPERSEDED, f"generation {newest} of its subject is known already")
    return None


class SupersededRow(Struct, frozen=True):
    """A row of `supersede_waiting`."""

    id: str
    queue: str
    trace_id: str | None
    generation: int | None
    is_favoured: int

    def ended(self, reason: str, newer: int) -> JobEnd:
        """What is told of its end."""
        return JobEnd(
            self.id, StateName.SUPERSEDED, self.queue, self.trace_id, reason, generation=self.generation, newer=newer
        )


def _push_aside(tx: Tx, job: NewJob, generation: int, now: Millis) -> None:
    subject = {"job_type": job.task, "subject_key": job.subject}
    reason = f"superseded by generation {generation}"
    gone = tx.all(sql.supersede_waiting, SupersededRow, reason=reason, now=now, **subject)
    if gone:
        endings.announce_ended(tx, [one.ended(reason, generation) for one in gone], now)
    if any(one.is_favoured for one in gone):
        wake_ready(tx)
    if job.stop_older and tx.run(sql.ask_older_to_stop, now=now, **subject):
        tx.changes.topics.add(STOPS)


def _place_dependencies(tx: Tx, job: NewJob, placing: Relations, now: Millis) -> None:
    # The stricter one first: of two about one parent, the first is kept.
    for dependency in sorted(job.after, key=lambda wish: wish.needs is not Needs.DONE):
        parent = read_jobs.last_link(tx, dependency.job_id)
        if parent is None:
            raise NotFound(f"there is no job {dependency.job_id!r} to wait for; nothing was enqueued")
        state = StateName(parent.state)
        if state in TERMINAL and dependency_turn(dependency.needs, state) is not DependencyTurn.START:
            placing.end(StateName.CANCELLED, why_cancelled(parent.id, state))
        satisfied_at = now if state in TERMINAL else None
        key = endings.after_key(parent.id)
        if all(condition.key != key for condition in placing.conditions):
            placing.conditions.append(NewCondition(key, dependency.needs, satisfied_at))


def _place_event(tx: Tx, job: NewJob, placing: Relations) -> None:
    if job.wait_for_event is None:
        return
    shape = shape_of(job.wait_for_event, job.event_attributes)
    register_pattern(tx, shape)
    key = shape.key(job.event_attributes)
    assert key is not None
    placing.conditions.append(NewCondition(EVENT, key, None))
    placing.conditions += [
        NewCondition(attribute_key(name), attribute_value(job.event_attributes[name]), None)
        for name in shape.attributes
    ]


def _place_in_group(tx: Tx, job: NewJob, placing: Relations, now: Millis) -> None:
    if job.group_id is None:
        return
    group = groups.find_group(tx, job.group_id)
    if group.mode != GroupMode.SEQUENTIAL:
        return
    member = tx.one(sql.last_group_member, LastMember, group_id=group.id)
    placing.group_seq = 1 if member is None else member.group_seq + 1
    if member is None:
        return
    link = read_jobs.last_link(tx, member.id)
    assert link is not None
    was_left_out = read_jobs.find_row(tx, link.id).error_code == LEFT_OUT_CODE
    state = StateName.DONE if was_left_out else StateName(link.state)
    turn = next_turn(OnFailure(group.on_failure), state) if state in TERMINAL else DependencyTurn.START
    if turn is not DependencyTurn.START:
        code = LEFT_OUT_CODE if turn is DependencyTurn.CANCEL else None
        placing.end(StateName.CANCELLED, why_cancelled(link.id, state), code)
    last = groups.last_in_sequence(tx, group.id)
    satisfied_at = now if last is None else None
    placing.conditions.append(NewCondition(endings.group_key(last or link.id), GROUP_RULE, satisfied_at))


def _place_again_in_group(tx: Tx, old: JobRow, placing: Relations, now: Millis) -> None:
    """The new job takes the place of the old member. Its turn comes after the members that still go on."""
    assert old.group_id is not None
    groups.reopen_group(tx, old.group_id, now)
    placing.retry_of, placing.group_seq = old.id, old.group_seq
    last = groups.last_in_sequence(tx, old.group_id) if old.group_seq is not None else None
    if last is not None:
        placing.conditions.append(NewCondition(endings.group_key(last), GROUP_RULE, None))
