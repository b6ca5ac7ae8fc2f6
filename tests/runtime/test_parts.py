"""The parts of a process start in their order, hear of every commit, and stop in the reverse order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from holdfast.runtime.parts import Parts
from holdfast.store.engine import Changes, Listener
from holdfast.store.topics import DUE


class Noted:
    """A part that writes down what happens to it."""

    def __init__(self, name: str, notes: list[str], *, breaks: bool = False) -> None:
        self._name = name
        self._notes = notes
        self._breaks = breaks

    def start(self) -> None:
        self._notes.append(f"{self._name} starts")

    async def stop(self) -> None:
        self._notes.append(f"{self._name} stops")
        if self._breaks:
            raise RuntimeError("no")

    def heed(self, changes: Changes) -> None:
        self._notes.append(f"{self._name} hears {changes.topics}")
        if self._breaks:
            raise RuntimeError("no")


def test_they_start_in_order_hear_of_every_commit_and_stop_in_the_reverse_order() -> None:
    notes: list[str] = []
    listeners: list[Listener] = []

    async def listen(listener: Listener) -> Callable[[], None]:
        notes.append("listens")
        listeners.append(listener)
        return lambda: notes.append("leaves")

    async def live() -> None:
        parts = Parts([Noted("first", notes), Noted("second", notes, breaks=True)])
        await parts.start(listen)
        listeners[0](Changes(topics={DUE}))
        with pytest.raises(RuntimeError):
            await parts.stop()

    asyncio.run(live())
    assert notes == [
        "listens",
        "first starts",
        "second starts",
        "first hears {DUE}",
        "second hears {DUE}",
        "leaves",
        "second stops",
        "first stops",
    ]
