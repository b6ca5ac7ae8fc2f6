"""What a name, a number, a moment or a payload may be. Bad input is refused here, before anything is stored."""

from __future__ import annotations

import re

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.job import Millis
from holdfast.core.timing import FAR_FUTURE, LONGEST

MAX_NAME = 200
MAX_SUBJECT = 1_000
MAX_PAYLOAD = 1 << 20
MAX_DEPTH = 32
MAX_INT = 2**63 - 1
MAX_PRIORITY = 1_000_000

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/<>-]*", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
# A string is read once, whether it is closed or not.
_BRACKETS = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|[\[{]|[\]}]', re.DOTALL)


def check_name(what: str, value: object) -> str:
    """A queue's or task's name: letters, digits and `_ . : / < > -`."""
    if not isinstance(value, str) or len(value) > MAX_NAME or not _NAME.fullmatch(value):
        raise InvalidInput(
            f"{what} {shown(value)} is not a valid name: use 1 to {MAX_NAME} letters, digits and _ . : / -"
        )
    return value


def check_label(what: str, value: object, longest: int = MAX_NAME) -> str:
    """A tag, subject or key: any text without control characters."""
    if not isinstance(value, str) or not value or len(value) > longest or _CONTROL.search(value):
        raise InvalidInput(
            f"{what} {shown(value)} is not valid: use 1 to {longest} characters without control characters"
        )
    return value


def check_int(what: str, value: object, low: int, high: int) -> int:
    """A whole number within bounds; True and False are not numbers here."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidInput(f"{what} {shown(value)} is not valid: use a whole number from {low} to {high}")
    return value


def check_moment(what: str, value: Millis) -> Millis:
    """A point in time between the epoch and the end of the year 9999."""
    if not 0 <= value <= FAR_FUTURE:
        raise InvalidInput(f"{what} is out of range ({value} ms): use a moment between 1970 and 9999")
    return value


def check_duration(what: str, value: Millis) -> Millis:
    """A length of time from nothing to a hundred years."""
    if not 0 <= value <= LONGEST:
        raise InvalidInput(f"{what} is out of range ({value} ms): use a duration from 0 to 100 years")
    return value


def check_payload(encoded: bytes, what: str, limit: int = MAX_PAYLOAD) -> None:
    """Size and depth of a JSON document."""
    if len(encoded) > limit:
        raise InvalidPayload(
            f"{what} is {len(encoded)} bytes of JSON; the limit is {limit}. Store big data elsewhere, pass a reference"
        )
    if len(encoded) > MAX_DEPTH and encoded.count(b"[") + encoded.count(b"{") > MAX_DEPTH < _depth(encoded):
        raise InvalidPayload(f"{what} is nested deeper than {MAX_DEPTH} levels; flatten it")


def _depth(encoded: bytes) -> int:
    deepest = depth = 0
    for match in _BRACKETS.finditer(encoded):
        first = match.group()[0]
        if first in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first in b"]}":
            depth -= 1
    return deepest


def shown(value: object) -> str:
    """A value as an error message shows it: quoted and cut."""
    try:
        text = repr(value)
    except Exception:
        # Too deep, too many digits, or a __repr__ of the user's that fails: the message must come through all the same.
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= 80 else f"{text[:77]}…"
