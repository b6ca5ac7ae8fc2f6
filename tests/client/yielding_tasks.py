"""Tasks that make room when they are asked to, one of them in a process of its own."""

from __future__ import annotations

import threading

from holdfast import Context, Holdfast

hf = Holdfast("nobody-opens-this.db")


def counted(ctx: Context) -> list[int]:
    """One more for each run. The first one goes on until it is asked for room, the second is left alone."""
    done: list[int] = [*(ctx.job.checkpoint or []), ctx.attempt]
    ctx.checkpoint(done)
    while ctx.attempt == 1:
        assert not ctx.cancelled
        ctx.check()
        threading.Event().wait(0.01)
    return done


@hf.task(queue="heavy", retry=0)
def count(ctx: Context) -> list[int]:
    return counted(ctx)


@hf.task(queue="heavy", retry=0, subprocess=True)
def count_apart(ctx: Context) -> list[int]:
    return counted(ctx)
