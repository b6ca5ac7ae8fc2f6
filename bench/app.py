"""The app that the daemon's workers run in the measurements."""

from __future__ import annotations

import os
import time

from holdfast import Holdfast

hf = Holdfast(concurrency=int(os.environ.get("BENCH_SLOTS", "100")))


@hf.task
async def noop() -> None:
    """As little as a job can do."""


@hf.task
async def stamp() -> float:
    """When it ran."""
    return time.monotonic()
