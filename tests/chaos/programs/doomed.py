"""A program with a job in it that takes the whole process down, and with others that have nothing to do with it.

The first life enqueues the poison and its company, which all run when it strikes. Every life enqueues a bystander.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from holdfast import Context, Holdfast, Retry, StateName
from tests.chaos.journal import Journal, entries
from tests.chaos.processes import until

LIVE = (StateName.SCHEDULED, StateName.QUEUED, StateName.RUNNING)

target, schema, side, way, company, infra = sys.argv[1:]
folder = Path(side)
is_first_life = not entries(folder)
journal = Journal(folder)
hf = Holdfast(target, schema=schema)


@hf.task(retry=Retry(0, initial=0.01, factor=1, infra=int(infra)))
def poison(ctx: Context) -> None:
    journal.note("start", ctx.run_id, ctx.job.id)
    until(lambda: len(entries(folder, "start")) > int(company), "all are together")
    match way:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(3)
        case "segfault":
            ctypes.string_at(0)
    raise AssertionError("it should be dead")


@hf.task
def companion(ctx: Context) -> None:
    with journal.run(ctx):
        if ctx.attempt == 1:
            time.sleep(3600)


@hf.task
def bystander(ctx: Context) -> None:
    with journal.run(ctx):
        pass


if is_first_life:
    journal.note("alive")
    poison.enqueue()
    for _ in range(int(company)):
        companion.enqueue()
else:
    bystander.enqueue()
with hf:
    while any(count and state in LIVE for states in hf.counts().values() for state, count in states.items()):
        time.sleep(0.005)
hf.close()
