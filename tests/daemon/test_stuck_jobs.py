"""A run that takes no notice of being asked to stop: its worker goes with it, and another one takes the place."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast import JobFailed, StateName
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House, inhabited


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home whose daemon outlives its tests, with workers that do not."""
    with inhabited(tmp_path_factory.mktemp("side"), '[daemon]\nstuck = "300ms"\n', app="manners") as house:
        yield house


@pytest.mark.parametrize("task", ["deaf", "blocking"])
def test_a_job_that_ignores_its_time_out_fails_and_its_worker_is_replaced(shared: House, task: str) -> None:
    [daemon] = shared.processes
    found, begun = daemon.events().count("worker_stuck"), len(entries(shared.side, "start"))
    worker = shared.worker()
    other = shared.enqueue("short")
    until(lambda: len(entries(shared.side, "start")) > begun, "another job runs beside it")
    job = shared.enqueue(task, timeout=0.2)
    until(lambda: daemon.events().count("worker_stuck") > found, "it is seen")
    waiting = shared.enqueue("plain", {"n": 7})
    assert job.state is StateName.RUNNING, "it is settled only when its worker goes"
    (shared.side / "finish").touch()
    assert other.result(PATIENCE_S) == "finished"
    with pytest.raises(JobFailed, match="longer than its time-out"):
        job.result(PATIENCE_S)
    assert waiting.result(PATIENCE_S) == 7
    assert shared.worker() != worker
    assert not worker.is_alive
    assert [len(handle.runs) for handle in (job, other, waiting)] == [1, 1, 1]
    assert "worker_crash_loop" not in daemon.events()
    (shared.side / "finish").unlink()


def test_a_job_that_ignores_being_cancelled_is_cancelled_in_the_end(shared: House) -> None:
    begun = len(entries(shared.side, "start"))
    worker = shared.worker()
    job = shared.enqueue("deaf")
    until(lambda: len(entries(shared.side, "start")) > begun, "it runs")
    assert job.cancel().requested
    until(lambda: job.state is StateName.CANCELLED, "it is cancelled")
    assert shared.enqueue("plain", {"n": 7}).result(PATIENCE_S) == 7
    assert not worker.is_alive


def test_a_program_of_the_users_own_is_never_ended_for_that(shared: House) -> None:
    mine: Any = shared.client()

    released = threading.Event()

    @mine.task(timeout=0.1)
    def holding() -> str:
        released.wait()
        return "released"

    @mine.task
    def quick() -> int:
        return 7

    with mine:
        job = holding.enqueue()
        until(lambda: job.state is StateName.RUNNING, "it runs")
        began = time.monotonic()
        until(lambda: time.monotonic() > began + 1, "a worker would have gone by now")
        assert quick.enqueue().result(PATIENCE_S) == 7
        released.set()
        assert job.result(PATIENCE_S) == "released"
