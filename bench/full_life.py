"""The full life of a no-op job: enqueue_many(100), claim, run, finish."""

from __future__ import annotations

from typing import Any

from bench import raw
from bench.table import Place, Stopwatch, Table, per_second, stopwatch
from holdfast import Holdfast, StateName

JOBS = 20_000
BATCH = 100
ROUNDS = 3


def measure(place: Place) -> Table:
    """Holdfast against a raw apsw loop, alternating, the best of each."""
    ours, raws = [], []
    for _ in range(ROUNDS):
        raws.append(raw.full_life(place.new_file(), JOBS, BATCH).seconds)
        ours.append(holdfast(place.new_file(), JOBS).seconds)
    rate = JOBS / min(ours)
    base = JOBS / min(raws)
    few = JOBS // 10
    postgres = min(holdfast(place.postgres_url, few, schema=place.new_schema()).seconds for _ in range(ROUNDS))
    return Table(
        "Full life of a no-op job",
        f"`enqueue_many({BATCH})`, claim, run (a coroutine that returns at once), finish; {JOBS} jobs, "
        f"{BATCH} slots, best of {ROUNDS}. The raw loop writes the same rows with apsw alone, in one thread. "
        "Target ≥ 50 %.",
        [
            ("raw apsw loop", per_second(JOBS, min(raws)), ""),
            ("Holdfast embedded, SQLite", per_second(JOBS, min(ours)), f"{rate / base:.0%} of raw"),
            ("Holdfast embedded, PostgreSQL", per_second(few, postgres), ""),
        ],
    )


def holdfast(url: str, jobs: int, **options: Any) -> Stopwatch:
    """Enqueue from this thread while the embedded worker runs them; until the last one is done."""
    hf = Holdfast(url, concurrency=BATCH, **options)

    @hf.task
    async def noop() -> None:
        return None

    with hf:
        noop.enqueue().result(10)
        with stopwatch() as watch:
            for _ in range(0, jobs, BATCH):
                noop.enqueue_many([{}] * BATCH)
            noop.enqueue().result(120)
            while hf.counts()["default"].get(StateName.DONE, 0) < jobs + 2:
                pass
    hf.close()
    return watch
