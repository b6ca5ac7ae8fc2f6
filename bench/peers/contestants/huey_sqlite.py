"""Huey on SQLite: one thread, since each job needs the file's only write lock; looks every millisecond."""

from __future__ import annotations

import logging
import threading

from huey import SqliteHuey

from bench.peers.protocol import Caller, marks, play, store, variant

LOOK_SECONDS = 0.001
logging.disable(logging.CRITICAL)
huey = SqliteHuey(filename=store)


@huey.task(name="noop")
def noop() -> bool | None:
    """Nothing, and a result if Huey too is to store that the job is done: it stores none for None."""
    marks.job()
    return True if variant == "results" else None


def work() -> None:
    """The consumer, without the growing pauses of its defaults."""
    consumer = huey.create_consumer(
        workers=1, worker_type="thread", initial_delay=LOOK_SECONDS, max_delay=LOOK_SECONDS, backoff=1.0, periodic=False
    )
    marks.ready()
    consumer.start()
    threading.Event().wait()


def caller() -> Caller:
    """One by one: there is no call for many."""
    return Caller(enqueue=noop)


if __name__ == "__main__":
    play(work, caller)
