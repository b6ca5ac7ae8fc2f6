"""For programs that receive webhooks: check that a delivery is really from its sender."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION
from holdfast.core.settings import rule_table
from holdfast.core.webhooks.webhook import SIGNATURE, TIMESTAMP, is_signed

TOLERANCE = timedelta(minutes=5)


def verify_webhook(
    secret: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: Duration = TOLERANCE,
    now: float | None = None,
) -> dict[str, Any]:
    """The event in a delivery, if it is signed with the secret. InvalidInput says why it cannot be trusted.

    `headers` and `body` are those of the request, with the body as bytes. A delivery that was sent longer ago than
    `tolerance` is refused, so that it cannot be sent again later; `now` is the time to compare with, in seconds.

    >>> import hashlib, hmac
    >>> from holdfast import verify_webhook
    >>> body = b'{"type":"job.failed"}'
    >>> signature = hmac.new(b"my-very-own-secret", b"1700000000." + body, hashlib.sha256).hexdigest()
    >>> headers = {"Holdfast-Timestamp": "1700000000", "Holdfast-Signature": f"v1={signature}"}
    >>> verify_webhook("my-very-own-secret", headers, body, now=1700000010)
    {'type': 'job.failed'}
    >>> verify_webhook("another-secret-of-mine", headers, body, now=1700000010)
    Traceback (most recent call last):
    holdfast.core.errors.InvalidInput: the delivery is not signed with this secret
    """
    # With an empty secret, from a missing setting, anyone could sign.
    rule_table.check("NewWebhook.secret", secret, "secret")
    if not isinstance(body, bytes | bytearray | memoryview):
        raise InvalidInput(f"body {limits.shown(body)} is not valid: give the bytes of the request, as they came")
    body = bytes(body)
    given = {str(name).lower(): str(value) for name, value in headers.items()}
    timestamp, signatures = given.get(TIMESTAMP.lower()), given.get(SIGNATURE.lower())
    if timestamp is None or signatures is None:
        raise InvalidInput(f"the delivery is not signed: {TIMESTAMP} or {SIGNATURE} is missing")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 15):
        raise InvalidInput(f"{TIMESTAMP} {limits.shown(timestamp)} is not a moment in seconds")
    if not is_signed(secret, timestamp, body, signatures):
        raise InvalidInput("the delivery is not signed with this secret")
    allowed = DURATION.millis("tolerance", tolerance) / 1000
    apart = abs((time.time() if now is None else now) - int(timestamp))
    if not apart <= allowed:
        raise InvalidInput(f"the delivery was sent {apart:.0f} s from now; {allowed:g} s are allowed")
    try:
        event = msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise InvalidInput("the delivery is signed, but no event")
    return event
