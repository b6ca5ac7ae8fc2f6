"""Which run the calling code belongs to, if it is a function or coroutine inside a worker."""

from __future__ import annotations

from contextvars import ContextVar, Token

from holdfast.core.jobs.requests import Claimed

_current: ContextVar[Claimed | None] = ContextVar("holdfast_run", default=None)


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
