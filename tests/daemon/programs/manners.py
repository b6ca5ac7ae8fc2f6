"""An app with jobs of different manners, for workers of a daemon. Every run is noted in the side folder."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import time
from pathlib import Path

from holdfast import Context, Holdfast, Retry
from tests.chaos.journal import Journal
from tests.chaos.processes import until

folder = Path(os.environ["HOLDFAST_TEST_SIDE"])
journal = Journal(folder)
hf = Holdfast(concurrency={"default": 4, "elsewhere": 1})
AT_ONCE = Retry(0, initial=0, factor=1)


@hf.task
def plain(ctx: Context, n: int = 0) -> int:
    with journal.run(ctx):
        return n


@hf.task
def short(ctx: Context) -> str:
    """Ends when the file `finish` is there."""
    with journal.run(ctx):
        until((folder / "finish").exists, "the work is done")
        return "finished"


@hf.task
def parent(ctx: Context) -> str:
    """Enqueues another job once the file `finish` is there."""
    with journal.run(ctx):
        until((folder / "finish").exists, "it is time")
        child: str = ctx.enqueue(plain, n=7).id
        return child


@hf.task
async def long(ctx: Context) -> None:
    """Ends when it is asked to."""
    with journal.run(ctx):
        await asyncio.Event().wait()


@hf.task
def deaf(ctx: Context) -> None:
    """Never ends."""
    with journal.run(ctx):
        time.sleep(3600)


@hf.task
async def blocking(ctx: Context) -> None:
    """Never ends, and lets no other coroutine go on either."""
    with journal.run(ctx):
        time.sleep(3600)  # noqa: ASYNC251


@hf.task(retry=AT_ONCE)
def dying(ctx: Context) -> int:
    """Takes its process down, the first time."""
    with journal.run(ctx):
        if ctx.attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return ctx.attempt


@hf.task(retry=AT_ONCE)
def stopped(ctx: Context) -> int:
    """Stops its whole process, the first time."""
    with journal.run(ctx):
        if ctx.attempt == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
            # Another thread may take the signal, and this one go on for a moment.
            time.sleep(3600)
        return ctx.attempt


@hf.task(retry=AT_ONCE)
def greedy(ctx: Context) -> int:
    """Keeps every other thread of its process from going on, the first time."""
    with journal.run(ctx):
        if ctx.attempt == 1:
            # Called without letting go of the interpreter's lock.
            ctypes.PyDLL(None).pause()
        return ctx.attempt


@hf.task(queue="elsewhere")
def waiting(ctx: Context) -> None:
    with journal.run(ctx):
        pass


if __name__ == "__main__":
    hf.run()
