"""Reading JSON into structs, from any thread.

msgspec makes a struct ready for reading at its first use. If two threads do that at once, one of them finds it half
ready, and the process crashes. So it is done here, by one thread at a time, and not during a fork.
"""

from __future__ import annotations

import os
import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_making = threading.RLock()


def new_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """A decoder of a type that nobody else asks for."""
    with _making:
        return msgspec.json.Decoder(kind)


def decode(text: str | bytes, kind: type[T]) -> T:
    """Read JSON into a struct, or a list of such."""
    value: T = _decoder_of(kind).decode(text)
    return value


def convert(value: Any, kind: type[T], *, strict: bool = True) -> T:
    """Make a struct of plain values."""
    _decoder_of(kind)
    return msgspec.convert(value, kind, strict=strict)


def _decoder_of(kind: Any) -> msgspec.json.Decoder[Any]:
    found = _decoders.get(kind)
    if found is None:
        found = _decoders[kind] = new_decoder(kind)
    return found


def _start_anew() -> None:
    """In a forked child, which has none of the other threads."""
    global _making
    _making = threading.RLock()


# The lock is taken last: `store.forks` registers later, so it first waits for threads that may need the lock.
os.register_at_fork(
    before=lambda: _making.acquire(), after_in_parent=lambda: _making.release(), after_in_child=_start_anew
)
