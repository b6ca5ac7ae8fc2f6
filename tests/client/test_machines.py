"""Jobs of an embedded program that wait until the machine is idle or charging."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput, JobHandle, NotFound, StateName
from holdfast.core.jobs.requests import NewJob
from holdfast.store.engine import new_uuid
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.testing import SimulatedMachine
from tests.client.acts import WAIT, both_engines

Make = Callable[..., Holdfast]


def tidying(make: Make, machine: SimulatedMachine | None = None) -> Holdfast:
    hf = make(machine=machine)

    @hf.task
    def tidy() -> str:
        return "tidy"

    return hf


def put(hf: Holdfast, **conditions: Any) -> JobHandle[Any]:
    job = NewJob(id=new_uuid(), task="tidy", **conditions)
    hf._access.write(enqueue, [job], hf._access.now())
    return hf.job(job.id)


@both_engines
def test_jobs_run_once_the_machine_is_what_they_wait_for(make_holdfast: Make) -> None:
    machine = SimulatedMachine(idle=False, charging=False)
    hf = tidying(make_holdfast, machine)
    idle, both = put(hf, wait_for_idle=True), put(hf, wait_for_idle=True, require_charging=True)
    assert hf.drain() == 0
    assert "in use (simulated)" in str(idle.why())
    machine.set(idle=True)
    assert hf.drain() == 1
    assert (idle.state, both.state) == (StateName.DONE, StateName.QUEUED)
    assert "discharging (simulated)" in str(both.why())
    machine.set(charging=True)
    assert hf.drain() == 1


@both_engines
def test_a_running_program_takes_notice_of_a_change(make_holdfast: Make) -> None:
    machine = SimulatedMachine(idle=False)
    with tidying(make_holdfast, machine) as hf:
        job = put(hf, wait_for_idle=True)
        machine.set(idle=True)
        assert job.result(timeout=WAIT) == "tidy"


@both_engines
def test_a_running_program_goes_by_a_change_when_it_was_made(make_holdfast: Make) -> None:
    machine = SimulatedMachine(idle=True)
    with tidying(make_holdfast, machine) as hf:
        for is_idle in (False, True, False, True, False):
            machine.set(idle=is_idle)
            [seen] = hf.machines()
            assert seen.is_idle is is_idle
        job = put(hf, wait_for_idle=True)
        machine.set(idle=True, charging=True)
        assert job.result(timeout=WAIT) == "tidy"


@both_engines
def test_a_job_that_comes_later_runs_on_a_machine_that_is_idle(make_holdfast: Make) -> None:
    with tidying(make_holdfast, SimulatedMachine(idle=True, charging=True)) as hf:
        assert put(hf, wait_for_idle=True, require_charging=True).result(timeout=WAIT) == "tidy"


def test_a_job_that_a_job_makes_runs_in_the_same_drain(make_holdfast: Make) -> None:
    hf = tidying(make_holdfast, SimulatedMachine(idle=True))

    @hf.task
    def make() -> None:
        put(hf, wait_for_idle=True)

    make.enqueue()
    assert hf.drain() == 2


def test_machines_are_listed_and_simulated_with_awaitable_twins(make_holdfast: Make) -> None:
    hf = tidying(make_holdfast)
    with pytest.raises(NotFound):
        hf.simulate(idle=True)
    put(hf, wait_for_idle=True)
    hf.drain()
    [before] = asyncio.run(hf.amachines())
    assert asyncio.run(hf.asimulate(idle=True)).is_idle
    assert hf.machines()[0].simulation is not None
    assert hf.drain() == 1
    assert hf.simulate().simulation is None
    assert before.simulation is None


def test_a_machine_that_is_none_is_refused(make_holdfast: Make) -> None:
    with pytest.raises(InvalidInput, match="SimulatedMachine"):
        make_holdfast(machine="laptop")
    with pytest.raises(InvalidInput, match="battery 101"):
        SimulatedMachine(battery=101)
