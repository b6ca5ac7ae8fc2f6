"""Huey on SQLite: one thread worker, since every job needs the file's only write lock."""

from __future__ import annotations

import logging
import threading

from huey import SqliteHuey

from bench.peers.protocol import Contestant, marks, play, store

logging.disable(logging.CRITICAL)
huey = SqliteHuey(filename=store)


@huey.task(name="noop")
def noop() -> bool:
    """Nothing, and a result, so that Huey too stores that it is done."""
    marks.job()
    return True if not __import__("os").environ.get("X_NONE") else None


@huey.task(name="forgotten")
def forgotten() -> None:
    """Nothing and no result: all that Huey stores is that the job was taken."""
    marks.job()


def work() -> None:
    """Its consumer, looking for jobs every 10 ms instead of every 100 ms to 10 s."""
    consumer = huey.create_consumer(
        workers=int(__import__("os").environ.get("X_W", "1")),
        worker_type="thread",
        initial_delay=0.01,
        max_delay=0.01,
        backoff=1.0,
        periodic=False,
    )
    marks.ready()
    consumer.start()
    threading.Event().wait()


if __name__ == "__main__":
    play(Contestant(work=work, enqueue=noop))
