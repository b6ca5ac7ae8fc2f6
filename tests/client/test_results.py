"""What a handle gives back once its job has ended."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from holdfast import (
    Holdfast,
    InvalidInput,
    JobCancelled,
    JobError,
    JobFailed,
    NotFound,
    Permanent,
    Retry,
    RunStatus,
    Skip,
    StateName,
    StillRunning,
    Task,
)
from holdfast.store.scripts.maintenance.retention import forget_old
from tests.client.acts import WAIT, Gate, both_engines, wait_until


@pytest.fixture
def double(hf: Holdfast) -> Task[..., int]:
    @hf.task
    def double(x: int) -> int:
        return 2 * x

    return double


@both_engines
def test_a_handle_works_before_inside_and_after(hf: Holdfast, double: Task[..., int]) -> None:
    before = double.enqueue(x=1)
    with hf:
        inside = double.enqueue(x=2)
        assert before.result(timeout=WAIT) == 2
        assert inside.wait(timeout=WAIT) is StateName.DONE
    assert inside.result() == 4
    after = double.enqueue(x=3)
    assert after.state is StateName.QUEUED
    with hf:
        assert after.result(timeout=WAIT) == 6


@both_engines
def test_a_handle_can_be_awaited_before_inside_and_after(hf: Holdfast, double: Task[..., int]) -> None:
    async def main() -> list[int]:
        before = await double.aenqueue(x=1)
        async with hf:
            inside = await double.aenqueue(x=2)
            found = [await before, await inside.aresult(timeout=WAIT)]
            assert await inside.await_(timeout=WAIT) is StateName.DONE
        return [*found, await inside, (await inside.ajob()).attempts, len(await inside.aruns())]

    assert asyncio.run(main()) == [2, 4, 4, 1, 1]


@both_engines
def test_waiting_in_an_event_loop_lets_the_others_go_on(hf: Holdfast) -> None:
    gate = Gate()

    @hf.task
    def slow() -> str:
        gate.pass_through()
        return "done"

    async def open_it() -> str:
        await asyncio.to_thread(gate.await_arrival)
        gate.open()
        return "opened"

    async def main() -> tuple[str, str]:
        async with hf:
            result, opened = await asyncio.gather(slow.enqueue().aresult(timeout=WAIT), open_it())
            return result, opened

    assert asyncio.run(main()) == ("done", "opened")


@both_engines
def test_many_threads_can_wait_for_one_job(hf: Holdfast, double: Task[..., int]) -> None:
    handle = double.enqueue(x=21)
    with ThreadPoolExecutor(8) as threads, hf:
        assert list(threads.map(lambda _: handle.result(timeout=WAIT), range(8))) == [42] * 8


@both_engines
def test_a_handle_by_id_or_number_reads_the_result_like_the_first_one(hf: Holdfast, double: Task[..., int]) -> None:
    handle = double.enqueue(x=21)
    hf.drain()
    others = [hf.job(handle.id), hf.job(handle.job.number), hf.job(str(handle.job.number)), hf.job(handle)]
    assert [other.result(timeout=WAIT) for other in others] == [42] * 4


@dataclass
class Point:
    x: int


class Shape(msgspec.Struct):
    corners: list[Point]


def make_point() -> Point:
    return Point(1)


async def make_shape() -> Shape:
    return Shape([Point(1), Point(2)])


def make_moment() -> datetime:
    return datetime(2030, 1, 1, tzinfo=UTC)


def make_pair() -> tuple[int, bytes]:
    return (1, b"\xff")


def make_nothing() -> None: ...


def make_another_thing() -> int:
    return "text"  # type: ignore[return-value]


def make_unhinted():  # type: ignore[no-untyped-def]
    return Shape([Point(1)])


@pytest.mark.parametrize(
    ("make", "result"),
    [
        (make_point, Point(1)),
        (make_shape, Shape([Point(1), Point(2)])),
        (make_moment, datetime(2030, 1, 1, tzinfo=UTC)),
        (make_pair, (1, b"\xff")),
        (make_nothing, None),
        (make_another_thing, "text"),
        (make_unhinted, {"corners": [{"x": 1}]}),
    ],
)
def test_a_result_has_the_type_of_the_return_hint(hf: Holdfast, make: Callable[[], Any], result: object) -> None:
    handle = hf.task(make).enqueue()
    hf.drain()
    assert handle.result(timeout=WAIT) == result


@both_engines
def test_a_failed_job_raises_with_the_code_and_message_of_its_last_try(hf: Holdfast) -> None:
    @hf.task
    def fail() -> None:
        raise Permanent("there is no such repository", code="ERR_NO_REPOSITORY")

    handle = fail.enqueue()
    hf.drain()
    with pytest.raises(JobFailed, match=r"job .* \(fail\) failed: there is no such repository") as raised:
        handle.result(timeout=WAIT)
    error = raised.value
    assert (error.job_id, error.state, error.error_code) == (handle.id, "FAILED", "ERR_NO_REPOSITORY")
    assert handle.wait() is StateName.FAILED


@both_engines
def test_an_exception_of_the_tasks_own_is_told_by_its_type(hf: Holdfast) -> None:
    @hf.task
    async def fail() -> None:
        raise LookupError("nobody home")

    handle = fail.enqueue()
    hf.drain()
    with pytest.raises(JobFailed, match="nobody home") as raised:
        handle.result(timeout=WAIT)
    assert raised.value.error_code == "LookupError"


@both_engines
def test_jobs_that_ended_otherwise_raise_what_became_of_them(hf: Holdfast, double: Task[..., int]) -> None:
    cancelled = double.enqueue(x=1)
    cancelled.cancel()
    superseded = double.options(subject="s").enqueue(x=1)
    double.options(subject="s").enqueue(x=2)
    states = {}
    for handle in (cancelled, superseded):
        with pytest.raises(JobCancelled, match=f"has no result, it is {handle.state}: ") as raised:
            handle.result(timeout=WAIT)
        states[handle.id] = raised.value.state
    assert states == {cancelled.id: "CANCELLED", superseded.id: "SUPERSEDED"}


def test_a_skipped_job_is_done_without_a_result(hf: Holdfast) -> None:
    @hf.task
    def skip() -> int:
        raise Skip("the file is unchanged")

    handle = skip.enqueue()
    hf.drain()
    assert handle.result(timeout=WAIT) is None
    assert (handle.state, handle.runs[0].status) == (StateName.DONE, RunStatus.SKIPPED)


def test_every_error_of_a_job_can_be_caught_as_one(hf: Holdfast, double: Task[..., int]) -> None:
    handle = double.enqueue(x=1)
    handle.cancel()
    with pytest.raises(JobError):
        handle.result()


@both_engines
def test_a_time_out_of_a_wait_leaves_the_job_alone(hf: Holdfast, double: Task[..., int]) -> None:
    handle = double.enqueue(x=1)
    with pytest.raises(StillRunning, match=r"has not ended within 0\.01 s: no worker offers task 'double'"):
        handle.result(timeout=0.01)
    with pytest.raises(TimeoutError):
        handle.wait(timeout=0)
    with pytest.raises(StillRunning):
        asyncio.run(handle.aresult(timeout=0))
    hf.drain()
    assert handle.result(timeout=0) == 2


@pytest.mark.parametrize("timeout", [-1, True, "soon", math.nan, math.inf])
def test_a_wrong_time_out_is_refused(double: Task[..., int], timeout: Any) -> None:
    handle = double.enqueue(x=1)
    with pytest.raises(InvalidInput, match="timeout"):
        handle.result(timeout=timeout)


async def wait_for_nothing() -> None: ...


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (object, "task 'bad' returned <object object .*, which is not JSON"),
        (lambda: math.nan, r"task 'bad' returned nan, .* JSON cannot write \(nan or infinity\)"),
        (lambda: Shape([math.inf]), r"JSON cannot write \(nan or infinity\)"),  # type: ignore[list-item]
        (lambda: "x" * (1 << 20), "the result of task 'bad' is 1048578 bytes of JSON"),
        (wait_for_nothing, "make the task an `async def`"),
    ],
)
def test_a_result_that_is_not_json_fails_the_job_for_good(hf: Holdfast, make: Callable[[], Any], message: str) -> None:
    @hf.task(retry=Retry(5))
    def bad() -> Any:
        return make()

    handle = bad.enqueue()
    hf.drain()
    with pytest.raises(JobFailed, match=message):
        handle.result(timeout=WAIT)
    assert [run.error_kind for run in handle.runs] == ["permanent"]


@both_engines
def test_a_function_can_wait_for_a_job_that_it_enqueued(hf: Holdfast, double: Task[..., int]) -> None:
    @hf.task
    def parent() -> int:
        return double.enqueue(x=21).result(timeout=WAIT)

    with hf:
        assert parent.enqueue().result(timeout=WAIT) == 42


@both_engines
def test_a_coroutine_can_await_a_job_that_it_enqueued(hf: Holdfast, double: Task[..., int]) -> None:
    @hf.task
    async def parent() -> int:
        return await (await double.aenqueue(x=21))

    with hf:
        assert parent.enqueue().result(timeout=WAIT) == 42


def test_a_coroutine_task_that_would_block_its_worker_is_told_to_await(hf: Holdfast, double: Task[..., int]) -> None:
    @hf.task
    async def parent() -> int:
        return double.enqueue(x=21).result()

    with hf, pytest.raises(JobFailed, match="must `await` the job it waits for"):
        parent.enqueue().result(timeout=WAIT)


def test_a_handle_outlives_the_memory_of_its_job(hf: Holdfast, double: Task[..., int]) -> None:
    known = double.options(subject="s", generation=1)
    handle = known.enqueue(x=1)
    hf.drain()
    hf._access.write(forget_old, 2**60)
    with pytest.raises(NotFound, match="there is no job"):
        handle.result()
    again = known.enqueue(x=1)
    assert (again.was_existing, again.state, again.generation) == (True, StateName.DONE, 1)
    with pytest.raises(NotFound, match="was done, and is gone by retention"):
        again.result()


def test_who_waits_for_a_job_that_nobody_runs_is_told(
    hf: Holdfast, double: Task[..., int], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.client.waiting.LOOK_AGAIN_S", 0.01)
    handles = double.enqueue(x=1), double.enqueue(x=2)
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(handles[0].wait, WAIT), threads.submit(lambda: asyncio.run(handles[1].await_(WAIT)))]
        assert wait_until(lambda: caplog.text.count("nobody runs") == 2)
        for handle in handles:
            handle.cancel()
        assert [one.result(WAIT) for one in waiting] == [StateName.CANCELLED] * 2
    assert caplog.text.count("nobody runs") == 2


def test_a_job_has_a_number_to_find_it_by(hf: Holdfast, double: Task[..., int]) -> None:
    handle = double.enqueue(x=1)
    assert hf.job(handle.number).id == handle.id
    assert asyncio.run(handle.anumber()) == handle.number
