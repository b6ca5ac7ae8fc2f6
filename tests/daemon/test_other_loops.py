"""Workers whose app has chosen another event loop than asyncio's."""

from __future__ import annotations

from tests.chaos.processes import PATIENCE_S
from tests.daemon.house import House


def test_an_app_that_installs_uvloop_runs_its_jobs(house: House) -> None:
    daemon = house.up(app="on_uvloop")
    jobs = [house.enqueue("which_loop") for _ in range(100)]
    assert {job.result(PATIENCE_S) for job in jobs} == {"uvloop"}
    house.down(daemon)
