"""Limits and pauses of queues."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.store.engine import Tx
from holdfast.store.statements import sql


class Queue(Struct, frozen=True):
    """A row of `queues`: only queues with settings of their own have one."""

    name: str
    concurrency: int | None
    max_length: int | None
    paused_at: Millis | None
    pause_reason: str | None


def set_limit(tx: Tx, name: str, concurrency: int | None) -> None:
    """How many jobs of a queue may run at once, over all processes; None lifts the limit."""
    tx.run(sql.set_queue_limit, name=name, concurrency=concurrency)
    tx.changes.ready.add(name)


def pause(tx: Tx, name: str, reason: str | None, now: Millis) -> None:
    """Start nothing new from a queue. What runs goes on."""
    tx.run(sql.pause_queue, name=name, paused_at=now, reason=reason)


def resume(tx: Tx, name: str) -> None:
    """Start jobs of a queue again."""
    tx.run(sql.pause_queue, name=name, paused_at=None, reason=None)
    tx.changes.ready.add(name)


def list_queues(tx: Tx) -> list[Queue]:
    """Queues that have settings of their own."""
    return tx.all(sql.list_queues, Queue)
