"""Queues: what is set for them, and pauses."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, structs

from holdfast.core.breaker import USUAL_FAILURES, USUAL_OPEN_MS, Breaker, has_opened
from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.queue import PRESETS, Overflow, QueueChanges, QueueClass, QueueSetting
from holdfast.core.rate import Rate, check_rate
from holdfast.core.retry import RetryPolicy
from holdfast.core.timing import FAR_FUTURE
from holdfast.store.engine import Tx
from holdfast.store.scripts.breakers import close_breaker, find_breaker, open_breakers
from holdfast.store.scripts.waking import wake_held_back
from holdfast.store.statements import sql


class Queue(Struct, frozen=True, kw_only=True):
    """What is set for a queue; None stands for no limit, and for what its jobs say themselves.

    `tripped` is its breaker, while that is open or half-open.
    """

    name: str
    concurrency: int | None = None
    rate_limit: int | None = None
    rate_window_ms: Millis | None = None
    max_length: int | None = None
    overflow: Overflow = Overflow.REJECT
    queue_class: QueueClass = QueueClass.NORMAL
    retry: RetryPolicy | None = None
    timeout_ms: Millis | None = None
    breaker: int = USUAL_FAILURES
    breaker_for_ms: Millis = USUAL_OPEN_MS
    paused_at: Millis | None = None
    pause_reason: str | None = None
    tripped: Breaker | None = None

    @property
    def rate(self) -> Rate | None:
        """How many jobs it may start in a time."""
        if self.rate_limit is None or self.rate_window_ms is None:
            return None
        return Rate(self.rate_limit, self.rate_window_ms)


class QueueRow(Struct, frozen=True):
    """A row of `queues`: only queues with settings of their own have one."""

    name: str
    concurrency: int | None
    rate_limit: int | None
    rate_window_ms: Millis | None
    max_length: int | None
    overflow: str
    queue_class: str
    retry: str | None
    timeout_ms: Millis | None
    breaker: int
    breaker_for_ms: Millis
    paused_at: Millis | None
    pause_reason: str | None

    def to_queue(self) -> Queue:
        """The queue that this row describes."""
        return Queue(
            name=self.name,
            concurrency=self.concurrency,
            rate_limit=self.rate_limit,
            rate_window_ms=self.rate_window_ms,
            max_length=self.max_length,
            overflow=Overflow(self.overflow),
            queue_class=QueueClass(self.queue_class),
            retry=policy_in(self.retry),
            timeout_ms=self.timeout_ms,
            breaker=self.breaker,
            breaker_for_ms=self.breaker_for_ms,
            paused_at=self.paused_at,
            pause_reason=self.pause_reason,
        )


def set_queue(tx: Tx, name: str, changes: QueueChanges) -> Queue:
    """Change what is set for a queue, for all processes at once; what is not named stays as it is."""
    before = find_queue(tx, name)
    settings = _laid_over(before, changes)
    tx.run(
        sql.put_queue,
        name=name,
        concurrency=settings.concurrency,
        rate_limit=settings.rate_limit,
        rate_window_ms=settings.rate_window_ms,
        max_length=settings.max_length,
        overflow=settings.overflow,
        queue_class=settings.queue_class,
        retry=None if settings.retry is None else msgspec.json.encode(settings.retry).decode(),
        timeout_ms=settings.timeout_ms,
        breaker=settings.breaker,
        breaker_for_ms=settings.breaker_for_ms,
    )
    if before.rate is not None and settings.rate is None:
        tx.run(sql.forget_starts, queue=name, since=FAR_FUTURE)
    if not settings.breaker:
        tx.run(sql.delete_breaker, queue=name)
    tx.changes.ready.add(name)
    wake_held_back(tx)
    return find_queue(tx, name)


def set_limit(tx: Tx, name: str, concurrency: int | None) -> None:
    """How many jobs of a queue may run at once, over all processes; None lifts the limit."""
    lifted = QueueChanges(clear=(QueueSetting.CONCURRENCY,))
    set_queue(tx, name, lifted if concurrency is None else QueueChanges(concurrency=concurrency))


def find_queue(tx: Tx, name: str) -> Queue:
    """What is set for a queue; one that nobody has set anything for has the defaults."""
    found = tx.one(sql.list_queues, QueueRow, name=name)
    queue = Queue(name=name) if found is None else found.to_queue()
    return _with_breaker(queue, find_breaker(tx, name))


def list_queues(tx: Tx) -> list[Queue]:
    """Queues that have settings of their own, and those whose breaker has opened."""
    known = {row.name: row.to_queue() for row in tx.all(sql.list_queues, QueueRow, name=None)}
    opened = open_breakers(tx)
    names = sorted(known.keys() | opened.keys())
    return [_with_breaker(known.get(name, Queue(name=name)), opened.get(name)) for name in names]


def _with_breaker(queue: Queue, breaker: Breaker | None) -> Queue:
    return structs.replace(queue, tripped=breaker) if has_opened(breaker) else queue


def pause(tx: Tx, name: str, reason: str | None, now: Millis) -> None:
    """Start nothing new from a queue. What runs goes on."""
    tx.run(sql.pause_queue, name=name, paused_at=now, reason=reason)
    wake_held_back(tx)


def resume(tx: Tx, name: str, now: Millis) -> None:
    """Start jobs of a queue again, also if its breaker was open."""
    close_breaker(tx, name, now)
    tx.run(sql.pause_queue, name=name, paused_at=None, reason=None)
    tx.changes.ready.add(name)


def policy_in(text: str | None) -> RetryPolicy | None:
    """A retry policy as it is stored with a queue."""
    return None if text is None else msgspec.json.decode(text, type=RetryPolicy)


# What a setting that can be cleared is stored as.
_FIELDS: dict[QueueSetting, tuple[str, ...]] = {
    QueueSetting.RATE: ("rate_limit", "rate_window_ms"),
    QueueSetting.TIMEOUT: ("timeout_ms",),
    QueueSetting.BREAKER: ("breaker", "breaker_for_ms"),
}
_NONE = Queue(name="")


def _laid_over(queue: Queue, changes: QueueChanges) -> Queue:
    given: dict[str, Any] = {
        field: value
        for field in changes.__struct_fields__
        if field not in ("clear", "preset") and (value := getattr(changes, field)) is not None
    }
    if changes.preset is not None:
        given.setdefault("retry", PRESETS[changes.preset])
    cleared = {field for setting in changes.clear for field in _FIELDS.get(setting, (setting.value,))}
    both = sorted(cleared & given.keys())
    if both:
        raise InvalidInput(f"{both[0]} is to be set to {given[both[0]]} and to be cleared; say one of them")
    found = structs.replace(queue, **{field: getattr(_NONE, field) for field in cleared}, **given)
    if (found.rate_limit is None) != (found.rate_window_ms is None):
        raise InvalidInput(
            f"a rate has a number of starts and a window: got rate_limit {found.rate_limit} and rate_window_ms "
            f"{found.rate_window_ms}; give both"
        )
    if found.rate is not None:
        check_rate(found.rate)
    return found
