"""Which run the calling code belongs to, where that is a function or coroutine inside a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from holdfast.core.requests import Claimed

_current: ContextVar[Claimed | None] = ContextVar("holdfast_run", default=None)


def current_run() -> Claimed | None:
    """The run that the caller is part of; None outside, and in a process of a run's own."""
    return _current.get()


@contextmanager
def inside(run: Claimed) -> Iterator[None]:
    """What happens within belongs to this run."""
    token = _current.set(run)
    try:
        yield
    finally:
        _current.reset(token)
