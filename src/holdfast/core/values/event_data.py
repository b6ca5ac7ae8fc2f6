"""The data of an event: any JSON, not too large and not too deep."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.rules import limits

LONGEST_DATA = 64 << 10
_NONE = b"null"


def encode_data(value: object, what: str = "data") -> Raw:
    """A value of a program as JSON, or InvalidInput."""
    try:
        encoded = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        hint = "give texts, numbers, lists and dicts"
        raise InvalidInput(f"{what} {limits.shown(value)} is not JSON ({error}); {hint}") from None
    _check(encoded, what)
    return Raw(encoded)


def read_data(text: str, what: str) -> Any:
    """The value of JSON that a person wrote, or InvalidInput."""
    encoded = text.encode("utf-8", "surrogateescape")
    _check(encoded, what)
    try:
        return msgspec.json.decode(encoded)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} {limits.shown(text)} is not JSON ({error}); quote texts, as in '\"red\"'") from None


def stored_data(value: object) -> str | None:
    """The data as they are stored. None: there are none."""
    encoded = bytes(encode_data(value))
    return None if encoded == _NONE else encoded.decode()


def _check(encoded: bytes, what: str) -> None:
    try:
        limits.check_payload(encoded, what, LONGEST_DATA)
    except InvalidPayload as error:
        raise InvalidInput(str(error)) from None
