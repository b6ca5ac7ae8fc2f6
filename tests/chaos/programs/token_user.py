"""A program that works on jobs which take cores, until the file `done` is there.

Each run leaves a file while it runs that says how many it takes, and sums up what all runs take that go on: a file is
there only while its run holds its tokens, so that nobody may ever see more than the machine has. With `block`, the
first run of the process never ends.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from holdfast import Context, Holdfast
from tests.chaos.processes import KnownProcess, until

target, schema, side, most, mode = sys.argv[1:]
folder = Path(side)
hf = Holdfast(target, schema=schema, concurrency=1 if mode == "block" else 4)


def in_use() -> int:
    """What all runs take whose process lives."""
    found = [path.name.split("-") for path in folder.glob("*-*-*.run")]
    return sum(int(cpu) for cpu, process, _ in found if KnownProcess.read(process).is_alive)


@hf.task
def use(ctx: Context, cpu: int) -> None:
    mine = folder / f"{cpu}-{KnownProcess.of(os.getpid())}-{ctx.run_id.replace('-', '')}.run"
    mine.touch()
    try:
        for _ in range(20):
            if in_use() > int(most):
                (folder / "too-much").touch()
        if mode == "block":
            (folder / "blocked").touch()
            until(lambda: False, "somebody kills it")
    finally:
        mine.unlink()


with hf:
    until((folder / "done").exists, "the test has seen enough")
hf.close()
