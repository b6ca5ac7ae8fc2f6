"""Publishes an event for each trouble of the store, as soon as that can be stored."""

from __future__ import annotations

import asyncio

from holdfast.core.job import Millis
from holdfast.core.values.event import ALERT
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.runtime.node import node_name
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.events.events import publish
from holdfast.store.trouble import Alert

STORE_ALERT = f"{ALERT}store"


class Alarm(Loop):
    """The engine wakes it, from any thread, when there is something to tell."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        super().__init__(clock)
        self._engine = engine
        self._home = asyncio.get_running_loop()

    def start(self) -> None:
        """Listen from now on. What was not told before is told now."""
        self._engine.troubles.on_alert = self.hear
        super().start()

    async def tick(self) -> float | None:
        alerts = self._engine.troubles.take_alerts()
        if alerts:
            try:
                await self._engine.write(tell, alerts, node_name(), self.clock.now())
            except BaseException:
                self._engine.troubles.give_back(alerts)
                raise
        return None

    async def stop(self) -> None:
        """Stop. The next one tells the rest."""
        if self._engine.troubles.on_alert == self.hear:
            self._engine.troubles.on_alert = lambda: None
        await super().stop()

    def hear(self) -> None:
        """There is something to tell. Called from any thread."""
        self._home.call_soon_threadsafe(self.wake)


def tell(tx: Tx, alerts: list[Alert], node: str, now: Millis) -> None:
    """Publish an event for each alert. `seconds` is how long nothing could be written."""
    for alert in alerts:
        about = {"node": node, "kind": alert.kind.value, "says": alert.says, "since": str(alert.since)}
        if alert.ended_at is not None:
            about["seconds"] = f"{(alert.ended_at - alert.since) / 1000:.1f}"
        publish(tx, STORE_ALERT, about, now)
