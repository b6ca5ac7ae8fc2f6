"""One call of a handler or a timer: which one it is, and how it ended."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

# The lower bits of the id of a call count the calls of its session; the higher ones are the number of that.
COUNTER_BITS = 32


class CallStatus(StrEnum):
    """How a call ended. `skipped`: a timer was due while its last call still ran."""

    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"


class HandlerCall(Struct, frozen=True):
    """A call of a handler, by the app that it belongs to and its id."""

    app_key: str
    handler: str
    invocation: int


def first_call(session_number: int) -> int:
    """The id of the first call of a session. Those behind it follow by one."""
    return session_number << COUNTER_BITS
