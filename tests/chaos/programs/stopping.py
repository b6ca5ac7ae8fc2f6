"""A program in `hf.run()`, with jobs of different manners in it, to be stopped by signals.

`short` ends when the file `finish` is there, `long` ends when it is asked to, `deaf` never does; two more only wait.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from holdfast import Context, Holdfast
from holdfast.core.rules.units import Duration
from tests.chaos.journal import Journal
from tests.chaos.processes import until

target, schema, side, short_s, grace_s, *names = sys.argv[1:]
folder = Path(side)
journal = Journal(folder)


class Patient(Holdfast):
    """With the patience that the test asks for."""

    def stop(self, *, short: Duration = float(short_s), grace: Duration = float(grace_s)) -> None:
        super().stop(short=short, grace=grace)


hf = Patient(target, schema=schema)


@hf.task
def short(ctx: Context) -> None:
    with journal.run(ctx):
        until((folder / "finish").exists, "the work is done")


@hf.task
async def long(ctx: Context) -> None:
    with journal.run(ctx):
        await asyncio.Event().wait()


@hf.task
def deaf(ctx: Context) -> None:
    with journal.run(ctx):
        time.sleep(3600)


@hf.task(queue="elsewhere")
def waiting() -> None: ...


hf.pause("elsewhere")
waiting.enqueue()
waiting.options(delay=3600).enqueue()
tasks = {"short": short, "long": long, "deaf": deaf}
for name in names:
    tasks[name].enqueue()
hf.run()
journal.note("stopped")
