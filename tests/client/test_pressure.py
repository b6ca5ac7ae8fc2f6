"""A program under pressure: what it holds back, and runs that make room when the power is unplugged."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from holdfast import Context, Holdfast, StateName
from holdfast.core.jobs.run import RunStatus
from holdfast.testing import ManualClock, SimulatedMachine
from tests.client import yielding_tasks
from tests.client.acts import WAIT, Gate, both_engines, wait_until

Make = Callable[..., Holdfast]


def heavy_program(make: Make, machine: SimulatedMachine, **options: object) -> Holdfast:
    hf = make(machine=machine, **options)
    hf.set_queue("heavy", queue_class="heavy")
    return hf


@both_engines
def test_heavy_jobs_of_a_program_wait_until_the_battery_is_better(make_holdfast: Make) -> None:
    machine = SimulatedMachine(battery=15)
    hf = heavy_program(make_holdfast, machine)

    @hf.task(queue="heavy")
    def index() -> str:
        return "done"

    job = index.enqueue()
    assert hf.drain() == 0
    assert "it runs on battery with 15 % left (simulated)" in str(job.why())
    machine.set(charging=True)
    assert hf.drain() == 1


def test_heavy_jobs_rest_for_a_minute_after_the_power_was_unplugged(make_holdfast: Make) -> None:
    clock, machine = ManualClock(), SimulatedMachine(charging=True, battery=90)
    hf = heavy_program(make_holdfast, machine, clock=clock)

    @hf.task(queue="heavy")
    def index() -> None: ...

    index.enqueue()
    assert hf.drain() == 1
    index.enqueue()
    machine.set(charging=False)
    assert hf.drain() == 0
    clock.advance(59)
    assert hf.drain() == 0
    clock.advance(11)
    assert hf.drain() == 1


@both_engines
@pytest.mark.parametrize("task", ["count", "count_apart"])
def test_a_run_that_looks_makes_room_and_goes_on_from_its_checkpoint(make_holdfast: Make, task: str) -> None:
    machine = SimulatedMachine(charging=True, battery=90)
    hf = heavy_program(make_holdfast, machine)
    hf._adopt(yielding_tasks.hf, "both")
    with hf:
        job = hf.enqueue(task, queue="heavy")
        assert wait_until(lambda: job.job.checkpoint is not None)
        machine.set(charging=False)
        assert wait_until(lambda: job.state is StateName.QUEUED)
        assert [run.status for run in job.runs] == [RunStatus.YIELDED]
        machine.set(charging=True)
        assert job.result(timeout=WAIT) == [1, 2]


def test_a_run_that_never_looks_goes_on_and_can_still_be_cancelled(make_holdfast: Make) -> None:
    machine, gate = SimulatedMachine(charging=True, battery=90), Gate()
    hf = heavy_program(make_holdfast, machine)
    asked = threading.Event()

    @hf.task(queue="heavy")
    async def deaf(ctx: Context) -> str:
        await asyncio.to_thread(wait_until, lambda: ctx.should_yield)
        asked.set()
        await gate.apass_through()
        return "done"

    with hf:
        job, other = deaf.enqueue(), deaf.enqueue()
        assert wait_until(lambda: [one.state for one in (job, other)] == [StateName.RUNNING] * 2)
        machine.set(charging=False)
        gate.await_arrival(2)
        assert asked.is_set()
        other.cancel()
        assert wait_until(lambda: other.state is StateName.CANCELLED)
        gate.open()
        assert job.result(timeout=WAIT) == "done"
