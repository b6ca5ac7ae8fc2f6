"""Steps of the wall clock. Each is recorded once, however many processes see it, and waiting jobs move along."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.machine import clock_step
from holdfast.store.engine import Tx
from holdfast.store.statements import sql
from holdfast.store.topics import DUE

BATCH = 500
KEEP = 100


class ClockState(Struct, frozen=True):
    """How far the clock was set in all while a process ran, and whether jobs are still being moved for that."""

    total_ms: Millis
    is_moving: bool


class SeenStep(Struct, frozen=True):
    """A step that a process saw. `total_ms` is what was recorded when it last looked, before the step.

    `stepped_at` is the earliest moment that the clock can have shown after it.
    """

    step_ms: Millis
    total_ms: Millis
    stepped_at: Millis


class Moved(Struct, frozen=True):
    """A batch: its step, how many jobs were moved for that by now, and whether these were all."""

    step_ms: Millis
    moved: int
    is_last: bool


class OpenStep(Struct, frozen=True):
    """A row of `open_clock_step`."""

    number: int
    stepped_at: Millis
    step_ms: Millis
    upto_number: int
    cursor_queue: str
    cursor_number: int
    moved: int


class WaitingRow(Struct, frozen=True):
    """A row of `waiting_after`."""

    number: int
    queue: str
    since: Millis | None


def clock_state(tx: Tx) -> ClockState:
    """The recorded steps of the clock, in sum."""
    row = tx.rows(sql.clock_state)[0]
    return ClockState(row["total_ms"], bool(row["is_moving"]))


def note_step(tx: Tx, seen: SeenStep, now: Millis) -> ClockState:
    """Record a step that a process has seen, or the part of it that no other process has recorded."""
    known = clock_state(tx)
    step = clock_step.new_part(seen.step_ms, known.total_ms - seen.total_ms)
    if not step:
        return known
    total = known.total_ms + step
    upto: int = tx.value(sql.newest_number)
    tx.run(sql.insert_clock_step, now=now, stepped_at=seen.stepped_at, step_ms=step, total_ms=total, upto_number=upto)
    tx.run(sql.delete_old_clock_steps, keep=KEEP)
    return ClockState(total, is_moving=True)


def move_waiting(tx: Tx, now: Millis, limit: int = BATCH) -> Moved | None:
    """Move the next batch of jobs for the oldest unfinished step. None: there is no such step."""
    step = tx.one(sql.open_clock_step, OpenStep)
    if step is None:
        return None
    behind = {"queue": step.cursor_queue, "number": step.cursor_number, "upto_number": step.upto_number}
    found = tx.all(sql.waiting_after, WaitingRow, limit=limit, **behind)
    concerned = [row.number for row in found if clock_step.waits_by_old_clock(row.since, step.stepped_at, now)]
    tx.run_many(sql.move_job, [{"number": number, "step_ms": step.step_ms} for number in concerned])
    is_last = len(found) < limit
    tx.run(
        sql.advance_clock_step,
        number=step.number,
        queue=found[-1].queue if found else step.cursor_queue,
        cursor=found[-1].number if found else step.cursor_number,
        moved=len(concerned),
        ended_at=now if is_last else None,
    )
    if concerned:
        tx.changes.topics.add(DUE)
    return Moved(step.step_ms, step.moved + len(concerned), is_last)
