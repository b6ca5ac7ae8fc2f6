"""Webhooks, and what was delivered to them."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import JobId, Millis


class NewWebhook(Struct, frozen=True, kw_only=True):
    """A webhook to be stored. Without a name it is called like its host; without a secret one is made."""

    id: str
    url: str
    patterns: tuple[str, ...]
    name: str | None = None
    secret: str | None = None
    timeout_ms: Millis | None = None

    def __repr__(self) -> str:
        return f"<NewWebhook {self.id}>"  # A secret belongs in no log.


class WebhookChanges(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be different about a webhook; None leaves it as it is."""

    name: str | None = None
    url: str | None = None
    patterns: tuple[str, ...] | None = None
    secret: str | None = None
    timeout_ms: Millis | None = None

    def __repr__(self) -> str:
        return "<WebhookChanges>"


class Webhook(Struct, frozen=True, kw_only=True):
    """A webhook as it stands in the store, without its secret.

    Until `rotating_until` deliveries are signed with the secret before as well.
    """

    id: str
    name: str
    url: str
    patterns: tuple[str, ...]
    is_enabled: bool
    disabled_reason: str | None
    timeout_ms: Millis | None
    rotating_until: Millis | None
    created_at: Millis
    updated_at: Millis


class CreatedWebhook(Struct, frozen=True):
    """A webhook that has just been stored, and its secret, which is not shown again.

    A repeat of the call gets the secret only if it sends the same one.
    """

    webhook: Webhook
    secret: str | None

    def __repr__(self) -> str:
        return f"<CreatedWebhook {self.webhook.name}>"


class DeliveryView(Struct, frozen=True):
    """A delivery, and how its job stands. `error` is what the last run of the job said."""

    id: str
    webhook_id: str
    event_id: str
    event_name: str
    created_at: Millis
    job_id: JobId
    job_number: int
    state: str
    attempts: int
    finished_at: Millis | None
    scheduled_at: Millis | None
    error_code: str | None
    error: str | None


class DeliveryPage(Struct, frozen=True):
    """Some deliveries, newest first, and the cursor of the next page if there is one."""

    deliveries: list[DeliveryView]
    cursor: str | None


class Outgoing(Struct, frozen=True):
    """One try at a delivery, ready to be sent: where it goes, and what, signed."""

    url: str
    headers: dict[str, str]
    body: str
    timeout_ms: Millis | None
