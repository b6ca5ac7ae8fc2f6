"""Tasks for the tests of the command line."""

from __future__ import annotations

import os
import time
from pathlib import Path

from holdfast import Context, Holdfast, Retry

hf = Holdfast()


@hf.task
def double(x: int) -> int:
    return 2 * x


@hf.task
def fail(reason: str) -> None:
    raise ValueError(reason)


@hf.task(queue="slow")
def hold(ctx: Context, until: str) -> None:
    """Runs until the file is there."""
    ctx.progress(0.25, "a quarter")
    while not Path(until).exists():
        ctx.check()
        time.sleep(0.01)


@hf.task
def announce(ctx: Context, name: str) -> str:
    return ctx.emit(name).id


@hf.task(subprocess=True)
async def announce_alone(ctx: Context, name: str) -> str:
    return (await ctx.aemit(name)).id


@hf.task(retry=Retry(1, initial=0))
def second_time(path: str) -> str:
    """Fails once."""
    if not Path(path).exists():
        Path(path).touch()
        raise ValueError("not yet")
    return "at last"


@hf.task
def leave(ctx: Context, name: str) -> None:
    """Leaves a log and an artifact behind."""
    print("hello")
    ctx.artifact(name).touch()


@hf.task(retry=Retry(1, initial=0))
def loud_once(path: str) -> None:
    """Says something and fails, then is silent and does not."""
    if not Path(path).exists():
        Path(path).touch()
        print("not yet")
        raise ValueError("not yet")


@hf.task
def variable(ctx: Context, name: str) -> str | None:
    """What the job says, and what its process has."""
    return f"{ctx.env.get(name)} {os.environ.get(name)}"
