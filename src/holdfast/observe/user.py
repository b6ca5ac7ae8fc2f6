"""The user of the daemon for whom the code works, for its log lines."""

from __future__ import annotations

from contextvars import ContextVar

_current: ContextVar[str | None] = ContextVar("holdfast_user", default=None)


def current() -> str | None:
    """The name of the user, if there is one."""
    return _current.get()


class working_for:
    """What is logged in the block names this user, if there is one."""

    __slots__ = ("_before", "_name")

    def __init__(self, name: str | None) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._before = _current.set(self._name)

    def __exit__(self, *error: object) -> None:
        _current.reset(self._before)
