"""The loops with which the daemon watches itself: its promises, the file it prints to, and its metrics."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.daemon.meter import Meter
from holdfast.observe.metrics import Metrics
from holdfast.observe.printed import rotate
from holdfast.observe.sla import Sla
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop

if TYPE_CHECKING:
    from holdfast.observe.otlp import Otlp

JUDGE_S = 10.0

log = logging.getLogger("holdfast.sla")


class SlaWatch(Loop):
    """Judges the promises every few seconds. A broken one is only logged and counted."""

    def __init__(self, clock: Clock, sla: Sla, metrics: Metrics, meter: Meter) -> None:
        super().__init__(clock)
        self._sla = sla
        self._metrics = metrics
        self._meter = meter

    async def tick(self) -> float | None:
        await self._meter.forget_lost_runs()
        for verdict in self._sla.judge(self.clock.monotonic()):
            promise = verdict.promise
            if verdict.is_broken:
                self._metrics.broke_promise(promise.name)
            if not verdict.say:
                continue
            extra = {"sla": promise.name, "value_ms": round(verdict.value_ms, 2), "limit_ms": promise.limit_ms}
            said = (promise.name, promise.measure, verdict.value_ms, promise.limit_ms)
            if verdict.is_broken:
                log.warning("%s is slow: %s %.1f ms, promised %g ms", *said, extra=extra | {"event": "sla_breach"})
            else:
                log.info("%s is well again: %s %.1f ms, promised %g ms", *said, extra=extra | {"event": "sla_kept"})
        return JUDGE_S


class PrintedFile(Loop):
    """Rotates the file that the processes of the daemon print to."""

    def __init__(self, clock: Clock, path: Path, max_bytes: int, keep: int) -> None:
        super().__init__(clock)
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep

    async def tick(self) -> float | None:
        await asyncio.to_thread(rotate, self._path, self._max_bytes, self._keep)
        return JUDGE_S


class MetricsSender(Loop):
    """Sends the metrics to a collector at intervals."""

    def __init__(self, clock: Clock, otlp: Otlp, metrics: Metrics, meter: Meter, every: float) -> None:
        super().__init__(clock)
        self._otlp = otlp
        self._metrics = metrics
        self._meter = meter
        self._every = every

    async def tick(self) -> float | None:
        await self._meter.look()
        await asyncio.to_thread(self._otlp.send_metrics, self._metrics.registry)
        return self._every
