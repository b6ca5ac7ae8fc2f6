"""Enqueue with acknowledgement: durable when it returns."""

from __future__ import annotations

import threading
import time

from bench.table import Place, Table, per_second, percentiles, stopwatch
from holdfast import Holdfast
from holdfast.client.resources.task import Task

SINGLE = 2_000
MANY = 20_000
THREADS = 8


def measure(place: Place) -> Table:
    """One at a time, many at once, and from several threads at the same time."""
    rows = []
    for name, url, options in (
        ("SQLite", place.new_file(), {}),
        ("SQLite, durability=normal", place.new_file(), {"durability": "normal"}),
        ("PostgreSQL", place.postgres_url, {"schema": place.new_schema()}),
    ):
        hf = Holdfast(url, **options)  # type: ignore[arg-type]

        @hf.task
        def noop(n: int) -> None: ...

        noop.enqueue(n=0)
        took = [_timed(noop, n) for n in range(SINGLE)]
        rows.append((f"one enqueue, {name}", percentiles(took), ""))
        with stopwatch() as watch:
            for _ in range(0, MANY, 100):
                noop.enqueue_many([{"n": n} for n in range(100)])
        many = MANY / watch.seconds
        single = SINGLE / sum(took)
        rows.append(
            (f"enqueue_many(100), {name}", per_second(MANY, watch.seconds), f"{many / single:.1f} × one by one")
        )
        seconds = _from_threads(noop)
        rows.append(
            (
                f"{THREADS} threads one by one, {name}",
                per_second(SINGLE, seconds),
                f"{SINGLE / seconds / single:.1f} × one thread",
            )
        )
        hf.close()
    return Table("Enqueue", f"Acknowledged after the commit; {SINGLE} single calls, {MANY} in hundreds.", rows)


def _timed(noop: Task[..., None], n: int) -> float:
    start = time.perf_counter()
    noop.enqueue(n=n)
    return time.perf_counter() - start


def _from_threads(noop: Task[..., None]) -> float:
    def work() -> None:
        for n in range(SINGLE // THREADS):
            noop.enqueue(n=n)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    with stopwatch() as watch:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return watch.seconds
