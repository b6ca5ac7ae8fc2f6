"""Webhooks: the URLs that are told of events. The secret is shown when one is created, and signs deliveries here."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import Millis, RunId
from holdfast.core.messages.webhooks import CreatedWebhook, NewWebhook, Outgoing, Webhook, WebhookChanges
from holdfast.core.rules import rule
from holdfast.core.settings import rule_table
from holdfast.core.settings.rule_table import RULES
from holdfast.core.values.event import shape_of
from holdfast.core.webhooks.webhook import (
    ROTATION_MS,
    WEBHOOK,
    WEBHOOK_QUEUE,
    Delivery,
    body_of,
    headers_of,
    name_for,
    read_url,
)
from holdfast.decoding import decode
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import register_pattern
from holdfast.store.scripts.jobs import cancel
from holdfast.store.scripts.webhooks import webhook_rows
from holdfast.store.scripts.webhooks.webhook_rows import WebhookRow
from holdfast.store.statements import sql

PAUSED = "paused"
MOST_CANCELLED = 1_000


class OpenRun(Struct, frozen=True):
    """The open run of a delivery."""

    params_snapshot: str
    attempt: int


def put_webhook(tx: Tx, webhook: NewWebhook, now: Millis, repeated: bool = False) -> CreatedWebhook:
    """Store a webhook: events that match one of its patterns are sent to its URL from now on."""
    read_url(webhook.url)
    patterns = _checked(webhook.patterns)
    known = tx.one(sql.webhook_by_id, WebhookRow, id=webhook.id)
    if known is not None and not repeated:
        raise Conflict(
            f"there is a webhook {webhook.id} already; if this is a repeat, say so, otherwise make another id"
        )
    if known is not None:
        return CreatedWebhook(known.to_webhook(), known.secret if webhook.secret == known.secret else None)
    secret = (
        make_secret() if webhook.secret is None else rule_table.check("NewWebhook.secret", webhook.secret, "secret")
    )
    tx.run(
        sql.insert_webhook,
        id=webhook.id,
        name=_free_name(tx, webhook.url) if webhook.name is None else _unused(tx, webhook.name),
        url=webhook.url,
        secret=secret,
        patterns=msgspec.json.encode(patterns).decode(),
        timeout_ms=webhook.timeout_ms,
        now=now,
    )
    _listen(tx, webhook.id, patterns)
    return CreatedWebhook(find_webhook(tx, webhook.id), secret)


def edit_webhook(tx: Tx, ref: str, changes: WebhookChanges, now: Millis) -> Webhook:
    """Change a webhook. After a new secret, the one before signs beside it for a day."""
    row = webhook_rows.find_row(tx, ref)
    patterns = row.wanted if changes.patterns is None else _checked(changes.patterns)
    if changes.url is not None:
        read_url(changes.url)
    secret, previous, until = row.secret, row.previous_secret, row.previous_until
    if changes.secret is not None and rule_table.check("NewWebhook.secret", changes.secret, "secret") != secret:
        secret, previous, until = changes.secret, secret, now + ROTATION_MS
    tx.run(
        sql.edit_webhook,
        id=row.id,
        name=row.name if changes.name in (None, row.name) else _unused(tx, changes.name or ""),
        url=row.url if changes.url is None else changes.url,
        secret=secret,
        previous_secret=previous,
        previous_until=until,
        patterns=msgspec.json.encode(patterns).decode(),
        timeout_ms=row.timeout_ms if changes.timeout_ms is None else changes.timeout_ms,
        now=now,
    )
    if row.is_enabled:
        _listen(tx, row.id, patterns)
    return find_webhook(tx, row.id)


def find_webhook(tx: Tx, ref: str) -> Webhook:
    """The webhook with this name or id, or NotFound."""
    return webhook_rows.find_row(tx, ref).to_webhook()


def list_webhooks(tx: Tx, limit: int = 1_000) -> list[Webhook]:
    """Webhooks by name."""
    return [row.to_webhook() for row in tx.all(sql.list_webhooks, WebhookRow, limit=limit)]


def pause_webhook(tx: Tx, ref: str, now: Millis, reason: str | None = None) -> Webhook:
    """Send nothing to a webhook. Events meanwhile are not sent. Deliveries on their way fail, and are listed."""
    return _disable(tx, webhook_rows.find_row(tx, ref), reason or PAUSED, now)


def resume_webhook(tx: Tx, ref: str, now: Millis) -> Webhook:
    """Send events to a webhook again."""
    row = webhook_rows.find_row(tx, ref)
    if not row.is_enabled:
        tx.run(sql.set_webhook_enabled, id=row.id, is_enabled=1, reason=None, now=now)
        _listen(tx, row.id, row.wanted)
    return find_webhook(tx, row.id)


def delete_webhook(tx: Tx, ref: str, now: Millis) -> Webhook:
    """Remove a webhook with the list of its deliveries. Those on their way are cancelled."""
    row = webhook_rows.find_row(tx, ref)
    # First, so that the events of the cancelled deliveries are not sent to it.
    tx.run(sql.delete_patterns_of_owner, owner=row.id)
    # If there are very many, the others end by themselves, as their webhook is gone.
    for job in tx.rows(sql.live_deliveries, webhook_id=row.id, limit=MOST_CANCELLED):
        cancel.cancel_job(tx, job["id"], now, f"webhook {row.name} was deleted")
    tx.run(sql.delete_webhook, id=row.id)
    return row.to_webhook()


def request_of_run(tx: Tx, run_id: RunId, now: Millis) -> Outgoing:
    """What the open run of a delivery sends, and where. It is signed here, so that the secrets stay here."""
    delivery, attempt, row = _of_run(tx, run_id)
    if not row.is_enabled:
        raise Conflict(f"webhook {row.name!r} is disabled ({row.disabled_reason})")
    secrets = [row.secret]
    if row.previous_secret is not None and now < (row.previous_until or 0):
        secrets.append(row.previous_secret)
    body = body_of(delivery, attempt)
    return Outgoing(row.url, headers_of(delivery, secrets, body, now), body.decode(), row.timeout_ms)


def note_gone(tx: Tx, run_id: RunId, now: Millis, url: str | None = None) -> Webhook:
    """Pause a webhook whose receiver has told a delivery that it is gone for good.

    `url` is where it was sent. If the webhook has another URL by now, it goes on.
    """
    _, _, row = _of_run(tx, run_id)
    if url not in (None, row.url):
        return row.to_webhook()
    return _disable(tx, row, "its receiver answered 410 Gone", now) if row.is_enabled else row.to_webhook()


def make_secret() -> str:
    """A random secret."""
    from secrets import token_urlsafe  # Few callers need it.

    return f"whsec_{token_urlsafe(32)}"


def _of_run(tx: Tx, run_id: RunId) -> tuple[Delivery, int, WebhookRow]:
    run = tx.one(sql.payload_of_open_run, OpenRun, run_id=run_id, task=WEBHOOK, queue=WEBHOOK_QUEUE)
    if run is None:
        raise NotFound(f"run {run_id!r} is not the open run of a delivery")
    try:
        delivery = decode(run.params_snapshot, Delivery)
    except msgspec.MsgspecError:
        raise NotFound(f"the job of run {run_id!r} is no delivery of ours") from None
    row = tx.one(sql.webhook_by_id, WebhookRow, id=delivery.webhook_id)
    if row is None:
        raise NotFound(f"there is no webhook {delivery.webhook_id!r} any more")
    return delivery, run.attempt, row


def _disable(tx: Tx, row: WebhookRow, reason: str, now: Millis) -> Webhook:
    tx.run(sql.set_webhook_enabled, id=row.id, is_enabled=0, reason=reason, now=now)
    # Events that nothing else waits for need not be stored meanwhile.
    tx.run(sql.delete_patterns_of_owner, owner=row.id)
    return find_webhook(tx, row.id)


def _listen(tx: Tx, webhook_id: str, patterns: tuple[str, ...]) -> None:
    tx.run(sql.delete_patterns_of_owner, owner=webhook_id)
    for pattern in patterns:
        register_pattern(tx, shape_of(pattern, ()), webhook_id)


def _checked(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(rule.check_all(RULES["patterns"], "patterns", patterns))))


def _free_name(tx: Tx, url: str) -> str:
    base = name = name_for(url)
    number = 1
    while tx.one(sql.webhook_by_name, WebhookRow, name=name) is not None:
        number += 1
        name = f"{base}-{number}"
    return name


def _unused(tx: Tx, name: str) -> str:
    if tx.one(sql.webhook_by_name, WebhookRow, name=name) is not None:
        raise Conflict(f"there is a webhook {name!r} already; give this one another name, or change that one")
    return name
