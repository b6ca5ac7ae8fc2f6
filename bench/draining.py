"""Drain of a backlog, against Huey on SQLite."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from bench.table import Place, Stopwatch, Table, per_second
from holdfast import Holdfast, StateName

JOBS = 5_000
HUEY_JOBS = 1_000


def measure(place: Place) -> Table:
    """How fast each empties a queue that is full when it starts."""
    huey = float(
        subprocess.run(
            [sys.executable, "-m", "bench.huey_drain", place.new_file(), str(HUEY_JOBS)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    base = HUEY_JOBS / huey
    rows = [("Huey, SQLite, one thread", per_second(HUEY_JOBS, huey), "")]
    for name, url, options in (
        ("Holdfast, SQLite, functions in threads", place.new_file(), {"kind": "function"}),
        ("Holdfast, SQLite, functions, one slot", place.new_file(), {"kind": "function", "concurrency": 1}),
        ("Holdfast, SQLite, coroutines", place.new_file(), {"kind": "coroutine"}),
        ("Holdfast, SQLite, coroutines, 100 slots", place.new_file(), {"kind": "coroutine", "concurrency": 100}),
        ("Holdfast, PostgreSQL, coroutines", place.postgres_url, {"kind": "coroutine", "schema": place.new_schema()}),
    ):
        seconds = drain(url, **options)
        rows.append((name, per_second(JOBS, seconds), f"{JOBS / seconds / base:.1f} × Huey"))
    return Table(
        "Drain of a backlog",
        f"{JOBS} no-op jobs ({HUEY_JOBS} for Huey) that wait when the worker starts; defaults (10 slots) unless said "
        "otherwise. Huey: its default full sync, one thread worker, polling turned down to 10 ms. Target ≥ 2.5 ×.",
        rows,
    )


def drain(url: str, kind: str, **options: Any) -> float:
    """Seconds from the start of the worker to the end of the last job."""
    hf = Holdfast(url, **options)
    if kind == "function":

        @hf.task(name="noop")
        def noop() -> None:
            return None

    else:

        @hf.task(name="noop")
        async def noop() -> None:
            return None

    for _ in range(0, JOBS, 1_000):
        noop.enqueue_many([{}] * 1_000)
    last = noop.options(priority=-1).enqueue()
    watch = Stopwatch()
    with hf:
        last.result(120)
        while hf.counts()["default"].get(StateName.DONE, 0) < JOBS + 1:
            pass
        watch.look()
    hf.close()
    return watch.seconds
