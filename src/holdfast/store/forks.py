"""What happens to open databases when a process forks: the child forgets them and opens its own.

A connection must be neither used nor closed in a child: closing would speak to the server, or touch the file, in the
parent's name. So the child keeps what it inherited alive and untouched for ever.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forgetful(Protocol):
    """Something that starts anew in a forked child."""

    def forget(self) -> object:
        """Drop all inherited state without closing it, and return it."""


_alive: weakref.WeakSet[Forgetful] = weakref.WeakSet()
_inherited: list[object] = []


def forget_after_fork(thing: Forgetful) -> None:
    """Have `thing.forget()` called in every child that is forked from now on."""
    _alive.add(thing)


def _in_child() -> None:
    _inherited.extend(thing.forget() for thing in list(_alive))


os.register_at_fork(after_in_child=_in_child)
