"""The code of the workers of a daemon that runs for long: jobs of all kinds, none of which takes long."""

from __future__ import annotations

import asyncio
import time

from holdfast import Context, Holdfast, Permanent, Retry, Snooze, Transient

hf = Holdfast(concurrency={"default": 4, "edits": 2, "bulk": 2})
SOON = Retry(2, initial=0.1, factor=1)


@hf.task(retry=SOON)
async def quick(n: int) -> int:
    """Most of them are like this."""
    return n


@hf.task(retry=SOON, queue="bulk")
def counting(ctx: Context, n: int) -> int:
    """A thread, a few lines of log and a little work."""
    ctx.log.info("counting to %d", n)
    ctx.progress(0.5, "half of it")
    time.sleep(0.005)
    return sum(range(n))


@hf.task(retry=SOON)
async def slow(ctx: Context) -> None:
    """Somebody waits for something else."""
    await asyncio.sleep(0.2)


@hf.task(retry=SOON)
def flaky(ctx: Context, n: int) -> None:
    """Works the second time, or never."""
    if n % 20 == 0:
        raise Permanent("it never works")
    if ctx.attempt == 1:
        raise Transient("not yet")


@hf.task(queue="edits", subject="soak::{file}", stop_older=True)
async def edit(file: int) -> None:
    """The newest counts."""
    await asyncio.sleep(0.02)


@hf.task
def napping(ctx: Context) -> None:
    """Sleeps, and goes on where it was."""
    if ctx.job.checkpoint is None:
        ctx.checkpoint("x" * 1_000)
        raise Snooze(0.5)
