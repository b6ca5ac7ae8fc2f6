"""How many jobs run at once: by the slots of a program, by the limit of a queue, and not at all while it is paused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast import Holdfast, JobHandle, StateName, Task
from tests.client.acts import WAIT, Crowd, Gate, both_engines, wait_until


class Workshop:
    """Tasks that stay at a gate while the test counts them."""

    def __init__(self, hf: Holdfast, crowd: Crowd | None = None, gate: Gate | None = None) -> None:
        self.crowd, self.gate = crowd or Crowd(), gate or Gate()
        self.function = hf.task(name="function")(self._function)
        self.coroutine = hf.task(name="coroutine")(self._coroutine)
        self._ping = hf.task(name="ping", queue="pings")(lambda: None)

    def _function(self) -> None:
        with self.crowd.inside():
            self.gate.pass_through()

    async def _coroutine(self) -> None:
        with self.crowd.inside():
            await self.gate.apass_through()

    def let_it_claim(self) -> None:
        """What can be claimed now is claimed by the end of this: a job of another queue has come and gone."""
        for _ in range(2):
            self._ping.enqueue().result(timeout=WAIT)


def end_all(handles: list[JobHandle[None]]) -> set[StateName]:
    return {handle.wait(timeout=WAIT) for handle in handles}


@both_engines
@pytest.mark.parametrize("kind", ["function", "coroutine"])
def test_a_queue_runs_as_many_as_it_has_slots(make_holdfast: Callable[..., Holdfast], kind: str) -> None:
    hf = make_holdfast(concurrency=3)
    shop = Workshop(hf)
    with hf:
        task: Task[..., None] = getattr(shop, kind)
        handles = task.enqueue_many([{}] * 12)
        shop.gate.await_arrival(3)
        shop.let_it_claim()
        shop.gate.open()
        assert end_all(handles) == {StateName.DONE}
    assert shop.crowd.most == 3


def test_functions_and_coroutines_share_the_slots_of_their_queue(make_holdfast: Callable[..., Holdfast]) -> None:
    hf = make_holdfast(concurrency=4)
    shop = Workshop(hf)
    with hf:
        handles = [task.enqueue() for _ in range(6) for task in (shop.function, shop.coroutine)]
        shop.gate.await_arrival(4)
        shop.let_it_claim()
        shop.gate.open()
        end_all(handles)
    assert shop.crowd.most == 4


def test_each_queue_has_the_slots_it_is_given(make_holdfast: Callable[..., Holdfast]) -> None:
    hf = make_holdfast(concurrency={"default": 2, "bulk": 3, "off": 0})
    default, bulk = Workshop(hf), Crowd()

    @hf.task(queue="elsewhere")
    def other() -> None:
        with bulk.inside():
            default.gate.pass_through()

    with hf:
        handles = default.function.enqueue_many([{}] * 6)
        handles += other.options(queue="bulk").enqueue_many([{}] * 6)
        off = other.options(queue="off").enqueue()
        default.gate.await_arrival(5)
        default.let_it_claim()
        default.gate.open()
        end_all(handles)
        assert (default.crowd.most, bulk.most, off.state) == (2, 3, StateName.QUEUED)


@both_engines
def test_the_limit_of_a_queue_holds_over_all_programs(make_holdfast: Callable[..., Holdfast]) -> None:
    one, two = make_holdfast(), make_holdfast()
    first = Workshop(one)
    second = Workshop(two, first.crowd, first.gate)
    one.limit("default", 3)
    with one, two:
        handles = first.function.enqueue_many([{}] * 12)
        first.gate.await_arrival(3)
        first.let_it_claim()
        second.let_it_claim()
        assert one.counts()["default"] == {StateName.QUEUED: 9, StateName.RUNNING: 3}
        first.gate.open()
        assert end_all(handles) == {StateName.DONE}
    assert first.crowd.most == 3


@both_engines
def test_lifting_a_limit_starts_what_it_held_back(hf: Holdfast) -> None:
    shop = Workshop(hf)
    hf.limit("default", 0)
    with hf:
        handles = shop.function.enqueue_many([{}] * 2)
        shop.let_it_claim()
        assert hf.counts()["default"] == {StateName.QUEUED: 2}
        hf.limit("default", None)
        shop.gate.await_arrival(2)
        shop.gate.open()
        end_all(handles)


@both_engines
def test_a_paused_queue_starts_nothing_until_it_is_resumed(hf: Holdfast) -> None:
    shop = Workshop(hf)
    with hf:
        running = shop.function.enqueue()
        shop.gate.await_arrival()
        hf.pause("default", "the disk is nearly full")
        waiting = shop.function.enqueue()
        shop.let_it_claim()
        assert waiting.state is StateName.QUEUED
        shop.gate.open()
        assert running.wait(timeout=WAIT) is StateName.DONE
        hf.resume("default")
        assert waiting.wait(timeout=WAIT) is StateName.DONE


@both_engines
def test_a_pause_holds_for_other_programs_and_after_a_restart(make_holdfast: Callable[..., Holdfast]) -> None:
    one, two = make_holdfast(), make_holdfast()
    one.pause("default")
    handle = Workshop(two).function.enqueue()
    assert two.drain() == 0
    assert handle.state is StateName.QUEUED


@both_engines
def test_a_finished_job_makes_room_for_a_job_of_another_program(make_holdfast: Callable[..., Holdfast]) -> None:
    works, only_enqueues = make_holdfast(concurrency=1), make_holdfast()
    gate = Gate()

    def wait_here() -> None:
        gate.pass_through()

    works.task(wait_here)
    task = only_enqueues.task(wait_here)
    with works:
        handles = [task.enqueue() for _ in range(3)]
        gate.await_arrival()
        assert wait_until(lambda: only_enqueues.counts()["default"].get(StateName.RUNNING) == 1)
        gate.open()
        assert end_all(handles) == {StateName.DONE}
