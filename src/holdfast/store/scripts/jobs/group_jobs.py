"""Store a group and all its jobs in one transaction, and retry the members that did not go well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from holdfast.core.declared.option import RetryKind
from holdfast.core.errors import Conflict, InvalidInput
from holdfast.core.job import TERMINAL, JobId, Millis, StateName
from holdfast.core.jobs.requests import Enqueued, NewJob
from holdfast.core.messages.dead_letters import ClosedAs
from holdfast.core.messages.groups import Group
from holdfast.core.values.event import EVENT, shape_of
from holdfast.core.values.group import MOST_MEMBERS, STAYS, GroupMode, Needs, OnFailure, check_count, failed_predecessor
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.events.events import register_pattern
from holdfast.store.scripts.groups import groups
from holdfast.store.scripts.groups.groups import Member
from holdfast.store.scripts.jobs import dead_letter_rows, endings
from holdfast.store.scripts.jobs.endings import GROUP_RULE
from holdfast.store.scripts.jobs.enqueue import Batch, enqueue
from holdfast.store.scripts.jobs.relations import NewCondition, Relations
from holdfast.store.scripts.jobs.retry import made_anew
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.statements import sql

PAGE = 1_000


class _StoredCondition(Struct, frozen=True):
    key: str
    value: str
    satisfied_at: Millis | None


def enqueue_group(
    tx: Tx,
    group_id: str,
    name: str | None,
    mode: GroupMode,
    on_failure: OnFailure,
    jobs: Sequence[NewJob],
    now: Millis,
    repeated: bool = False,
    must_exist: bool = False,
) -> list[Enqueued]:
    """Make a group together with its jobs, in their order: all of it, or nothing.

    `repeated`: if an earlier call with the same ids came through, what it stored is the answer. `must_exist`: refuse a
    task that no worker has declared.
    """
    check_count(jobs)
    if not repeated and tx.one(sql.group_of_id, Group, id=group_id) is not None:
        raise Conflict(
            f"there is a group {group_id} already; if this is a repeat of an earlier call, send repeated = true, "
            "otherwise make another id"
        )
    groups.create_group(tx, group_id, name, mode, on_failure, now)
    members = [structs.replace(job, group_id=group_id) for job in jobs]
    answers = enqueue(tx, members, now, repeated, must_exist)
    for number, answer in enumerate(answers, 1):
        if answer.existing:
            raise Conflict(
                f"job {answer.id or 'of earlier'} stands for member {number} already, by its idempotency key or "
                "generation, and is not in this group; nothing was stored"
            )
    return answers


def retry_group(tx: Tx, group_id: str, now: Millis, rest: bool = False, trigger: str | None = None) -> list[Enqueued]:
    """Make a new job for every member that has ended without being done, in the same group and order.

    Each new job continues the old one, so that the group and the handles of the old one mean the new one. Members that
    are done or superseded stay as they are. A sequential group must have ended first. At most 10 000 at once: of a
    bigger parallel group, another call makes the next ones.

    `rest`: only those that were cancelled because a member before them failed. They come after members that go on.
    """
    group = groups.look_up_group(tx, group_id)
    is_sequential = group.mode == GroupMode.SEQUENTIAL
    if is_sequential and not rest and tx.value(sql.group_is_live, group_id=group.id):
        raise Conflict(
            f"group {group.name or group.id} still goes on, in order; wait until it has ended, cancel it, or have only "
            "those run again that were cancelled when another failed: holdfast group retry --rest"
        )
    batch, answers = Batch(tx, now, None), list[Enqueued]()
    before = groups.last_in_sequence(tx, group.id) if is_sequential else None
    for member in _members(tx, group.id):
        if not _runs_again(tx, member, rest):
            continue
        if len(answers) == MOST_MEMBERS:
            if is_sequential:
                raise InvalidInput(f"more than {MOST_MEMBERS} jobs of the group would be made anew; retry them by hand")
            break
        if not answers:
            groups.reopen_group(tx, group.id, now)
        placing = Relations(
            generation=member.generation,
            group_seq=member.group_seq,
            conditions=_conditions(tx, member, before, now),
            retry_of=member.id,
            retried_from=member.id,
        )
        again = made_anew(tx, member, RetryKind.IN_GROUP, trigger, id=tx.new_id())
        answers.append(batch.place(again, placing))
        dead_letter_rows.close_letter(tx, member.id, ClosedAs.RETRIED, now, trigger, retried_as=again.id)
        if is_sequential:
            before = again.id
    batch.close()
    return answers


def _members(tx: Tx, group_id: str) -> Iterator[JobRow]:
    """All members in their order, read page by page."""
    above = 0
    while page := tx.all(sql.group_members, Member, group_id=group_id, above=above, limit=PAGE):
        yield from (read_jobs.find_row(tx, member.number) for member in page)
        above = page[-1].root


def _runs_again(tx: Tx, member: JobRow, rest: bool) -> bool:
    state = StateName(member.state)
    if state in STAYS or state not in TERMINAL or (rest and not _was_stopped(tx, member)):
        return False
    return _is_newest(tx, member)


def _was_stopped(tx: Tx, member: JobRow) -> bool:
    """Whether it was cancelled because of another member of its group."""
    failed = failed_predecessor(member.reason) if member.state == StateName.CANCELLED else None
    other = None if failed is None else tx.one(sql.job_by_id, JobRow, id=failed)
    return other is not None and other.group_id == member.group_id


def _is_newest(tx: Tx, member: JobRow) -> bool:
    """Whether the member has the newest generation of its subject, or no subject."""
    if member.subject_key is None:
        return True
    newest = tx.value(sql.newest_generation, job_type=member.job_type, subject_key=member.subject_key)
    return newest is None or newest == member.generation


def _conditions(tx: Tx, member: JobRow, before: JobId | None, now: Millis) -> list[NewCondition]:
    """What the new job waits for: the new member before it, and the conditions of the old job."""
    found = [] if before is None else [NewCondition(endings.group_key(before), GROUP_RULE, None)]
    conditions = tx.all(sql.conditions_of_job, _StoredCondition, job_id=member.id)
    if member.wait_for_event is not None and any(old.key == EVENT and old.satisfied_at is None for old in conditions):
        names = [old.key.partition(".")[2] for old in conditions if old.key.startswith(f"{EVENT}.")]
        register_pattern(tx, shape_of(member.wait_for_event, names))
    for old in conditions:
        if old.key.startswith("after:"):
            found.append(_after(tx, old, now))
        elif not old.key.startswith("group:"):
            found.append(NewCondition(old.key, old.value, old.satisfied_at))
    return found


def _after(tx: Tx, old: _StoredCondition, now: Millis) -> NewCondition:
    """The condition for a job outside the group. It is met if that job has ended, in whatever way."""
    parent = read_jobs.last_link(tx, old.key.partition(":")[2])
    if parent is None:
        return NewCondition(old.key, Needs.ENDED, now)
    if StateName(parent.state) in TERMINAL:
        return NewCondition(endings.after_key(parent.id), Needs.ENDED, now)
    return NewCondition(endings.after_key(parent.id), old.value, None)
