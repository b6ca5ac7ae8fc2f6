"""Commands through a daemon: what they do to themselves, or leave behind, harms nobody else."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from holdfast import JobFailed, Retry
from tests.chaos.processes import PATIENCE_S, ROOT, KnownProcess, kill, until
from tests.daemon.house import House, inhabited


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home whose daemon outlives its tests."""
    with inhabited(tmp_path_factory.mktemp("side")) as house:
        yield house


def family(house: House, manner: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.daemon.programs.family", str(house.side), manner)


def test_what_a_dead_worker_left_running_is_ended_before_its_job_runs_again(shared: House) -> None:
    job = shared.client().command(*family(shared, "polite"), cwd=ROOT, retry=Retry(0, initial=0))
    until((shared.side / "grandchild").exists, "there is a grandchild")
    kill(shared.worker("system"))
    assert job.result(PATIENCE_S) == {"exit_code": 0}
    assert [run.error_code for run in job.runs] == ["ERR_CRASH_RECOVERY", None]


def test_a_command_outlives_the_daemon_with_its_worker(house: House) -> None:
    daemon = house.up()
    script = f"while [ ! -e {house.side}/finish ]; do sleep 0.02; done"
    job = house.client().command("sh", "-c", script)
    until(lambda: job.runs and job.runs[0].pid, "it runs")
    daemon.kill()
    daemon = house.up()
    (house.side / "finish").touch()
    assert job.result(PATIENCE_S) == {"exit_code": 0}
    assert [run.status for run in job.runs] == ["COMPLETED"]
    house.down(daemon)


def test_a_stop_ends_a_whole_family_and_gives_the_job_back(house: House) -> None:
    house.settings('[daemon]\nshort = "100ms"\ngrace = "100ms"\n')
    daemon = house.up()
    job = house.client().command(*family(house, "deaf"), cwd=ROOT, grace=0)
    until((house.side / "grandchild").exists, "there is a grandchild")
    house.down(daemon)
    assert not KnownProcess.read((house.side / "grandchild").read_text()).is_alive
    daemon = house.up()
    assert job.result(PATIENCE_S) == {"exit_code": 0}
    assert [run.status for run in job.runs] == ["YIELDED", "COMPLETED"]
    house.down(daemon)


def test_a_command_that_eats_memory_hurts_itself_alone(shared: House) -> None:
    worker = shared.worker("system")
    job = shared.client().command(sys.executable, "-c", "len(bytearray(4 << 30))", memory_mb=256)
    with pytest.raises(JobFailed, match="MemoryError"):
        job.result(PATIENCE_S)
    assert shared.worker("system") == worker
