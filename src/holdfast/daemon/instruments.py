"""The instruments of a daemon: what is measured, how it is judged, and where it is sent."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.core.errors import InvalidInput
from holdfast.core.settings import rule_table
from holdfast.daemon.meter import Meter, Sources
from holdfast.daemon.settings.settings import Settings, SlaSettings
from holdfast.daemon.watching import MetricsSender, PrintedFile, SlaWatch
from holdfast.observe.logs import ROOT, LogFile
from holdfast.observe.metrics import Metrics
from holdfast.observe.sla import PROMISES, Promise, Sla
from holdfast.runtime.canary import Canary
from holdfast.runtime.clock import Clock
from holdfast.runtime.parts import Part, Parts, commits_of
from holdfast.store.engine import Engine

if TYPE_CHECKING:
    from holdfast.observe.otlp import Otlp


class Instruments:
    """All that measures one daemon. Lives on its event loop, from `start` until `stop`."""

    def __init__(self, engine: Engine, clock: Clock, settings: Settings, printed: Path | None = None) -> None:
        """`printed` is the file that this process and its workers may print to."""
        self._otlp = start_otlp(settings.observe.otlp, "holdfast")
        metrics = Metrics()
        sla = Sla(promises(settings.sla))
        self.meter = Meter(engine, clock, metrics, sla)
        engine.watch(self.meter.committed)
        self._engine = engine
        parts: list[Part] = [SlaWatch(clock, sla, metrics, self.meter)]
        if printed is not None:
            parts.append(PrintedFile(clock, printed, settings.logs.max_bytes, settings.logs.files))
        if settings.observe.canary_every:
            parts.append(Canary(engine, clock, metrics, every=settings.observe.canary_every))
        if self._otlp is not None:
            every = settings.observe.otlp_every
            parts.append(MetricsSender(clock, self._otlp, metrics, self.meter, every))
        self._parts = Parts(parts)

    async def start(self, sources: Sources) -> None:
        """Begin, when the daemon takes calls."""
        sources.lines_dropped = lines_dropped
        self.meter.sources = sources
        await self._parts.start(commits_of(self._engine))

    async def stop(self) -> None:
        """Send what is left, and stop measuring."""
        await self._parts.stop()
        if self._otlp is not None:
            await asyncio.to_thread(self._otlp.close)


def promises(settings: SlaSettings) -> list[Promise]:
    """The promises, with the limits of the settings."""
    return [
        Promise(promise.name, getattr(settings, promise.name) * 1000, promise.measure, promise.fewest)
        for promise in PROMISES
    ]


def start_otlp(endpoint: str | None, service: str) -> Otlp | None:
    """The connection to a collector, if one is set. InvalidInput says what is missing for it."""
    if endpoint is None:
        return None
    try:
        from holdfast.observe.otlp import Otlp
    except ImportError as error:
        raise InvalidInput(f"observe.otlp = {rule_table.without_user(endpoint)!r} cannot be used: {error}") from None
    return Otlp(endpoint, service)


def lines_dropped() -> int:
    """How many lines the log of this process has lost."""
    return sum(handler.dropped for handler in logging.getLogger(ROOT).handlers if isinstance(handler, LogFile))
