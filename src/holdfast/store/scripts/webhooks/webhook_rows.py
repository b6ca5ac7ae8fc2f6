"""Webhooks as they are asked for, as they are stored and as they are shown."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.errors import NotFound
from holdfast.core.job import Millis
from holdfast.core.messages.webhooks import Webhook
from holdfast.store.engine import Tx
from holdfast.store.statements import sql


class WebhookRow(Struct, frozen=True):
    """A row of `webhooks`."""

    id: str
    name: str
    url: str
    secret: str
    previous_secret: str | None
    previous_until: Millis | None
    patterns: str
    is_enabled: int
    disabled_reason: str | None
    timeout_ms: Millis | None
    created_at: Millis
    updated_at: Millis

    def __repr__(self) -> str:
        return f"<WebhookRow {self.id}>"

    @property
    def wanted(self) -> tuple[str, ...]:
        """The patterns."""
        return msgspec.json.decode(self.patterns, type=tuple[str, ...])

    def to_webhook(self) -> Webhook:
        """The webhook that this row describes."""
        return Webhook(
            id=self.id,
            name=self.name,
            url=self.url,
            patterns=self.wanted,
            is_enabled=bool(self.is_enabled),
            disabled_reason=self.disabled_reason,
            timeout_ms=self.timeout_ms,
            rotating_until=self.previous_until,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )


def find_row(tx: Tx, ref: str) -> WebhookRow:
    """The row of the webhook with this name or id, or NotFound."""
    found = tx.one(sql.webhook_by_name, WebhookRow, name=ref) or tx.one(sql.webhook_by_id, WebhookRow, id=ref)
    if found is None:
        raise NotFound(f"there is no webhook {ref!r}")
    return found
