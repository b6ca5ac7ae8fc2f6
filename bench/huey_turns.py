"""What `single` of `bench.turn_taker` measures, done by Huey on SQLite with full sync. Its consumer is another process.

It polls: that is turned down to 10 ms. Huey has no daemon: a program enqueues into the file, whatever the row says.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from huey import SqliteHuey

from bench.table import Place
from bench.turn_taker import AT_THE_END, BACKLOG, PICKUPS, SINGLES, Turn, take_turns

POLL_S = 0.01
PATIENCE_S = 60
CONSUMER = {
    "workers": 1,
    "worker_type": "thread",
    "initial_delay": POLL_S,
    "max_delay": POLL_S,
    "backoff": 1.0,
    "periodic": False,
}


def open_queue(path: str) -> tuple[SqliteHuey, Any]:
    """A queue in a file, and its task."""
    huey = SqliteHuey(filename=path, results=True)

    @huey.task()
    def stamp() -> float:
        """When it ran."""
        return time.monotonic()

    return huey, stamp


def single(place: Place) -> dict[str, Turn]:
    """The rows of the measurement of that name."""
    _, unserved = open_queue(place.new_file())
    path = place.new_file()
    _, stamp = open_queue(path)
    worker = subprocess.Popen([sys.executable, "-m", "bench.huey_turns", path])
    AT_THE_END.callback(worker.wait)
    AT_THE_END.callback(worker.send_signal, signal.SIGTERM)

    def ran(job: Any) -> float:
        moment: float = job.get(blocking=True, timeout=PATIENCE_S, backoff=1.0, max_delay=POLL_S)
        return moment

    def enqueue() -> list[float]:
        took = []
        for _ in range(SINGLES):
            start = time.monotonic()
            unserved()
            took.append(time.monotonic() - start)
        return took

    def mixed() -> list[float]:
        start = time.monotonic()
        for _ in range(SINGLES):
            stamp()
        return [(ran(stamp()) - start) / SINGLES]

    def picked_up() -> list[float]:
        took = []
        for _ in range(PICKUPS):
            start = time.monotonic()
            took.append(ran(stamp()) - start)
        return took

    def drained() -> list[float]:
        queue, task = open_queue(place.new_file())
        for _ in range(BACKLOG):
            task()
        last = task()
        consumer = queue.create_consumer(**CONSUMER)
        start = time.monotonic()
        consumer.start()
        took = (ran(last) - start) / BACKLOG
        consumer.stop()
        return [took]

    return {
        "enqueue, embedded": enqueue,
        "enqueue, through the daemon": enqueue,
        "mixed, through the daemon": mixed,
        "pickup, through the daemon": picked_up,
        "pickup, between two processes": picked_up,
        "drain, through the daemon": drained,
    }


def main() -> None:
    """With the path of a file: consume. Otherwise take turns."""
    logging.disable(logging.CRITICAL)
    if len(sys.argv) == 2:
        queue, _ = open_queue(sys.argv[1])
        queue.create_consumer(**CONSUMER).run()
        return
    _, folder, url = sys.argv[1:]
    with AT_THE_END:
        take_turns(single(Place(Path(folder), url)))


if __name__ == "__main__":
    main()
