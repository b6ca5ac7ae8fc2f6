"""From enqueued to running on an idle system: in one process, and across two that share a file."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from bench.table import Place, Table, p, percentiles
from holdfast import Holdfast
from holdfast.client.resources.task import Task

TIMES = 200


def measure(place: Place) -> Table:
    """The moment before the enqueue to the first line of the task."""
    rows = []
    for name, url, options in (
        ("SQLite", place.new_file(), {}),
        ("PostgreSQL", place.postgres_url, {"schema": place.new_schema()}),
    ):
        here = _in_process(url, options)
        rows.append((f"in process, {name}", percentiles(here), f"p95 {p(here, 95) / 0.005:.0%} of 5 ms"))
        across = _across(url, options)
        rows.append((f"two processes, {name}", percentiles(across), ""))
    return Table(
        "Pickup on an idle system",
        f"From the call of `enqueue` (its commit included) to the first line of the task; {TIMES} times. "
        "In process the target is ≤ 5 ms; another process on the same SQLite file looks every 25 ms.",
        rows,
    )


def make(url: str, options: dict[str, Any]) -> tuple[Holdfast, Task[..., float]]:
    """The program that both processes run."""
    hf = Holdfast(url, **options)

    @hf.task
    async def stamp() -> float:
        return time.monotonic()

    return hf, stamp


def _in_process(url: str, options: dict[str, Any]) -> list[float]:
    hf, stamp = make(url, options)
    with hf:
        took = _times(stamp)
    hf.close()
    return took


def _across(url: str, options: dict[str, Any]) -> list[float]:
    hf, stamp = make(url, options)
    worker = subprocess.Popen(
        [sys.executable, "-m", "bench.pickup", url, options.get("schema", "holdfast")], stdin=subprocess.PIPE
    )
    took = _times(stamp)
    worker.communicate()
    hf.close()
    return took


def _times(stamp: Task[..., float]) -> list[float]:
    took = []
    for n in range(TIMES + 10):
        start = time.monotonic()
        seconds = stamp.enqueue().result(30) - start
        if n >= 10:
            took.append(seconds)
    return took


def _work() -> None:
    hf, _ = make(sys.argv[1], {"schema": sys.argv[2]})
    with hf:
        sys.stdin.read()


if __name__ == "__main__":
    _work()
