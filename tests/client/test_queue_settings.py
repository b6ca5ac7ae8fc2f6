"""What a program sets for its queues, and how it waits while one of them is full."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput, JobHandle, QueueFull, Retry, StateName, Task
from holdfast.core.errors import HoldfastError
from holdfast.core.gates.queue import Overflow, QueueClass
from holdfast.core.values.retry import RetryPolicy
from holdfast.runtime.clock import ManualClock
from tests.client.acts import WAIT, both_engines, wait_until


class Waiting:
    """An enqueue in a thread of its own."""

    def __init__(self, enqueue: Callable[[], JobHandle[None]]) -> None:
        self.handle: JobHandle[None] | None = None
        self.refused: HoldfastError | None = None
        self._enqueue = enqueue
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.handle = self._enqueue()
        except HoldfastError as error:
            self.refused = error

    def join(self) -> None:
        self._thread.join(WAIT)
        assert not self._thread.is_alive()


def full(hf: Holdfast) -> tuple[Task[[], None], JobHandle[None]]:
    """A task whose queue is full, and the job that fills it."""

    @hf.task(queue="narrow")
    def work() -> None: ...

    hf.set_queue("narrow", max_length=1)
    return work, work.enqueue()


def somebody_waits(clock: ManualClock) -> bool:
    return bool(clock._callbacks)


@both_engines
def test_settings_are_as_they_were_set_and_set_back(hf: Holdfast) -> None:
    hf.set_queue("mail", limit=2, rate=(10, 60), max_length=9, overflow="shed", queue_class="heavy", timeout=5)
    found = hf.set_queue("mail", retry=Retry(5, initial=1), breaker=3, breaker_for=60, clear="limit")
    assert (found.breaker, found.breaker_for_ms) == (3, 60_000)
    assert found == hf.queue("mail") == hf.queues()[0]
    assert (found.concurrency, str(found.rate), found.max_length, found.timeout_ms) == (None, "10/min", 9, 5_000)
    assert (found.overflow, found.queue_class) == (Overflow.SHED, QueueClass.HEAVY)
    assert found.retry == Retry(5, initial=1).policy


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rate": "often"}, "'often'"),
        ({"rate": (0, 60)}, "rate (0, 60"),
        ({"limit": -1}, "limit -1"),
        ({"max_length": -1}, "max_length -1"),
        ({"breaker": -1}, "breaker -1"),
        ({"breaker_for": 0}, "breaker_for"),
        ({"preset": "fast"}, "preset 'fast' is not valid: use one of 'cleanup', 'indexing'"),
        ({"overflow": "drop"}, "overflow 'drop' is not valid: use one of 'reject', 'shed'"),
        ({"queue_class": "fat"}, "class 'fat'"),
        ({"retry": Retry(1, permanent=KeyError)}, "permanent="),
        ({"timeout": "soon"}, "timeout 'soon'"),
        ({"clear": ["speed"]}, "clear 'speed'"),
        ({"limit": 1, "clear": "limit"}, "limit is to be set to 1 and to be cleared"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused_with_its_value(hf: Holdfast, settings: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said.replace("(", r"\(")):
        hf.set_queue("mail", **settings)


def test_what_is_no_setting_is_refused_as_an_argument_that_there_is_not(hf: Holdfast) -> None:
    with pytest.raises(TypeError, match="'speed' is not a setting of a queue; use limit, rate, "):
        hf.set_queue("mail", speed=5)  # type: ignore[call-arg]


@both_engines
@pytest.mark.parametrize(
    ("preset", "policy"),
    [
        ("cleanup", RetryPolicy(retries=1)),
        ("indexing", RetryPolicy(retries=5, initial_ms=1_000, factor=3.0, cap_ms=300_000)),
    ],
)
def test_a_preset_stands_for_a_retry(hf: Holdfast, preset: str, policy: RetryPolicy) -> None:
    assert hf.set_queue("q", preset=preset).retry == policy
    assert hf.enqueue("t", queue="q").job.policy == policy
    assert hf.set_queue("q", clear="retry").retry is None
    assert hf.set_queue("q", preset=preset).retry == policy
    assert hf.set_queue("q", clear="preset").retry is None
    # What is said exactly stands above it.
    assert hf.set_queue("q", preset=preset, retry=2).retry == RetryPolicy(retries=2)


@both_engines
def test_a_job_that_says_nothing_is_tried_as_often_as_its_queue_says(hf: Holdfast) -> None:
    tries: list[str] = []

    @hf.task(queue="index", name="silent")
    def silent() -> None:
        tries.append("silent")
        raise OSError

    @hf.task(queue="index", name="own", retry=0)
    def own() -> None:
        tries.append("own")
        raise OSError

    hf.set_queue("index", retry=Retry(2, initial=0))
    silent.enqueue()
    own.enqueue()
    hf.drain()
    assert sorted(tries) == ["own", "silent", "silent", "silent"]


@both_engines
def test_a_full_queue_is_refused_at_once_if_nobody_wants_to_wait(make_holdfast: Callable[..., Holdfast]) -> None:
    hf = make_holdfast(wait_for_room=0)
    work, _ = full(hf)
    with pytest.raises(QueueFull, match="queue 'narrow' is full"):
        work.enqueue()
    with pytest.raises(QueueFull):
        asyncio.run(work.aenqueue())
    with pytest.raises(QueueFull):
        hf.group(work.call(), work.call())
    assert len(hf.jobs().jobs) == 1


@both_engines
def test_an_enqueue_waits_for_room_by_the_clock(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    work, first = full(make_holdfast(clock=clock, wait_for_room=WAIT))
    waiting = Waiting(work.enqueue)
    assert wait_until(lambda: somebody_waits(clock))
    first.cancel()
    clock.advance(1)
    waiting.join()
    assert waiting.handle is not None
    assert waiting.handle.state is StateName.QUEUED


@both_engines
def test_when_patience_is_at_its_end_the_refusal_is_raised(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    work, _ = full(make_holdfast(clock=clock, wait_for_room=WAIT))
    waiting = Waiting(work.enqueue)
    assert wait_until(lambda: somebody_waits(clock))
    clock.advance(WAIT)
    waiting.join()
    assert isinstance(waiting.refused, QueueFull)


@both_engines
def test_an_awaited_enqueue_waits_without_standing_in_the_way(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    work, first = full(make_holdfast(clock=clock, wait_for_room=WAIT))

    async def both() -> JobHandle[None]:
        waiting = asyncio.create_task(work.aenqueue())
        assert await asyncio.to_thread(wait_until, lambda: somebody_waits(clock))
        await first.acancel()
        clock.advance(1)
        return await asyncio.wait_for(waiting, WAIT)

    assert asyncio.run(both()).state is StateName.QUEUED


@both_engines
def test_a_rate_lets_jobs_through_when_its_window_moves_on(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)

    @hf.task
    def work() -> None: ...

    hf.set_queue("default", rate="2/min")
    with hf:
        handles = work.enqueue_many([{}] * 5)
        for done in (2, 4, 5):
            assert wait_until(lambda done=done: sum(h.state is StateName.DONE for h in handles) == done)  # type: ignore[misc]
            clock.advance(60)
