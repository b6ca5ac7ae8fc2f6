"""Which user of the daemon the code here works for, for the lines that it logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[str | None] = ContextVar("holdfast_user", default=None)


def current() -> str | None:
    """The name of the user, if there is one."""
    return _current.get()


@contextmanager
def working_for(name: str | None) -> Iterator[None]:
    """Within, what is logged names this user, if there is one."""
    before = _current.set(name)
    try:
        yield
    finally:
        _current.reset(before)
