"""Queues that are limited or reserved, in the model."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core.errors import Busy, NotFound
from holdfast.core.gates.queue import Overflow
from holdfast.core.job import StateName as S
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.settings.queue_changes import QueueChanges, QueueSetting
from tests.model import breakers
from tests.model.model import Model
from tests.model.records import Held, Queue

ACTIVE, WAITING = "ACTIVE", "WAITING"


def set_limit(model: Model, queue: str, limit: int | None) -> None:
    model.limits[queue] = limit
    model.queues.setdefault(queue, Queue()).opens = None


def set_queue(model: Model, name: str, changes: QueueChanges) -> None:
    """What is named is different from now on."""
    queue = model.queues.setdefault(name, Queue())
    queue.opens = None
    if QueueSetting.RATE in changes.clear:
        queue.rate = None
        model.started.pop(name, None)
    if QueueSetting.MAX_LENGTH in changes.clear:
        queue.most = None
    if QueueSetting.RETRY in changes.clear:
        queue.retry = None
    if changes.rate_limit is not None and changes.rate_window_ms is not None:
        queue.rate = (changes.rate_limit, changes.rate_window_ms)
    if changes.max_length is not None:
        queue.most = changes.max_length
    if changes.overflow is not None:
        queue.sheds = changes.overflow is Overflow.SHED
    queue.retry = changes.retry or queue.retry
    usual = (5, 30_000) if QueueSetting.BREAKER in changes.clear else queue.breaker
    most, span = changes.breaker, changes.breaker_for_ms
    queue.breaker = (usual[0] if most is None else most, usual[1] if span is None else span)
    if not queue.breaker[0]:
        model.breakers.pop(name, None)


def resume(model: Model, name: str, now: int) -> None:
    """Whoever lets a queue go on closes its breaker too."""
    model.paused.discard(name)
    breakers.close(model, name, now)


def open_queues(model: Model, now: int) -> None:
    for queue in model.queues.values():
        if queue.opens is not None and queue.opens <= now:
            queue.opens = None


def reserve(model: Model, request: NewReservation, now: int) -> None:
    """Whoever overlaps with somebody before him is refused, or waits in line if he wants to."""
    if model.sessions[request.session_id].status != "running":
        raise NotFound(request.session_id)
    end_due(model, now)
    others = [held for held in model.held.values() if held.status in (ACTIVE, WAITING)]
    first = next((held for held in others if _overlap(held.scope, request.scope)), None)
    if first is not None and not request.in_line:
        raise Busy(first.scope)
    status = ACTIVE if first is None else WAITING
    expires = now + request.wait_ms + (request.ttl_ms if first is None else 0)
    model.held[request.id] = Held(request.scope, request.session_id, request.ttl_ms, expires, status, since=now)
    grant(model, request.id, now)


def grant(model: Model, reservation: str, now: int) -> None:
    held = model.held[reservation]
    busy = any(held.scope in ("*", job.ask.queue) for job in model.find(S.RUNNING))
    if held.status == ACTIVE and held.granted is None and not busy:
        held.granted, held.expires = now, now + held.ttl


def release(model: Model, reservation: str, now: int) -> None:
    held = model.held[reservation]
    if held.status in (ACTIVE, WAITING):
        held.status = "RELEASED"
        _let_in(model, now)


def end_due(model: Model, now: int) -> None:
    _expire(model, lambda held: held.expires <= now, now)


def end_of_session(model: Model, session: str, now: int) -> None:
    _expire(model, lambda held: held.session == session, now)


def _expire(model: Model, which: Callable[[Held], bool], now: int) -> None:
    over = [held for held in model.held.values() if held.status in (ACTIVE, WAITING) and which(held)]
    for held in over:
        held.status = "EXPIRED"
    if over:
        _let_in(model, now)


def _let_in(model: Model, now: int) -> None:
    """Whoever has nobody before him that he overlaps with has his turn."""
    ahead = [held.scope for held in model.held.values() if held.status == ACTIVE]
    line = sorted((held.since, name) for name, held in model.held.items() if held.status == WAITING)
    for _, name in line:
        held = model.held[name]
        if not any(_overlap(held.scope, scope) for scope in ahead):
            held.status, held.expires = ACTIVE, max(held.expires, now) + held.ttl
            grant(model, name, now)
        ahead.append(held.scope)


def _overlap(one: str, other: str) -> bool:
    return one == other or "*" in (one, other)
