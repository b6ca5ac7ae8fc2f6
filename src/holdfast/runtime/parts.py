"""The parts of a process: what lives in it between its start and its stop, and hears of commits.

Each process has one list of them. To add a loop is to add it there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeAlias

from holdfast.store.engine import Changes, Engine, Listener, announce

log = logging.getLogger("holdfast.runtime")

Listen: TypeAlias = Callable[[Listener], Awaitable[Callable[[], None]]]


def commits_of(engine: Engine) -> Listen:
    """Listen for the commits to the database of an engine."""

    async def listen(listener: Listener) -> Callable[[], None]:
        return await asyncio.to_thread(engine.listen, listener)

    return listen


class Part(Protocol):
    """One of them. A `Loop` is a part."""

    def start(self) -> None:
        """Begin, in the running event loop."""

    async def stop(self) -> None:
        """End in order."""

    def heed(self, changes: Changes) -> None:
        """Hear what a commit has changed. Called from any thread."""


class Parts:
    """They start in the order of the list, hear of every commit, and stop in the reverse order."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = list(parts)
        self._leave: Callable[[], None] = lambda: None

    async def start(self, listen: Listen) -> None:
        """Listen for commits first, so that none is missed, then start each."""
        self._leave = await listen(self._heed)
        for part in self._parts:
            part.start()

    async def stop(self) -> None:
        """Stop each, whatever happens to others. From here on they hear of nothing. The first error is raised."""
        self._leave()
        errors: list[Exception] = []
        for part in reversed(self._parts):
            try:
                await part.stop()
            except Exception as error:
                log.exception("%s could not be stopped", type(part).__name__)
                errors.append(error)
        if errors:
            raise errors[0]

    def _heed(self, changes: Changes) -> None:
        announce(changes, [part.heed for part in self._parts])
