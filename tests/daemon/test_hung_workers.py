"""A worker that lives and does nothing any more is ended before its runs are settled, and replaced."""

from __future__ import annotations

import signal

import pytest

from holdfast import Retry
from tests.chaos import checker
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import APPS, House

# Long enough for a healthy worker on a busy machine.
LEASE = '[daemon]\nlease = "2s"\n'


@pytest.mark.parametrize("task", ["stopped", "greedy"])
def test_a_worker_that_hangs_is_replaced_and_its_job_runs_again(house: House, task: str) -> None:
    house.settings(LEASE)
    daemon = house.up(app="manners")
    job = house.enqueue(task, retry=Retry(0, initial=0))
    until(lambda: job.runs, "it runs")
    hung = house.worker()
    assert job.result(PATIENCE_S) == 2
    assert [run.error_code for run in job.runs] == ["ERR_CRASH_RECOVERY", None]
    assert not hung.is_alive
    assert house.worker() != hung
    house.down(daemon)
    with house.store() as engine:
        assert checker.problems(engine, house.side) == []


def test_a_program_that_does_other_things_too_is_left_alone(house: House) -> None:
    house.settings(LEASE)
    daemon = house.up()
    guest = house.python(f"{APPS}/guest.py")
    job = house.enqueue("stopped", queue="guests")
    until(lambda: daemon.has_found_hung(guest.pid), "it is seen")
    guest.send(signal.SIGCONT)
    assert job.result(PATIENCE_S) == 1
    guest.end_well()
    house.down(daemon)
