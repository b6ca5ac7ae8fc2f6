"""The order of waiting jobs, and how a person changes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Conflict, Holdfast, InvalidInput, JobHandle, NotFound, Task


class Queue:
    """A queue whose jobs write down in which order they ran."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        self._ran: list[str] = []
        self.write: Task[..., None] = hf.task(name="write")(self._write)

    def _write(self, name: str) -> None:
        self._ran.append(name)

    def add(self, names: str, **options: Any) -> dict[str, JobHandle[None]]:
        """One job for each letter."""
        return {name: self.write.options(**options).enqueue(name=name) for name in names}

    def order(self) -> str:
        """The letters in the order in which they run."""
        self._hf.drain()
        return "".join(self._ran)


@pytest.fixture
def queue(make_holdfast: Any) -> Queue:
    return Queue(make_holdfast(concurrency=1))


def test_jobs_run_in_the_order_they_came(queue: Queue) -> None:
    queue.add("abcdef")
    assert queue.order() == "abcdef"


def test_a_higher_priority_goes_first(queue: Queue) -> None:
    queue.add("ab")
    queue.add("cd", priority=5)
    queue.add("ef", priority=-5)
    assert queue.order() == "cdabef"


def test_a_waiting_job_can_be_moved(queue: Queue) -> None:
    jobs = queue.add("abcdef")
    jobs["e"].move("top")
    jobs["a"].move("bottom")
    jobs["f"].move(("before", jobs["c"]))
    jobs["b"].move(("after", jobs["d"].id))
    assert queue.order() == "efcdba"


def test_a_gap_never_runs_out(queue: Queue) -> None:
    jobs = queue.add("abc")
    for _ in range(20):
        jobs["c"].move(("after", jobs["a"]))
        jobs["b"].move(("after", jobs["a"]))
    assert queue.order() == "abc"


def test_a_waiting_job_can_get_another_priority(queue: Queue) -> None:
    jobs = queue.add("abc")
    jobs["c"].set_priority(3)
    jobs["a"].set_priority(-3)
    assert queue.order() == "cba"


def test_a_job_that_has_ended_stays_where_it_is(queue: Queue) -> None:
    jobs = queue.add("ab")
    assert queue.order() == "ab"
    calls: list[Callable[[], None]] = [
        lambda: jobs["a"].move("top"),
        lambda: jobs["a"].set_priority(1),
        lambda: jobs["a"].edit(name="c"),
    ]
    for call in calls:
        with pytest.raises(Conflict, match="is DONE; only a waiting job can be moved or edited"):
            call()


def test_a_place_that_does_not_exist_is_refused(queue: Queue) -> None:
    jobs = queue.add("ab")
    elsewhere = queue.add("c", queue="other")["c"]
    for place in ("first", 5, None, ("before",), ("beside", jobs["b"]), ()):
        with pytest.raises(InvalidInput, match=r"^place "):
            jobs["a"].move(place)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="cannot be moved beside itself"):
        jobs["a"].move(("after", jobs["a"]))
    with pytest.raises(InvalidInput, match="order is within a queue"):
        jobs["a"].move(("after", elsewhere))
    with pytest.raises(NotFound, match="there is no job 'nowhere'"):
        jobs["a"].move(("after", "nowhere"))
    with pytest.raises(InvalidInput, match="5 is not a job or group"):
        jobs["a"].move(("after", 5))  # type: ignore[arg-type]


@pytest.mark.parametrize("priority", [None, True, 1.5, "5", 10**7])
def test_a_wrong_priority_is_refused(queue: Queue, priority: Any) -> None:
    job = queue.add("a")["a"]
    with pytest.raises(InvalidInput, match=r"priority .* is not valid: use a whole number"):
        job.set_priority(priority)
    if priority is not None:
        with pytest.raises(InvalidInput, match=r"priority .* is not valid: use a whole number"):
            job.retry(priority)


def test_the_twins_move_too(queue: Queue) -> None:
    jobs = queue.add("abc")

    async def main() -> None:
        await jobs["b"].amove("top")
        await jobs["c"].aset_priority(5)
        await jobs["a"].aedit(name="x")
        await jobs["b"].aretry()

    asyncio.run(main())
    assert queue.order() == "cbxb"
