"""A group and all its jobs in one transaction, and all that did not go well once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from holdfast.core.errors import Conflict, InvalidInput
from holdfast.core.event import EVENT, shape_of
from holdfast.core.group import GroupMode, Needs, OnFailure, failed_predecessor
from holdfast.core.job import TERMINAL, JobId, Millis, StateName
from holdfast.core.requests import Enqueued, NewJob
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.endings import GROUP_RULE, after_key, group_key
from holdfast.store.scripts.enqueue import Batch, enqueue
from holdfast.store.scripts.events import register_pattern
from holdfast.store.scripts.groups import Group, Member, create_group, last_in_sequence, look_up_group, reopen_group
from holdfast.store.scripts.letters import ClosedAs, close_letter
from holdfast.store.scripts.look import find_row, last_link
from holdfast.store.scripts.placing import Condition, Placing
from holdfast.store.scripts.retry import made_anew
from holdfast.store.statements import sql

MOST_MEMBERS = 10_000
PAGE = 1_000
STAYS = (StateName.DONE, StateName.SUPERSEDED)


class _Condition(Struct, frozen=True):
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

    `repeated`: an earlier call with the same ids may have come through; what it stored is the answer. `must_exist`:
    refuse a task that no worker has declared.
    """
    if len(jobs) > MOST_MEMBERS:
        raise InvalidInput(f"{len(jobs)} jobs at once are too many; make a group of at most {MOST_MEMBERS} in one call")
    if not repeated and tx.one(sql.group_of_id, Group, id=group_id) is not None:
        raise Conflict(
            f"there is a group {group_id} already; if this is a repeat of an earlier call, send repeated = true, "
            "otherwise make another id"
        )
    create_group(tx, group_id, name, mode, on_failure, now)
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
    """Make every member anew, in the same group and order, that has ended without being done.

    Each new job continues the old one, so that the group and whoever holds the old one mean the new one. Those that are
    done or superseded stay as they are. A sequential group must have ended first. At most 10 000 at once: of a bigger
    parallel group, another call makes the next ones.

    `rest`: only those that were cancelled because a member before them failed, behind those that still go on.
    """
    group = look_up_group(tx, group_id)
    is_sequential = group.mode == GroupMode.SEQUENTIAL
    if is_sequential and not rest and tx.value(sql.group_is_live, group_id=group.id):
        raise Conflict(
            f"group {group.name or group.id} still goes on, in order; wait until it has ended, cancel it, or have only "
            "those run again that were cancelled when another failed: holdfast group retry --rest"
        )
    batch, answers = Batch(tx, now, None), list[Enqueued]()
    before = last_in_sequence(tx, group.id) if is_sequential else None
    for member in _members(tx, group.id):
        if not _runs_again(tx, member, rest):
            continue
        if len(answers) == MOST_MEMBERS:
            if is_sequential:
                raise InvalidInput(f"more than {MOST_MEMBERS} jobs of the group would be made anew; retry them by hand")
            break
        if not answers:
            reopen_group(tx, group.id, now)
        placing = Placing(
            generation=member.generation,
            group_seq=member.group_seq,
            conditions=_conditions(tx, member, before, now),
            retry_of=member.id,
            retried_from=member.id,
        )
        again = made_anew(tx, member, trigger, id=tx.new_id(), wait_for_event=member.wait_for_event)
        answers.append(batch.place(again, placing))
        close_letter(tx, member.id, ClosedAs.RETRIED, now, trigger, retried_as=again.id)
        if is_sequential:
            before = again.id
    batch.close()
    return answers


def _members(tx: Tx, group_id: str) -> Iterator[JobRow]:
    """All of them, however many have joined, in their order."""
    above = 0
    while page := tx.all(sql.group_members, Member, group_id=group_id, above=above, limit=PAGE):
        yield from (find_row(tx, member.number) for member in page)
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
    """Something newer stands for a member whose subject has gone on."""
    if member.subject_key is None:
        return True
    newest = tx.value(sql.newest_generation, job_type=member.job_type, subject_key=member.subject_key)
    return newest is None or newest == member.generation


def _conditions(tx: Tx, member: JobRow, before: JobId | None, now: Millis) -> list[Condition]:
    """What it waits for this time: those before it that are made anew, and what it never got to see."""
    found = [] if before is None else [Condition(group_key(before), GROUP_RULE, None)]
    conditions = tx.all(sql.conditions_of_job, _Condition, job_id=member.id)
    if member.wait_for_event is not None and any(old.key == EVENT and old.satisfied_at is None for old in conditions):
        names = [old.key.partition(".")[2] for old in conditions if old.key.startswith(f"{EVENT}.")]
        register_pattern(tx, shape_of(member.wait_for_event, names))
    for old in conditions:
        if old.key.startswith("after:"):
            found.append(_after(tx, old, now))
        elif not old.key.startswith("group:"):
            found.append(Condition(old.key, old.value, old.satisfied_at))
    return found


def _after(tx: Tx, old: _Condition, now: Millis) -> Condition:
    """Whoever asks for another try has seen how those outside the group ended; those that go on are waited for."""
    parent = last_link(tx, old.key.partition(":")[2])
    if parent is None:
        return Condition(old.key, Needs.ENDED, now)
    if StateName(parent.state) in TERMINAL:
        return Condition(after_key(parent.id), Needs.ENDED, now)
    return Condition(after_key(parent.id), old.value, None)
