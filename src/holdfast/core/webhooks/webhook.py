"""Webhooks: their URLs, how their deliveries are retried, and how they are signed."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.job import Millis
from holdfast.core.rules import limits
from holdfast.core.rules.limits import MAX_NAME
from holdfast.core.rules.value_rules import LABEL
from holdfast.core.settings import rule_table
from holdfast.core.values.event import ABOUT_RUN, ABOUT_WEBHOOK, Event
from holdfast.core.values.retry import RetryPolicy
from holdfast.core.webhooks import addresses
from holdfast.core.webhooks.addresses import AddressPolicy

WEBHOOK = "holdfast.webhook"  # the task that delivers
WEBHOOK_QUEUE = "holdfast.webhooks"
TEST_EVENT = f"{ABOUT_WEBHOOK}test"
SCHEDULE = RetryPolicy(retries=3, initial_ms=5_000, factor=3.0)  # 5, 15 and 45 s after a failure
ROTATION_MS: Millis = 86_400_000  # how long the old secret signs too after a new one
TIMEOUT_MS: Millis = 10_000
RECEIVERS = 8  # each may have this part of the slots, so that so many must hang before others have none
TIMESTAMP, SIGNATURE = "Holdfast-Timestamp", "Holdfast-Signature"

_UNFIT = re.compile(r"[^\x21-\x7e]")
_NAMES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class Target(Struct, frozen=True):
    """The parts of a URL."""

    is_secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The host and port as a request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_secure else 80) else f"{host}:{self.port}"


class Delivery(Struct, frozen=True, omit_defaults=True):
    """What is delivered: the payload of the job that delivers it. The secret is not in it."""

    webhook_id: str
    delivery_id: str
    event_id: str
    event_name: str
    emitted_at: Millis
    attributes: dict[str, str]
    key: str
    data: Any = None


def read_url(url: str) -> Target:
    """The parts of the URL of a webhook. InvalidInput says what is wrong with it."""
    return _target(rule_table.check("NewWebhook.url", url, "url"))


def flaw_of_url(url: str) -> str | None:
    """Why webhooks cannot be sent to a URL. None if they can."""
    try:
        _target(url)
    except ValueError as error:
        return str(error)
    return None


def _target(url: str) -> Target:
    parts = urlsplit(url)
    port = parts.port
    if parts.scheme not in ("http", "https"):
        raise ValueError("it begins otherwise")
    if parts.username is not None or parts.password is not None:
        raise ValueError("all who list webhooks could read the user name and the password in it")
    if not parts.hostname or port == 0:
        raise ValueError("it names no host, or port 0")
    is_secure = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(is_secure, addresses.check_host(parts.hostname), port or (443 if is_secure else 80), path)


def check_target(url: str, policy: AddressPolicy) -> None:
    """Refuse a URL that can never be delivered to. The addresses of a name are checked when it is resolved."""
    host = read_url(url).host
    refusal = policy.refusal_of_host(host)
    if refusal is not None:
        raise InvalidInput(
            f"webhooks may not be sent to {host}: the address is {refusal}. If that is what you want, allow it "
            "in the settings: allow in the section [webhooks], or HOLDFAST_WEBHOOK_ALLOW for a program without a daemon"
        )


def name_for(url: str) -> str:
    """The name of a webhook that was given none: its host."""
    host = read_url(url).host
    return host[:100] if _NAMES.fullmatch(host) else "webhook"


def receiver_of(url: str) -> str:
    """The tenant of the deliveries to one receiver, which is one host and port."""
    target = read_url(url)
    name = f"webhook::{target.host}:{target.port}"
    return name if len(name) <= MAX_NAME else f"webhook::{hashlib.sha256(name.encode()).hexdigest()}"


def share_of_receiver(slots: int) -> int:
    """How many of so many slots the deliveries to one receiver may have."""
    return -(-slots // RECEIVERS)


def key_of(event: Event) -> str:
    """The idempotency key for a receiver: the run that the event is about, or the event itself."""
    if event.name.startswith(ABOUT_RUN):
        run_id = event.attributes.get("run_id", "")
        if run_id and len(run_id) <= MAX_NAME and not _UNFIT.search(run_id):
            return run_id
    return LABEL.check("event", event.id)


def body_of(delivery: Delivery, attempt: int) -> bytes:
    """The body of a delivery, at this try."""
    at = datetime.fromtimestamp(delivery.emitted_at / 1000, UTC)
    return msgspec.json.encode(
        {
            "id": delivery.event_id,
            "type": delivery.event_name,
            "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "attributes": delivery.attributes,
            "data": delivery.data,
            "delivery": delivery.delivery_id,
            "attempt": attempt,
        }
    )


def headers_of(delivery: Delivery, secrets: Iterable[str], body: bytes, now: Millis) -> dict[str, str]:
    """The headers of a delivery. The moment of sending is signed too, so that it cannot be sent again later."""
    timestamp = str(now // 1000)
    for value in (delivery.event_name, delivery.delivery_id, delivery.key):
        if not (value.isascii() and value.isprintable()):
            raise InvalidPayload(
                f"{limits.shown(value)} cannot stand in the head of a request; this is no delivery of ours"
            )
    return {
        "Content-Type": "application/json",
        "Holdfast-Event": delivery.event_name,
        "Holdfast-Delivery": delivery.delivery_id,
        "Idempotency-Key": delivery.key,
        TIMESTAMP: timestamp,
        SIGNATURE: ",".join(sign(secret, timestamp, body) for secret in secrets),
    }


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """The signature of a body sent at a moment."""
    return "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def is_signed(secret: str, timestamp: str, body: bytes, signatures: str) -> bool:
    """Whether one of the signatures, which commas separate, is that of the secret."""
    wanted = sign(secret, timestamp, body).encode()
    # Bytes of a header that are no text are no signature.
    given = (one.strip().encode("utf-8", "replace") for one in signatures.split(","))
    return any(hmac.compare_digest(wanted, one) for one in given)
