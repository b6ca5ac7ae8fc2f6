"""A simulated machine, for tests and to try things out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import msgspec

from holdfast.core.machine.readings import SimulatedReadings, Simulation


class SimulatedMachine:
    """What a program is told about its machine. What is left out stays as it really is.

    `idle`, `charging` and `throttling` are True or False. `cpu` and `gpu` are how busy these are, `memory` and `disk`
    what is free of them, `battery` is its charge, all in percent; `heat` is in °C, and `wal` is the size of the
    write-ahead log in bytes.

    >>> from holdfast import Holdfast
    >>> from holdfast.testing import SimulatedMachine
    >>> machine = SimulatedMachine(idle=False)
    >>> hf = Holdfast("work.db", machine=machine)
    >>> @hf.task(when_idle=True)
    ... def tidy() -> None: ...
    >>> job = tidy.enqueue()
    >>> hf.drain()
    0
    >>> machine.set(idle=True)
    >>> hf.drain()
    1
    """

    def __init__(self, **looks: Unpack[SimulatedReadings]) -> None:
        self._simulation = Simulation(**looks)
        self._callbacks: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        parts = msgspec.structs.asdict(self._simulation).items()
        return f"SimulatedMachine({', '.join(f'{name}={value}' for name, value in parts if value is not None)})"

    @property
    def simulation(self) -> Simulation:
        """The simulation now."""
        return self._simulation

    def set(self, **looks: Unpack[SimulatedReadings]) -> None:
        """Change what is named, from any thread. None: as it really is. On return, running programs use it."""
        self._simulation = msgspec.structs.replace(self._simulation, **looks)
        for callback in list(self._callbacks):
            callback()

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every change. Call the result to end that."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)
