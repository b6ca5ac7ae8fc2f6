"""The code of the workers of a besieged daemon. Every run notes its start and end in the side folder."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from holdfast import Context, Holdfast, Retry, Snooze, Transient
from tests.chaos.journal import Journal

SIDE = Path(os.environ["HOLDFAST_TEST_SIDE"])
ALIVE_S = 0.005

hf = Holdfast(concurrency={"default": 6, "edits": 2})
STUBBORN = Retry(3, initial=0.01, factor=1)
CHAINED = Retry(3, initial=0.01, factor=1, mode="chain")
PLAIN = Retry(0, initial=0.01)


@cache
def journal() -> Journal:
    """That of this process, which from now on also says that it lives."""
    made = Journal(SIDE)

    def show_life() -> None:
        while True:
            made.note("alive")
            time.sleep(ALIVE_S)

    threading.Thread(target=show_life, daemon=True).start()
    return made


@contextmanager
def noted(ctx: Context) -> Iterator[None]:
    with journal().run(ctx):
        yield


@hf.task(retry=PLAIN)
def plain(ctx: Context, n: int) -> int:
    with noted(ctx):
        time.sleep(0.001 * (n % 5))
        return n


@hf.task(retry=PLAIN)
async def coroutine(ctx: Context, n: int) -> int:
    with noted(ctx):
        await asyncio.sleep(0.001 * (n % 50))
        return n


@hf.task(retry=STUBBORN)
def flaky(ctx: Context, n: int) -> None:
    with noted(ctx):
        if (ctx.attempt + n) % 3:
            raise Transient("not yet")


@hf.task(retry=CHAINED)
async def chained(ctx: Context, n: int) -> None:
    with noted(ctx):
        if (ctx.attempt + n) % 3:
            raise Transient("not yet")


@hf.task(retry=Retry(0, infra=0))
def once(ctx: Context) -> None:
    with noted(ctx):
        time.sleep(0.005)


@hf.task(queue="edits", subject="load::{file}", stop_older=True, retry=PLAIN)
async def edit(ctx: Context, file: int) -> None:
    with noted(ctx):
        await asyncio.sleep(0.02)


@hf.task(retry=PLAIN)
def napping(ctx: Context) -> None:
    with noted(ctx):
        if ctx.job.checkpoint is None:
            ctx.checkpoint("slept")
            raise Snooze(0.02)


@hf.task(retry=PLAIN)
def parent(ctx: Context, n: int) -> None:
    with noted(ctx):
        journal().note("acked", ctx.enqueue(plain, n=n).id)


@hf.task(retry=PLAIN)
async def slow(ctx: Context) -> None:
    with noted(ctx):
        await asyncio.sleep(0.3)


if __name__ == "__main__":
    hf.run()
