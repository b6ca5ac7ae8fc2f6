"""A program that only enqueues, as fast as so many threads can, from the moment the file `go` is there until `stop` is.

It notes every commit of its own on a SQLite file as well: one may hold jobs of several threads. A commit takes a
moment, as on a disk, so that the order of those who wait decides who is next, and not who has a processor.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from pathlib import Path

import apsw

from holdfast import Holdfast
from tests.chaos.journal import Journal
from tests.chaos.processes import until

MOMENT_S = 0.002

logging.basicConfig(level=logging.INFO)
target, schema, side, threads = sys.argv[1:]
folder = Path(side)
journal = Journal(folder)
hf = Holdfast(target, schema=schema)


@hf.task
def note() -> None:
    """Known here by its name only; workers run it."""


def note_commits(connection: apsw.Connection) -> None:
    def noted() -> bool:
        journal.note("commit")
        time.sleep(MOMENT_S)
        return False

    connection.set_commit_hook(noted)


def enqueue_all_the_time() -> None:
    while not (folder / "stop").exists():
        journal.note("acked", note.enqueue().id)


apsw.connection_hooks.append(note_commits)
hf.counts()
journal.note("ready")
until((folder / "go").exists, "everybody is ready")
busy = [threading.Thread(target=enqueue_all_the_time) for _ in range(int(threads))]
for thread in busy:
    thread.start()
for thread in busy:
    thread.join()
hf.close()
