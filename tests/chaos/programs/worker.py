"""A program that only works, a few jobs at a time, until the file `done` is there.

Its first jobs end only when as many processes as were announced have begun one, so that none comes too late.
"""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path

from holdfast import Context, Holdfast
from tests.chaos.journal import Journal, entries
from tests.chaos.processes import until

logging.basicConfig(level=logging.INFO)
target, schema, side, slots, crowd = sys.argv[1:]
folder = Path(side)
journal = Journal(folder)
crowd_is_there = threading.Event()
hf = Holdfast(target, schema=schema, concurrency=int(slots))


@hf.task
def note(ctx: Context) -> None:
    with journal.run(ctx):
        if not crowd_is_there.is_set():
            until(lambda: len({entry.life for entry in entries(folder, "start")}) >= int(crowd), "all have begun")
            crowd_is_there.set()


hf.counts()
journal.note("ready")
until((folder / "go").exists, "everybody is ready")
with hf:
    until((folder / "done").exists, "the test has seen enough")
hf.close()
