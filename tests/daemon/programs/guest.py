"""A program that runs jobs besides what else it does: it ends after its first job, during which it stops itself."""

from __future__ import annotations

import os
import signal
import threading

from holdfast import Context, Holdfast

hf = Holdfast()
is_done = threading.Event()


@hf.task(queue="guests")
def stopped(ctx: Context) -> int:
    os.kill(os.getpid(), signal.SIGSTOP)
    is_done.set()
    return ctx.attempt


if __name__ == "__main__":
    with hf:
        is_done.wait()
