"""Limits of lengths, sizes and numbers, and how a value looks in an error message. `rules` says what has which."""

from __future__ import annotations

import re
from enum import StrEnum

from holdfast.core.errors import InvalidPayload

MAX_NAME = 200
MAX_SUBJECT = 1_000
MAX_PAYLOAD = 1 << 20
MAX_DEPTH = 32
MAX_INT = 2**63 - 1
MAX_PRIORITY = 1_000_000
LONGEST_REASON = 1_000
# Variables of a job. Linux takes no longer ones.
MOST_VARIABLES = 1_000
LONGEST_VARIABLE = 255
LONGEST_VARIABLE_VALUE = 1 << 17
MOST_PER_PAGE = 1_000
MOST_PER_ACTION = 10_000
# Tasks and schedules.
MAX_DOC = 200
MAX_JITTER = 86_400_000
LONGEST_GRACE_S = 3_600
LONGEST_EXPRESSION = 200
# Queues.
MOST_STARTS = 1_000_000
LONGEST_WINDOW = 366 * 86_400_000
MOST_FAILURES = 1_000
LONGEST_OPEN_MS = 366 * 86_400_000
LONGEST_SCHEMA = 54  # PostgreSQL's names have 63 bytes, and the channel `holdfast_<schema>` is one
# Events and webhooks.
MOST_ATTRIBUTES = 32
LONGEST_ATTRIBUTE = 60
LONGEST_VALUE = 1_000
MOST_PATTERNS = 100
LONGEST_TIMEOUT_MS = 300_000
LONGEST_URL = 2_000
SHORTEST_SECRET, LONGEST_SECRET = 16, 200
# Watches.
MOST_GLOBS = 1_000
LONGEST_GLOB = 1_000
LONGEST_PATH = 4_096
MOST_WATCH_JOBS = 10_000
MOST_CHANGED = 10_000  # files of one job

# A string is read once, even if it is not closed.
_BRACKETS = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|[\[{]|[\]}]', re.DOTALL)


def check_payload(encoded: bytes, what: str, limit: int = MAX_PAYLOAD) -> None:
    """Refuse a JSON document that is too large or too deep."""
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
        text = repr(value.value if isinstance(value, StrEnum) else value)
    except Exception:
        # It is too deep, has too many digits, or a `__repr__` that fails. The message must come through all the same.
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= 80 else f"{text[:77]}…"
