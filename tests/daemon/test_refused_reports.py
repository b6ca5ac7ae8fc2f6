"""Whatever a task says in the end reaches the daemon, and never keeps its worker from working."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast import Context, JobFailed, Permanent, Skip, StateName
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House, inhabited

SMALLEST_BODY = '[api]\nmax_body = "64KiB"\n'


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home with a daemon that has the usual limits."""
    with inhabited(tmp_path_factory.mktemp("side")) as house:
        yield house


def test_odd_words_of_a_task_are_delivered(shared: House) -> None:
    mine = shared.client()

    @mine.task
    def skipping() -> None:
        raise Skip("nothing new " * 200)

    @mine.task
    def coded() -> None:
        raise Permanent("no", code="TWO\nLINES")

    @mine.task
    def quiet(ctx: Context) -> int:
        ctx.progress(0.5, "")
        until(is_shown, "it is shown")
        return 7

    def is_shown() -> bool:
        return any(job.progress is not None for job in shared.client().jobs(task="quiet").jobs)

    with mine:
        skipped, failed, shown = skipping.enqueue(), coded.enqueue(), quiet.enqueue()
        assert shown.result(PATIENCE_S) == 7
        assert skipped.result(PATIENCE_S) is None
        with pytest.raises(JobFailed) as caught:
            failed.result(PATIENCE_S)
    assert caught.value.error_code == "TWO LINES"


def test_results_that_are_too_much_for_one_request_travel_in_several(shared: House) -> None:
    mine = shared.client(concurrency=20)

    @mine.task
    async def large() -> str:
        return '"' * 500_000

    jobs = [large.enqueue() for _ in range(20)]
    with mine:
        until(lambda: all(job.state is StateName.DONE for job in jobs), "all are done")
    assert {len(job.runs) for job in jobs} == {1}


def test_a_result_that_the_daemon_refuses_fails_its_own_job_alone(house: House) -> None:
    house.settings(SMALLEST_BODY)
    daemon = house.up()
    mine = house.client(concurrency=4)

    @mine.task
    async def sized(size: int) -> int | str:
        return "x" * size

    jobs = [sized.enqueue(size=size) for size in (5, 100_000, 6)]
    with mine:
        assert [jobs[place].result(PATIENCE_S) for place in (0, 2)] == ["x" * 5, "x" * 6]
        with pytest.raises(JobFailed, match="the limit is 65536") as caught:
            jobs[1].result(PATIENCE_S)
        assert caught.value.error_code == "ERR_REPORT_REFUSED"
        assert sized.enqueue(size=1).result(PATIENCE_S) == "x"
    house.down(daemon)
