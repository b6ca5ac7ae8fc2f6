"""The starts of queues with a rate. They are stored, so that all processes agree how many more there may be."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.values.rate import Rate, Starts, free_starts, horizon, moment_of, opened_by
from holdfast.store.engine import Tx
from holdfast.store.statements import sql
from holdfast.store.topics import DUE


class StartRow(Struct, frozen=True):
    """A row of `queue_starts`: how many started at this moment, and the total by then."""

    started_at: Millis
    starts: int
    total: int


class Allowance(Struct, frozen=True):
    """The starts of a queue with a rate. `opens_at` is when it may start a job again, if it may not now."""

    queue: str
    rate: Rate
    starts: Starts
    opens_at: Millis | None = None


def allowance(tx: Tx, queue: str, rate: Rate, now: Millis) -> Allowance:
    """Read the starts of a queue with a rate."""
    latest = tx.one(sql.latest_start, StartRow, queue=queue, horizon=horizon(rate, now))
    if latest is None:
        return Allowance(queue, rate, Starts())
    since = moment_of(latest.started_at, now) - rate.window_ms
    first = tx.one(sql.first_start, StartRow, queue=queue, since=since)
    before = latest.total if first is None else first.total - first.starts
    starts = Starts(latest.started_at, latest.total, before)
    return Allowance(queue, rate, starts, None if free_starts(rate, starts) else _opening(tx, queue, rate, starts))


def note_starts(tx: Tx, allowed: Allowance, count: int, now: Millis) -> None:
    """Store that so many jobs started. If no more may, workers are woken when one may again."""
    moment = moment_of(allowed.starts.latest_at, now)
    total = allowed.starts.total + count
    since = moment - allowed.rate.window_ms
    tx.run(sql.forget_starts, queue=allowed.queue, since=since)
    tx.run(sql.forget_wrong_starts, queue=allowed.queue, horizon=horizon(allowed.rate, now))
    tx.run(sql.note_starts, queue=allowed.queue, started_at=moment, starts=count, total=total)
    starts = Starts(moment, total, allowed.starts.before)
    if not free_starts(allowed.rate, starts):
        tell_opening(tx, allowed.queue, _opening(tx, allowed.queue, allowed.rate, starts))


def tell_opening(tx: Tx, queue: str, opens_at: Millis | None) -> None:
    """Store when the clockwork wakes the workers of the queue."""
    tx.run(sql.set_opening, queue=queue, opens_at=opens_at)
    tx.changes.topics.add(DUE)


def _opening(tx: Tx, queue: str, rate: Rate, starts: Starts) -> Millis | None:
    leaving: Millis | None = tx.value(sql.start_leaving, queue=queue, total=opened_by(rate, starts))
    return None if leaving is None else leaving + rate.window_ms
