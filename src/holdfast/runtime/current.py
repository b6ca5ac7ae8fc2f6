"""Which run, or which call of a handler of an app, the calling code belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token

from holdfast.core.apps.call import HandlerCall
from holdfast.core.jobs.requests import Claimed

_current: ContextVar[Claimed | None] = ContextVar("holdfast_run", default=None)
_call: ContextVar[HandlerCall | None] = ContextVar("holdfast_call", default=None)


def current_run() -> Claimed | None:
    """The run of the caller. None outside of runs, and in the process of a run that has one."""
    return _current.get()


class inside:  # Read as `with inside(run):`.
    """The code in the block belongs to this run. A class, because it is faster than a generator."""

    __slots__ = ("_run", "_token")

    def __init__(self, run: Claimed) -> None:
        self._run = run
        self._token: Token[Claimed | None] | None = None

    def __enter__(self) -> None:
        self._token = _current.set(self._run)

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _current.reset(self._token)


def current_call() -> HandlerCall | None:
    """The call of a handler of an app that the caller belongs to. None outside of handlers."""
    return _call.get()


@contextmanager
def calling(call: HandlerCall) -> Iterator[None]:
    """The code in the block belongs to this call."""
    token = _call.set(call)
    try:
        yield
    finally:
        _call.reset(token)
