"""From a file saved to its job stored, through a real daemon, at full durability."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench.table import Place, Table, p, percentiles
from bench.through_daemon import PATIENCE_S, running_daemon
from holdfast import Holdfast
from holdfast.core.values.watch import DEBOUNCE_MS
from holdfast.wire.home import HOME, Home

TIMES = 100
FILES = 1_000
TARGET_S = 0.2


def measure(place: Place) -> Table:
    """One save at a time, in a small folder and in one with many files."""
    rows = []
    for files in (1, FILES):
        took = saves(place, files, TIMES)
        what = f"save to job, {files:,} file{'s' if files > 1 else ''} in the folder"
        rows.append((what, percentiles(took), f"p95 {p(took, 95) / TARGET_S:.0%} of {TARGET_S * 1000:.0f} ms"))
    return Table(
        "From a saved file to its job",
        f"Daemon with one watched folder and the usual debounce of {DEBOUNCE_MS} ms; {TIMES} saves, one at a "
        "time, from the moment before the write to the moment at which a client of the daemon hears of the job.",
        rows,
    )


def saves(place: Place, files: int, times: int) -> list[float]:
    """Seconds that each save took to become a job."""
    with running_daemon(place, workers=False) as home:
        folder = Path(home.folder).with_name(f"{home.folder.name}-watched")
        folder.mkdir()
        for number in range(files):
            (folder / f"{number}.py").touch()
        hf = _client(home)
        hf.add_watch(folder, name="bench", task="bench.nobody", globs=["*.py"])
        _until(lambda: hf.watch("bench").scanned_at is not None)
        told = threading.Event()
        leave = hf._access.engine.listen(lambda _: told.set())
        try:
            return [_save(hf, folder / "0.py", number, told) for number in range(1, times + 1)]
        finally:
            leave()
            hf.close()


def _save(hf: Holdfast, file: Path, number: int, told: threading.Event) -> float:
    before = hf.watch("bench").jobs
    told.clear()
    start = time.monotonic()
    file.write_text("x" * number)
    while True:
        told.wait(PATIENCE_S)
        heard = time.monotonic()
        told.clear()
        if hf.watch("bench").jobs > before:
            return heard - start
        if heard - start > PATIENCE_S:
            raise TimeoutError(f"the save has not become a job after {PATIENCE_S:.0f} s")


def _client(home: Home) -> Holdfast:
    os.environ[HOME] = str(home.folder)
    return Holdfast()


def _until(is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > give_up:
            raise TimeoutError(f"the folder has not been looked at after {PATIENCE_S:.0f} s")
        time.sleep(0.01)
