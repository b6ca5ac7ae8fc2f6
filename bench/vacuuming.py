"""From enqueued to running while the whole file is written anew: with and without, and beside SQLite's own VACUUM."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue

import apsw

from bench.table import Place, Table, p
from holdfast import Holdfast
from holdfast.client.resources.task import Task
from holdfast.core.machine.maintenance import MAINTENANCE
from holdfast.runtime.clock import SystemClock
from holdfast.store.locks import is_locked
from holdfast.store.maintenance import Disturbed, Vacuumed
from holdfast.store.sqlite.maintenance import FileMaintenance

SIZE = "HOLDFAST_BENCH_MB"
USUAL_MB = 1_000
FREE_SHARE = 0.4
TIMES = 100
TIMES_BACK = 10
TIMES_BEHIND = 3
ROW_BYTES = 4_000
ROWS_AT_ONCE = 10_000
STEPS = 30

FILL = """
INSERT INTO jobs (id, queue, job_type, position, state, created_at, finished_at, payload)
WITH RECURSIVE n (i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
SELECT 'ended-' || i, 'default', 'noop', i * 100, 'DONE', :now, :now, '{"x":"' || hex(zeroblob(:bytes / 2)) || '"}'
FROM n
"""
EMPTY = "DELETE FROM jobs WHERE number % 10 < :tenths AND number BETWEEN :first AND :last"


def measure(place: Place) -> Table:
    """The moment before the enqueue to the first line of the task, in one process."""
    path, wanted = place.new_file(), int(os.environ.get(SIZE, USUAL_MB))
    _make_old(path)
    hf = Holdfast(path)

    @hf.task
    async def stamp() -> float:
        return time.monotonic()

    hf.pause(MAINTENANCE)
    _fill(path, wanted << 20)
    size = os.path.getsize(path)
    with hf:
        alone = [_once(stamp) for _ in range(TIMES)]
        copying = [_during(path, stamp, has_turn=False) for _ in range(TIMES)]
        back = [_during(path, stamp, has_turn=True) for _ in range(TIMES_BACK)]
        began = time.perf_counter()
        done = _undisturbed(path)
        took = time.perf_counter() - began
        behind = [_right_behind(path, stamp) for _ in range(TIMES_BEHIND)]
        own = _during_own(path, stamp)
    hf.close()
    return Table(
        "Dispatch during a vacuum",
        f"A SQLite file of {size / 1e6:,.0f} MB, of which {FREE_SHARE:.0%} was freed. From the call of `enqueue` (its "
        f"commit included) to the first line of the task; {TIMES} times, while the copy goes back {TIMES_BACK} times. "
        "The vacuum gives way each time, and begins again later.",
        [
            ("without a vacuum", _figures(alone), ""),
            ("while the copy is made", _figures(copying), f"p50 {p(copying, 50) / p(alone, 50):.2f} ×"),
            ("while the copy goes back", _figures(back), f"p50 {p(back, 50) / p(alone, 50):.2f} ×"),
            ("right behind that", _figures(behind), f"p50 {p(behind, 50) / p(alone, 50):.2f} ×"),
            ("during SQLite's own VACUUM, once", f"{own * 1000:,.0f} ms", f"{own / p(alone, 50):,.0f} ×"),
            ("the whole vacuum, undisturbed", f"{took:.1f} s", f"{(done.before - done.after) / 1e6:,.0f} MB smaller"),
        ],
    )


def _figures(seconds: list[float]) -> str:
    return f"p50 {p(seconds, 50) * 1000:.1f} ms, p95 {p(seconds, 95) * 1000:.1f} ms, most {max(seconds) * 1000:.1f} ms"


def _once(stamp: Task[[], float]) -> float:
    began = time.monotonic()
    return stamp.enqueue().result(60) - began


def _during(path: str, stamp: Task[[], float], *, has_turn: bool) -> float:
    """A job that comes at some moment of one part of the vacuum, which is thrown away for it."""
    while True:
        looks = iter(range(random.randrange(1, STEPS)))

        def is_moment(looks: Iterator[int] = looks) -> bool:
            return _has_turn(path) is has_turn and next(looks, None) is None

        with _working(path, is_moment) as moment:
            if moment.get():
                return _once(stamp)


def _right_behind(path: str, stamp: Task[[], float]) -> float:
    """A job that comes when the copy is back, while the write-ahead log goes into the file."""
    while True:
        with _working(path, lambda: _has_turn(path)) as moment:
            if moment.get():
                while _has_turn(path):
                    time.sleep(0.001)
                return _once(stamp)


@contextmanager
def _working(path: str, is_moment: Callable[[], bool]) -> Iterator[SimpleQueue[bool]]:
    """A vacuum that says True at the moment, or False if it ended before, because a heartbeat came."""
    moment: SimpleQueue[bool] = SimpleQueue()

    def look() -> bool:
        if is_moment():
            moment.put(True)
        return False

    def work() -> None:
        with suppress(Disturbed):
            FileMaintenance(path).vacuum(look)
        moment.put(False)

    thread = threading.Thread(target=work)
    thread.start()
    yield moment
    thread.join()


def _undisturbed(path: str) -> Vacuumed:
    """Until no heartbeat comes in between."""
    while True:
        with suppress(Disturbed):
            return FileMaintenance(path).vacuum(lambda: False)


def _has_turn(path: str) -> bool:
    return bool(is_locked(f"{path}-locks/turn"))


def _during_own(path: str, stamp: Task[[], float]) -> float:
    """The same while SQLite vacuums the file itself, behind the same locks as everybody."""
    begun = threading.Event()

    def note() -> bool:
        begun.set()
        return False

    def work() -> None:
        connection = apsw.Connection(path)
        connection.set_busy_timeout(60_000)
        connection.set_progress_handler(note, 1_000)
        connection.execute("VACUUM")
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    took = _once(stamp)
    thread.join()
    return took


def _make_old(path: str) -> None:
    """A file from before free pages could be given back a few at a time."""
    connection = apsw.Connection(path)
    connection.execute("PRAGMA journal_mode = wal; CREATE TABLE x (y); DROP TABLE x")
    connection.close()


def _fill(path: str, size: int) -> None:
    """Ended jobs, until the file is that big; then some of them go."""
    connection = apsw.Connection(path)
    connection.set_busy_timeout(60_000)
    rows = size // ROW_BYTES
    for first in range(1, rows, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE - 1, rows)
        connection.execute(FILL, {"first": first, "last": last, "now": SystemClock().now(), "bytes": ROW_BYTES})
    for first in range(1, rows, ROWS_AT_ONCE):
        span = {"first": first, "last": first + ROWS_AT_ONCE - 1}
        connection.execute(EMPTY, span | {"tenths": round(10 * FREE_SHARE)})
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
