"""Deliveries of webhooks. Each is a job, and how it went is read from that job."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import TERMINAL, JobId, Millis
from holdfast.core.jobs.requests import NewJob
from holdfast.core.jobs.trigger import again, by_webhook
from holdfast.core.messages.webhooks import DeliveryPage, DeliveryView
from holdfast.core.rules.timing import FAR_FUTURE
from holdfast.core.values.event import Event
from holdfast.core.webhooks.webhook import SCHEDULE, TEST_EVENT, WEBHOOK, WEBHOOK_QUEUE, Delivery, key_of, receiver_of
from holdfast.store.engine import Tx
from holdfast.store.scripts.jobs import enqueue
from holdfast.store.scripts.reading.read_jobs import find_row as find_job_row
from holdfast.store.scripts.webhooks import webhook_rows
from holdfast.store.scripts.webhooks.webhook_rows import WebhookRow
from holdfast.store.statements import sql

BEHIND = "\U0010ffff"  # behind every id
MOST_AT_ONCE = 1_000


def deliver(tx: Tx, event: Event, webhook_ids: Iterable[str], now: Millis) -> list[JobId]:
    """Store a job for each of these webhooks, which tells it about the event."""
    found = (tx.one(sql.webhook_by_id, WebhookRow, id=webhook_id) for webhook_id in webhook_ids)
    return [_send(tx, row, event, now).job_id for row in found if row is not None and row.is_enabled]


def list_deliveries(tx: Tx, ref: str, failed: bool = False, limit: int = 50, cursor: str | None = None) -> DeliveryPage:
    """A page of the deliveries of a webhook, newest first: all of them, or those that failed for good."""
    row = webhook_rows.find_row(tx, ref)
    below = None if cursor is None else _find(tx, row, cursor)
    found = tx.all(
        sql.list_deliveries,
        DeliveryView,
        webhook_id=row.id,
        failed=int(failed),
        below_moment=FAR_FUTURE if below is None else below.created_at,
        below_id=BEHIND if below is None else below.id,
        limit=limit + 1,
    )
    return DeliveryPage(found[:limit], found[limit - 1].id if len(found) > limit else None)


def redeliver(
    tx: Tx, ref: str, now: Millis, delivery_id: str | None = None, trigger: str | None = None
) -> list[DeliveryView]:
    """Send a delivery of a webhook again, or the latest of those that failed for good, at most 1000 at once."""
    row = _enabled(tx, ref)
    if delivery_id is None:
        chosen = list_deliveries(tx, row.id, failed=True, limit=MOST_AT_ONCE).deliveries
    else:
        chosen = [_find(tx, row, delivery_id)]
    for view in chosen:
        if view.state not in TERMINAL:
            raise Conflict(f"delivery {view.id} is still on its way (job {view.job_number})")
        payload = find_job_row(tx, view.job_id).payload
        tx.run(sql.redirect_delivery, id=view.id, job_id=_enqueue(tx, row, payload, again(view.job_id, trigger), now))
    return [_find(tx, row, view.id) for view in chosen]


def send_test(tx: Tx, ref: str, now: Millis, trigger: str | None = None) -> DeliveryView:
    """Send an event `webhook.test` to a webhook alone."""
    row = _enabled(tx, ref)
    event = Event(id=tx.new_id(), name=TEST_EVENT, attributes={"webhook": row.name}, emitted_at=now)
    return _send(tx, row, event, now, trigger)


def _send(tx: Tx, row: WebhookRow, event: Event, now: Millis, asked: str | None = None) -> DeliveryView:
    delivery = Delivery(
        webhook_id=row.id,
        delivery_id=tx.new_id(),
        event_id=event.id,
        event_name=event.name,
        emitted_at=event.emitted_at,
        attributes=event.attributes,
        key=key_of(event),
        data=event.data,
    )
    trigger = by_webhook(row.id, event.id, asked)
    job_id = _enqueue(tx, row, msgspec.json.encode(delivery).decode(), trigger, now)
    tx.run(
        sql.insert_delivery,
        id=delivery.delivery_id,
        webhook_id=row.id,
        event_id=event.id,
        event_name=event.name,
        job_id=job_id,
        now=now,
    )
    return _find(tx, row, delivery.delivery_id)


def _enqueue(tx: Tx, row: WebhookRow, payload: str, trigger: str, now: Millis) -> JobId:
    job = NewJob(
        id=tx.new_id(),
        task=WEBHOOK,
        queue=WEBHOOK_QUEUE,
        payload=payload,
        tenant=receiver_of(row.url),
        policy=SCHEDULE,
        trigger=trigger,
        complete=True,
    )
    enqueue.take_in(tx, [job], now)
    return job.id


def _enabled(tx: Tx, ref: str) -> WebhookRow:
    row = webhook_rows.find_row(tx, ref)
    if not row.is_enabled:
        raise Conflict(f"webhook {row.name!r} is disabled ({row.disabled_reason}); resume it first")
    return row


def _find(tx: Tx, row: WebhookRow, delivery_id: str) -> DeliveryView:
    found = tx.one(sql.delivery_by_id, DeliveryView, id=delivery_id)
    if found is None or found.webhook_id != row.id:
        raise NotFound(f"webhook {row.name!r} has no delivery {delivery_id!r}; they are kept as long as their jobs")
    return found
