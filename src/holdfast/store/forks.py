"""What happens to open databases when a process forks: the child forgets them and opens its own.

A copy of a connection must not be used, and what a thread was doing during the fork never ends in the child. So a fork
waits until no thread uses a database, and the child drops its copies before anything else.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from types import TracebackType
from typing import Protocol

import holdfast.decoding  # noqa: F401  # It takes its lock after this has waited, so it registers before.

PATIENCE_S = 10.0


class ForgetsAtFork(Protocol):
    """An object that starts anew in a forked child."""

    def forget(self) -> object:
        """Drop all inherited state, and return what must be neither used nor closed in this process."""


class Occupancy:
    """Counts the threads that use a database. A fork waits until there is none, and lets no other one begin."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """No thread uses a database. In a child, the old lock may be held by a thread that the child does not have."""
        self._changed = threading.Condition(threading.Lock())
        self._inside = 0
        self._forks = 0

    def __enter__(self) -> None:
        with self._changed:
            while self._forks:
                self._changed.wait()
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._inside -= 1
            if not self._inside:
                self._changed.notify_all()

    @property
    def is_empty(self) -> bool:
        """Whether no thread uses a database; in a child, whether none did when it was forked."""
        return not self._inside

    @property
    def is_wanted(self) -> bool:
        """Whether a fork waits for threads that use a database."""
        return bool(self._forks)

    def keep_out(self) -> None:
        """Let no thread begin, and wait until the others are done. Wait only for a while, as one may never be."""
        until = time.monotonic() + PATIENCE_S
        with self._changed:
            self._forks += 1
            while self._inside and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)

    def let_in(self) -> None:
        """The fork is over."""
        with self._changed:
            self._forks -= 1
            self._changed.notify_all()


occupancy = Occupancy()
_alive: weakref.WeakSet[ForgetsAtFork] = weakref.WeakSet()
_inherited: list[object] = []


def forget_after_fork(thing: ForgetsAtFork) -> None:
    """Have `thing.forget()` called in every child that is forked from now on."""
    _alive.add(thing)


def _in_child() -> None:
    _inherited.extend(thing.forget() for thing in list(_alive))
    occupancy.start_anew()


os.register_at_fork(before=occupancy.keep_out, after_in_parent=occupancy.let_in, after_in_child=_in_child)
