"""A payload as it comes from a caller: JSON, an object, not too large and not too deep.

No message has a value of it in it, because that may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.core.errors import InvalidPayload
from holdfast.core.rules import limits

PAYLOAD = "the payload"


def read_payload(encoded: bytes, what: str = PAYLOAD) -> Mapping[str, Any]:
    """The arguments that stand in a JSON object, or InvalidPayload."""
    limits.check_payload(encoded, what)
    try:
        found = msgspec.json.decode(encoded)
    except (ValueError, RecursionError) as error:
        raise InvalidPayload(f"{what} is not JSON: {error}") from None
    return check_arguments(found, what)


def check_arguments(found: object, what: str = PAYLOAD) -> Mapping[str, Any]:
    """Arguments by name, or InvalidPayload."""
    if not isinstance(found, Mapping):
        raise InvalidPayload(f"{what} is not a JSON object: give the task's arguments by name")
    return found
