"""What tells whether the machine needs rest, on this machine and on made-up ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.core.machine.readings import CpuSeen, DiskSeen, HeatSeen, WalSeen
from holdfast.runtime.machine.gauges import CpuBusy, DisksLeft, Heat, MemoryLeft, NvidiaSmi, WalSize
from holdfast.runtime.machine.load import CpuTimes, cpu_times


def test_the_share_of_the_processors_is_of_ten_seconds() -> None:
    told = [(0, 0, 0), (4, 4, 1), (20, 18, 8), (21, 18, 8), (40, 20, 11), (5, 5, 5)]
    times = iter([CpuTimes(2, *map(float, one)) for one in told])
    clock = iter([0.0, 2.0, 10.0, 10.5, 20.0, 30.0])
    source = CpuBusy(lambda: next(times), lambda: next(clock))
    found = [source.look() for _ in range(6)]
    first, second = CpuSeen("psutil", 0.9, 0.5), CpuSeen("psutil", 0.1, 0.0)
    assert found == [None, None, first, first, second, None]


def test_this_machine_tells_what_it_can() -> None:
    times, memory = cpu_times(), MemoryLeft().look()
    assert 0 <= times.busy <= times.total
    assert 0 < memory.available <= 1
    heat = Heat().look()
    assert heat is None or isinstance(heat, HeatSeen)


def test_a_count_that_grows_means_that_the_processors_slowed_down(tmp_path: Path) -> None:
    count = tmp_path / "count"
    source = Heat(count)
    said = []
    for text in ("3", "3", "5", "5", "nonsense", "9"):
        count.write_text(text)
        seen = source.look()
        said.append(seen is not None and seen.is_throttling)
    assert said == [False, False, True, False, False, False]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("prints", "share"), [("12\n97\n", 0.97), ("[N/A]\n", None), ("", None)], ids=["two", "unknown", "none"]
)
def test_the_busiest_gpu_counts_and_is_asked_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prints: str, share: float | None
) -> None:
    program, asked = tmp_path / "nvidia-smi", tmp_path / "asked"
    program.write_text(f"#!/bin/sh\necho . >> '{asked}'\nprintf '{prints}'\n".replace("\n97", "\\n97"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    clock = iter([0.0, 29.0, 30.0])
    source = NvidiaSmi(lambda: next(clock))
    shares = [None if (seen := source.look()) is None else seen.share for _ in range(3)]
    assert (shares, asked.read_text().count(".")) == ([share] * 3, 2)


def test_without_the_program_no_gpu_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert NvidiaSmi().look() is None


def test_the_disk_of_a_folder_that_is_not_there_yet_is_the_one_it_will_be_on(tmp_path: Path) -> None:
    here = DisksLeft((tmp_path / "not" / "yet",)).look()
    assert isinstance(here, DiskSeen)
    assert here.free_bytes is not None
    assert 0 <= here.free <= 1
    assert DisksLeft(()).look() is None


def test_the_size_of_the_log_is_that_of_its_file(tmp_path: Path) -> None:
    source = WalSize(str(tmp_path / "work.db"))
    assert source.look() == WalSeen("file", 0)
    (tmp_path / "work.db-wal").write_bytes(b"x" * 77)
    assert source.look() == WalSeen("file", 77)
