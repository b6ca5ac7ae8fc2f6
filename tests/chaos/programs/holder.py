"""A program that holds some running jobs until the file `release` is there, and lives until `done` is."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast import Context, Holdfast
from tests.chaos.journal import Journal
from tests.chaos.processes import until

target, schema, side, jobs = sys.argv[1:]
folder = Path(side)
journal = Journal(folder)
hf = Holdfast(target, schema=schema)


@hf.task
def hold(ctx: Context) -> None:
    with journal.run(ctx):
        until((folder / "release").exists, "the jobs are let go")


for _ in range(int(jobs)):
    hold.enqueue()
with hf:
    until((folder / "done").exists, "the program is let go")
