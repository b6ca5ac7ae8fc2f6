"""Webhooks: what one may be, how its deliveries are tried again, and how they are signed."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from holdfast.core.addresses import AddressPolicy, check_host
from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.event import ABOUT_RUN, ABOUT_WEBHOOK, Event
from holdfast.core.job import Millis
from holdfast.core.limits import MAX_NAME, check_label, shown
from holdfast.core.retry import RetryPolicy

WEBHOOK = "holdfast.webhook"  # the task that delivers
WEBHOOK_QUEUE = "holdfast.webhooks"
TEST_EVENT = f"{ABOUT_WEBHOOK}test"
SCHEDULE = RetryPolicy(retries=3, initial_ms=5_000, factor=3.0)  # 5, 15 and 45 s after a failure
ROTATION_MS: Millis = 86_400_000  # how long the secret before a new one signs beside it
TIMEOUT_MS: Millis = 10_000
LONGEST_TIMEOUT_MS: Millis = 300_000
LONGEST_URL = 2_000
SHORTEST_SECRET, LONGEST_SECRET = 16, 200
MOST_PATTERNS = 100
RECEIVERS = 8  # each may have this part of the slots: so many must hang before the others have none
TIMESTAMP, SIGNATURE = "Holdfast-Timestamp", "Holdfast-Signature"

_UNFIT = re.compile(r"[^\x21-\x7e]")
_NAMES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class Target(Struct, frozen=True):
    """Where a URL leads."""

    is_secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The host as a request names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_secure else 80) else f"{host}:{self.port}"


class Delivery(Struct, frozen=True):
    """What is delivered: the payload of the job that delivers it. The secret is not in it."""

    webhook_id: str
    delivery_id: str
    event_id: str
    event_name: str
    emitted_at: Millis
    attributes: dict[str, str]
    key: str


def read_url(url: object) -> Target:
    """Where a webhook's URL leads; InvalidInput says what is wrong with it."""
    if not isinstance(url, str) or len(url) > LONGEST_URL:
        raise InvalidInput(f"url {shown(url)} is not valid: use a text of at most {LONGEST_URL} characters")
    if _UNFIT.search(url):
        raise InvalidInput(f"url {shown(url)} holds a space, a control character or a letter beyond ASCII: encode it")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput(f"url {shown(url)} is not valid: {error}") from None
    if parts.scheme not in ("http", "https"):
        raise InvalidInput(f"url {shown(url)} is not valid: it must begin with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("a url with a user name or a password is not valid: whoever lists webhooks would read it")
    if not parts.hostname or port == 0:
        raise InvalidInput(f"url {shown(url)} is not valid: it names no host, or port 0")
    is_secure = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(is_secure, check_host(parts.hostname), port or (443 if is_secure else 80), path)


def check_target(url: object, policy: AddressPolicy) -> None:
    """Refuse a URL that can never be delivered to; what a name leads to shows only when it is resolved."""
    host = read_url(url).host
    refusal = policy.refusal_of_host(host)
    if refusal is not None:
        raise InvalidInput(
            f"webhooks may not be sent to {host}: the address is {refusal}. If that is what you want, allow it "
            "in the settings: allow in the section [webhooks], or HOLDFAST_WEBHOOK_ALLOW for a program without a daemon"
        )


def check_secret(value: object) -> str:
    """A secret to sign with. What was given is not repeated in the message."""
    if not isinstance(value, str) or not SHORTEST_SECRET <= len(value) <= LONGEST_SECRET or _UNFIT.search(value):
        raise InvalidInput(
            f"the secret is not valid: use {SHORTEST_SECRET} to {LONGEST_SECRET} letters, digits and signs, no spaces"
        )
    return value


def name_for(url: str) -> str:
    """What a webhook is called if nobody says: like its host."""
    host = read_url(url).host
    return host[:100] if _NAMES.fullmatch(host) else "webhook"


def receiver_of(url: str) -> str:
    """The tenant of all that is delivered to one receiver: one host, one port."""
    target = read_url(url)
    name = f"webhook::{target.host}:{target.port}"
    return name if len(name) <= MAX_NAME else f"webhook::{hashlib.sha256(name.encode()).hexdigest()}"


def share_of_receiver(slots: int) -> int:
    """How many of so many slots the deliveries to one receiver may have."""
    return -(-slots // RECEIVERS)


def key_of(event: Event) -> str:
    """By what a receiver knows that it has seen this already: the run that it is about, or the event itself."""
    if event.name.startswith(ABOUT_RUN):
        run_id = event.attributes.get("run_id", "")
        if run_id and len(run_id) <= MAX_NAME and not _UNFIT.search(run_id):
            return run_id
    return check_label("event", event.id)


def body_of(delivery: Delivery, attempt: int) -> bytes:
    """What is sent at a try."""
    at = datetime.fromtimestamp(delivery.emitted_at / 1000, UTC)
    return msgspec.json.encode(
        {
            "id": delivery.event_id,
            "type": delivery.event_name,
            "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "attributes": delivery.attributes,
            "delivery": delivery.delivery_id,
            "attempt": attempt,
        }
    )


def headers_of(delivery: Delivery, secrets: Iterable[str], body: bytes, now: Millis) -> dict[str, str]:
    """What is said about it; the moment of sending is signed with it, so that nobody can send it again later."""
    timestamp = str(now // 1000)
    for value in (delivery.event_name, delivery.delivery_id, delivery.key):
        if not (value.isascii() and value.isprintable()):
            raise InvalidPayload(f"{shown(value)} cannot stand in the head of a request; this is no delivery of ours")
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
    # What is no text at all in a header is no signature either.
    given = (one.strip().encode("utf-8", "replace") for one in signatures.split(","))
    return any(hmac.compare_digest(wanted, one) for one in given)
