"""A machine that is as somebody wants it to be, for tests and for trying things out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.core.machine import Simulation


class SimulatedMachine:
    """What a program is told about its machine instead of how it is; what is left out stays as it really is.

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

    def __init__(self, *, idle: bool | None = None, charging: bool | None = None, battery: int | None = None) -> None:
        self._simulation = Simulation(idle=idle, charging=charging, battery=battery)
        self._callbacks: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        now = self._simulation
        return f"SimulatedMachine(idle={now.idle}, charging={now.charging}, battery={now.battery})"

    @property
    def simulation(self) -> Simulation:
        """What it is like now."""
        return self._simulation

    def set(
        self,
        *,
        idle: bool | UnsetType | None = UNSET,
        charging: bool | UnsetType | None = UNSET,
        battery: int | UnsetType | None = UNSET,
    ) -> None:
        """Change what is named, in any thread, while programs run; None: as it really is."""
        given: dict[str, Any] = {"idle": idle, "charging": charging, "battery": battery}
        named = {name: value for name, value in given.items() if value is not UNSET}
        self._simulation = Simulation(**(msgspec.structs.asdict(self._simulation) | named))
        for callback in list(self._callbacks):
            callback()

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every change; returns the way out."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)
