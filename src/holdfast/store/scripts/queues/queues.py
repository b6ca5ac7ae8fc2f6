"""Queues: what is set for them, and pauses."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from holdfast.core.gates.breaker import Breaker, has_opened
from holdfast.core.gates.queue import PRESETS
from holdfast.core.job import Millis
from holdfast.core.messages.queues import Queue
from holdfast.core.rules.pairs import RATE, check_pairs
from holdfast.core.rules.timing import FAR_FUTURE
from holdfast.core.rules.value_rules import STARTS, WINDOW
from holdfast.core.settings import queue_changes, queue_settings
from holdfast.core.settings.queue_changes import QueueChanges, QueueSetting
from holdfast.core.settings.queue_settings import CLEARABLE
from holdfast.store.engine import Tx
from holdfast.store.scripts.queues import breakers
from holdfast.store.scripts.telling.wake_ups import wake_held_back
from holdfast.store.setting_columns import QUEUE_COLUMNS
from holdfast.store.statements import sql


@QUEUE_COLUMNS.extend
class QueueRow(Struct, frozen=True):
    """A row of `queues`: only queues with settings of their own have one. Its other columns are the settings."""

    name: str
    paused_at: Millis | None
    pause_reason: str | None

    def to_queue(self) -> Queue:
        """The queue that this row describes."""
        return Queue(
            name=self.name, paused_at=self.paused_at, pause_reason=self.pause_reason, **QUEUE_COLUMNS.load(self)
        )


def set_queue(tx: Tx, name: str, changes: QueueChanges) -> Queue:
    """Change the settings of a queue, for all processes at once. What is not named stays as it is."""
    before = find_queue(tx, name)
    settings = _laid_over(before, changes)
    tx.run(sql.put_queue, name=name, **QUEUE_COLUMNS.store(settings))
    if before.rate is not None and settings.rate is None:
        tx.run(sql.forget_starts, queue=name, since=FAR_FUTURE)
    if not settings.breaker:
        tx.run(sql.delete_breaker, queue=name)
    tx.changes.ready.add(name)
    wake_held_back(tx)
    return find_queue(tx, name)


def set_limit(tx: Tx, name: str, concurrency: int | None) -> None:
    """Set how many jobs of a queue may run at once, over all processes. None lifts the limit."""
    lifted = QueueChanges(clear=(QueueSetting.CONCURRENCY,))
    set_queue(tx, name, lifted if concurrency is None else QueueChanges(concurrency=concurrency))


def find_queue(tx: Tx, name: str) -> Queue:
    """The settings of a queue. One without settings of its own has the defaults."""
    found = tx.one(sql.list_queues, QueueRow, name=name)
    queue = Queue(name=name) if found is None else found.to_queue()
    return _with_breaker(queue, breakers.find_breaker(tx, name))


def list_queues(tx: Tx) -> list[Queue]:
    """Queues that have settings of their own, and those whose breaker has opened."""
    known = {row.name: row.to_queue() for row in tx.all(sql.list_queues, QueueRow, name=None)}
    opened = breakers.open_breakers(tx)
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
    breakers.close_breaker(tx, name, now)
    tx.run(sql.pause_queue, name=name, paused_at=None, reason=None)
    tx.changes.ready.add(name)


_FIELDS = {
    setting.cleared_as: [field for one in queue_settings.cleared_by(setting) for field in one.columns]
    for setting in CLEARABLE
}
_NONE = Queue(name="")


def _laid_over(queue: Queue, changes: QueueChanges) -> Queue:
    queue_changes.refuse_set_and_cleared(changes.clear, lambda field: getattr(changes, field))
    given: dict[str, Any] = {
        field: value
        for field in changes.__struct_fields__
        if field not in ("clear", "preset") and (value := getattr(changes, field)) is not None
    }
    if changes.preset is not None:
        given.setdefault("retry", PRESETS[changes.preset])
    cleared = {field for setting in changes.clear for field in _FIELDS[setting]}
    found = structs.replace(queue, **{field: getattr(_NONE, field) for field in cleared}, **given)
    check_pairs(RATE, lambda field: getattr(found, field))
    if found.rate is not None:
        STARTS.check("rate_limit", found.rate_limit)
        WINDOW.check("rate_window_ms", found.rate_window_ms)
    return found
