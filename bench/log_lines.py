"""What the lines in the log at each turn of a job's life cost: the same drain at several levels."""

from __future__ import annotations

from bench.draining import JOBS, drain
from bench.table import Place, Table, per_second
from holdfast.observe.logs import set_up

LEVELS = ("error", "info", "debug")
ROUNDS = 7


def measure(place: Place) -> Table:
    """All levels in turn, each time in another order, so that none is always first; the best of each."""
    took: dict[str, list[float]] = {level: [] for level in LEVELS}
    for number in range(ROUNDS):
        for level in LEVELS[number % len(LEVELS) :] + LEVELS[: number % len(LEVELS)]:
            handler = set_up(level=level, file=place.folder / f"{level}.log")
            try:
                took[level].append(drain(place.new_file(), "coroutine", concurrency=100))
            finally:
                handler.close()
    set_up(level="warning")
    base = min(took[LEVELS[0]])
    rows = [
        (f"at {level}", per_second(JOBS, min(took[level])), "" if level == LEVELS[0] else _cost(took[level], base))
        for level in LEVELS
    ]
    return Table(
        "Drain with a log",
        f"{JOBS} no-op jobs on SQLite, 100 slots, with the daemon's log in a file; best of {ROUNDS}. At info it holds "
        "what goes another way than planned, at debug also each job that is enqueued, claimed or done. Target: info "
        "costs ≤ 2 %.",
        rows,
    )


def _cost(took: list[float], base: float) -> str:
    return f"{min(took) / base - 1:+.1%} of the time"
