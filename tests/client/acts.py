"""What the tests of the embedded surface do again and again."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from holdfast import Holdfast, HoldfastError
from holdfast.store.statements import Dialect

WAIT = 60.0
"""Seconds until a test that hangs is given up; none that passes waits so long."""

both_engines = pytest.mark.parametrize(
    "database", [Dialect.SQLITE, pytest.param(Dialect.POSTGRES, marks=pytest.mark.on_postgres)], indirect=True
)
"""For what is told, waited for, stopped or forked, which the engines do each in its own way."""


class Gate:
    """A gate that tasks wait at until the test opens it. In a coroutine: `await gate.apass_through()`."""

    def __init__(self) -> None:
        self._reached = threading.Semaphore(0)
        self._opened = threading.Event()

    def pass_through(self) -> None:
        """Say that a task is here, and wait."""
        self._reached.release()
        assert self._opened.wait(WAIT)

    async def apass_through(self) -> None:
        """The awaitable twin of `pass_through`."""
        self._reached.release()
        assert await asyncio.to_thread(self._opened.wait, WAIT)

    def await_arrival(self, tasks: int = 1) -> None:
        """Wait until so many more tasks are here."""
        for _ in range(tasks):
            assert self._reached.acquire(timeout=WAIT)

    def open(self) -> None:
        """Let everybody through, now and later."""
        self._opened.set()


class Crowd:
    """Counts who is inside, and how many there were at most."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self.most = 0

    @contextmanager
    def inside(self) -> Iterator[None]:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1


def wait_until(is_true: Callable[[], bool]) -> bool:
    """Ask again and again, for what has no event of its own. False after too long."""
    until, pause = time.monotonic() + WAIT, threading.Event()
    while not is_true():
        if time.monotonic() > until:
            return False
        pause.wait(0.005)
    return True


@contextmanager
def refused(hf: Holdfast, error: type[HoldfastError], match: str) -> Iterator[None]:
    """What happens inside is refused with a message like `match`, and the database stays empty."""
    with pytest.raises(error, match=match):
        yield
    assert hf.jobs().jobs == []
