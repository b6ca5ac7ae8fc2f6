"""A run that takes no notice of being asked to stop: its worker goes with it, and another one takes the place."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from holdfast import JobFailed, StateName
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House

STUCK = '[daemon]\nstuck = "300ms"\n'


@pytest.mark.parametrize("task", ["deaf", "blocking"])
def test_a_job_that_ignores_its_time_out_fails_and_its_worker_is_replaced(house: House, task: str) -> None:
    house.settings(STUCK)
    daemon = house.up(app="manners")
    worker = house.worker()
    other = house.enqueue("short")
    until(lambda: entries(house.side, "start"), "another job runs beside it")
    job = house.enqueue(task, timeout=0.2)
    until(lambda: "worker_stuck" in daemon.events(), "it is seen")
    waiting = house.enqueue("plain", {"n": 7})
    assert job.state is StateName.RUNNING, "it is settled only when its worker goes"
    (house.side / "finish").touch()
    assert other.result(PATIENCE_S) == "finished"
    with pytest.raises(JobFailed, match="longer than its time-out"):
        job.result(PATIENCE_S)
    assert waiting.result(PATIENCE_S) == 7
    assert house.worker() != worker
    assert not worker.is_alive
    assert [len(handle.runs) for handle in (job, other, waiting)] == [1, 1, 1]
    house.down(daemon)
    assert "worker_crash_loop" not in daemon.events()


def test_a_job_that_ignores_being_cancelled_is_cancelled_in_the_end(house: House) -> None:
    house.settings(STUCK)
    daemon = house.up(app="manners")
    worker = house.worker()
    job = house.enqueue("deaf")
    until(lambda: entries(house.side, "start"), "it runs")
    assert job.cancel().requested
    until(lambda: job.state is StateName.CANCELLED, "it is cancelled")
    assert house.enqueue("plain", {"n": 7}).result(PATIENCE_S) == 7
    assert not worker.is_alive
    house.down(daemon)


def test_a_program_of_the_users_own_is_never_ended_for_that(house: House) -> None:
    house.settings(STUCK)
    daemon = house.up()
    mine: Any = house.client()

    released = threading.Event()

    @mine.task(timeout=0.1)
    def holding() -> str:
        released.wait()
        return "released"

    @mine.task
    def plain() -> int:
        return 7

    with mine:
        job = holding.enqueue()
        until(lambda: job.state is StateName.RUNNING, "it runs")
        began = time.monotonic()
        until(lambda: time.monotonic() > began + 1, "a worker would have gone by now")
        assert plain.enqueue().result(PATIENCE_S) == 7
        released.set()
        assert job.result(PATIENCE_S) == "released"
    house.down(daemon)
