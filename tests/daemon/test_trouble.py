"""Trouble of the machine: a full disk and a clock that jumps. Nobody is blamed for it, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import StateName, StoreFull
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, ROOT, until
from tests.daemon.house import APPS, House, short_folder

HOUR = 3_600


@pytest.fixture
def small_house(side: Path) -> Iterator[House]:
    """A house on a disk of a few megabytes."""
    with short_folder() as folder:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
        )
        if mounted.returncode:
            pytest.skip(f"this environment does not let us mount a small disk: {mounted.stderr.strip()}")
        house = House(folder / "home", side)
        try:
            yield house
        finally:
            house.clear()
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    """Write until the disk takes not one byte more."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def test_a_full_disk_is_told_and_work_goes_on_when_there_is_room(small_house: House) -> None:
    house = small_house
    house.settings('[daemon]\nlease = "1s"\n')
    daemon = house.up(app="manners")
    worker, running = house.worker(), house.enqueue("short")
    until(lambda: entries(house.side, "start"), "it runs")
    fill(house.home.folder / "filler")
    with pytest.raises(StoreFull, match="is full"):
        house.enqueue("plain", {"n": 1, "padding": "x" * 200_000})
    (house.side / "finish").touch()
    until(lambda: entries(house.side, "end"), "it ends while nothing can be stored")
    until(lambda: heartbeats_failed(daemon.said()), "heartbeats cannot be stored for longer than a lease")
    (house.home.folder / "filler").unlink()
    assert running.result(PATIENCE_S) == "finished"
    assert house.enqueue("plain", {"n": 7}).result(PATIENCE_S) == 7
    assert house.worker() == worker
    assert [run.status for run in running.runs] == ["COMPLETED"]
    house.down(daemon)
    assert "worker_hung" not in daemon.events()


def heartbeats_failed(said: str) -> bool:
    return said.count('"heartbeat: ') >= 8


def test_a_wall_clock_that_jumps_moves_what_is_due_and_nothing_else(house: House) -> None:
    house.settings('[daemon]\nlease = "2s"\n')
    clock = house.side / "clock"
    path = os.pathsep.join((str(APPS / "clock"), str(ROOT)))
    daemon = house.up(app="manners", env={"PYTHONPATH": path, "HOLDFAST_TEST_CLOCK": str(clock)})
    worker, running, due = house.worker(), house.enqueue("short"), house.enqueue("plain", {"n": 1}, delay=HOUR)
    until(lambda: entries(house.side, "start"), "one runs")
    clock.write_text(str(2 * HOUR))
    # The promoter looks at the clock once a minute, and whenever there is something new to wait for.
    house.enqueue("plain", delay=5 * HOUR)
    assert due.result(PATIENCE_S) == 1
    clock.write_text(str(-2 * HOUR))
    assert house.enqueue("plain", {"n": 2}).result(PATIENCE_S) == 2
    began = running.runs[0].started_at
    until(lambda: beats(house) > 3, "the daemon has had time to misjudge somebody")
    assert (running.state, house.worker()) == (StateName.RUNNING, worker)
    (house.side / "finish").touch()
    assert running.result(PATIENCE_S) == "finished"
    [run] = running.runs
    assert (run.started_at, run.status) == (began, "COMPLETED")
    assert run.duration_ms is not None
    assert 0 < run.duration_ms < HOUR * 1000
    house.down(daemon)
    assert "worker_hung" not in daemon.events()


def beats(house: House) -> int:
    [daemon] = [row for row in house.client().sessions() if row.kind == "daemon"]
    return daemon.heartbeat
