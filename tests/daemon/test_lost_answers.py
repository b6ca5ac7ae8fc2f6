"""A worker and a client on a line that loses answers: all is done once, nothing is charged, nothing is left open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from holdfast import StateName
from tests.chaos.database import select
from tests.chaos.processes import until
from tests.daemon.house import House
from tests.daemon.lossy import LossyLine

JOBS = 60


@pytest.fixture
def line(house: House, seed: int) -> Iterator[LossyLine]:
    """Between this process and the daemon of the house."""
    made = LossyLine(house.home.folder.parent / "holdfast.sock", house.home.socket, seed)
    yield made
    made.close()


def test_answers_that_get_lost_cost_nothing(house: House, line: LossyLine) -> None:
    daemon = house.up()
    far = House(house.home.folder.parent, house.side).client(concurrency=8)
    ran: Counter[int] = Counter()

    @far.task
    def count(n: int) -> int:
        ran[n] += 1
        return n

    with far:
        line.share = 0.2
        for n in range(JOBS):
            count.options(tag=str(n)).enqueue(n=n)
        near = house.client()
        until(lambda: near.counts()["default"].get(StateName.DONE) == JOBS, "all are done")
        assert line.lost > 10
        line.share = 0
    assert ran == Counter(range(JOBS))
    with house.store() as engine:
        jobs = select(engine, "SELECT user_tag, infra_tries, transient_tries FROM jobs")
        assert Counter(row["user_tag"] for row in jobs) == Counter(map(str, range(JOBS)))
        assert sum(row["infra_tries"] + row["transient_tries"] for row in jobs) == 0
        statuses = {row["status"] for row in select(engine, "SELECT status FROM job_runs")}
        assert statuses <= {"COMPLETED", "YIELDED"}
    house.down(daemon)


def test_a_retry_by_hand_whose_answer_got_lost_makes_one_job(house: House, line: LossyLine) -> None:
    daemon = house.up()
    far = House(house.home.folder.parent, house.side).client()
    jobs = [far.enqueue("unknown", tag=str(n)) for n in range(JOBS)]
    line.share = 0.3
    retried = [job.retry() for job in jobs]
    assert line.lost > 0
    line.share = 0
    assert len({handle.id for handle in retried}) == JOBS
    with house.store() as engine:
        assert select(engine, "SELECT count(*) AS jobs FROM jobs") == [{"jobs": 2 * JOBS}]
    house.down(daemon)
