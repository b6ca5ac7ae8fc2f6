"""A backlog drained by Huey, in a process of its own; prints the seconds it took."""

from __future__ import annotations

import logging
import sys
import threading
import time

from huey import SqliteHuey

path, jobs = sys.argv[1], int(sys.argv[2])
logging.disable(logging.CRITICAL)
huey = SqliteHuey(filename=path, results=True)
done = threading.Event()
ended = 0


@huey.task()
def noop() -> bool:
    """Nothing, and a result, so that Huey too stores that it is done."""
    return True


@huey.post_execute()
def count(task: object, value: object, error: object) -> None:
    """Tell when the last one is done."""
    global ended
    ended += 1
    if ended == jobs:
        done.set()


for _ in range(jobs):
    noop()
consumer = huey.create_consumer(
    workers=1, worker_type="thread", initial_delay=0.01, max_delay=0.01, backoff=1.0, periodic=False
)
start = time.perf_counter()
consumer.start()
done.wait()
print(time.perf_counter() - start)
consumer.stop()
