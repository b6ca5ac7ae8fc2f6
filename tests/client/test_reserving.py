"""A queue, or everything, kept free of new runs for the time of a block; and what there is to see as a whole."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast import Busy, Conflict, Holdfast, InvalidInput, JobFailed, StateName
from holdfast.runtime.sessions.processes import RUN_VARIABLE
from holdfast.testing import ManualClock
from tests.client.acts import WAIT, Gate, both_engines
from tests.client.conftest import Database

HOLDER = """
import sys, threading
from holdfast import Holdfast

with Holdfast(sys.argv[1], schema=sys.argv[2]).reserve("*"):
    print("held", flush=True)
    threading.Event().wait()
"""


@both_engines
def test_nothing_starts_in_the_scope_until_the_block_ends(hf: Holdfast) -> None:
    @hf.task
    def task() -> None: ...

    @hf.task(queue="free")
    def elsewhere() -> None: ...

    with hf:
        with hf.reserve("default", wait=WAIT, reserved_by="me") as held:
            assert (held.scope, held.reserved_by, held.granted_at is not None) == ("default", "me", True)
            job = task.enqueue()
            elsewhere.enqueue().result(WAIT)
            assert job.state is StateName.QUEUED
            assert [gate.gate for gate in job.why().closed] == ["reservation"]
            assert [row.id for row in hf.reservations()] == [held.id]
        job.result(WAIT)
    assert hf.reservations() == []


@both_engines
def test_the_block_begins_when_what_runs_has_ended(hf: Holdfast) -> None:
    gate = Gate()

    @hf.task
    def task() -> None:
        gate.pass_through()

    with hf:
        job = task.enqueue()
        gate.await_arrival()
        with pytest.raises(Busy, match="has not ended in time"), hf.reserve(wait=0):
            raise AssertionError("it runs still")
        assert hf.reservations() == []
        gate.open()
        with hf.reserve(wait=WAIT):
            assert job.state is StateName.DONE


@both_engines
def test_a_second_one_is_refused_if_its_caller_does_not_wait(hf: Holdfast) -> None:
    with hf.reserve("build"):
        for scope in ("build", "*"):
            with pytest.raises(Busy, match="is reserved by"), hf.reserve(scope, wait=0):
                raise AssertionError("it is taken")
        with hf.reserve("other", wait=0):
            pass


@both_engines
def test_a_second_one_waits_for_the_first(hf: Holdfast) -> None:
    order: list[str] = []

    async def second() -> None:
        async with hf.reserve("build", wait=WAIT):
            order.append("second")

    with ThreadPoolExecutor() as threads:
        with hf.reserve("build"):
            waiting = threads.submit(asyncio.run, second())
            order.append("first")
        waiting.result(WAIT)
    assert order == ["first", "second"]


@both_engines
def test_it_ends_with_its_time_to_live(make_holdfast: Callable[..., Holdfast]) -> None:
    hf, other = make_holdfast(), make_holdfast()
    with hf.reserve("build", ttl=0.05), other.reserve("build", wait=WAIT) as second:
        assert second.granted_at is not None


def test_one_object_is_one_reservation(hf: Holdfast) -> None:
    reserving = hf.reserve("build")
    with reserving, pytest.raises(InvalidInput, match="in use already"), reserving:
        pass
    with reserving:
        pass


@pytest.mark.parametrize("scope", ["", "a b", 5])
def test_a_scope_is_a_queue_or_everything(hf: Holdfast, scope: str) -> None:
    with pytest.raises(InvalidInput, match=r"scope .* is not valid: use "):
        hf.reserve(scope)


def test_a_run_in_the_scope_cannot_reserve_it(hf: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    job = hf.enqueue("anything", queue="build")
    monkeypatch.setenv(RUN_VARIABLE, "r")
    monkeypatch.setenv("HOLDFAST_JOB_ID", job.id)
    for scope in ("build", "*"):
        with pytest.raises(InvalidInput, match=f"this is a run of job {job.number}"), hf.reserve(scope):
            pass
    with hf.reserve("other"):
        pass


@both_engines
def test_a_function_or_coroutine_in_the_scope_cannot_reserve_it(hf: Holdfast) -> None:
    @hf.task(queue="build")
    def function(scope: str) -> str:
        with hf.reserve(scope, wait=0) as held:
            return held.scope

    @hf.task(queue="build")
    async def coroutine(scope: str) -> str:
        async with hf.reserve(scope, wait=0) as held:
            return held.scope

    with hf:
        for task in (function, coroutine):
            for scope in ("build", "*"):
                with pytest.raises(JobFailed, match="which the reservation would wait for"):
                    task.enqueue(scope).result(WAIT)
            assert task.enqueue("other").result(WAIT) == "other"
    with hf.reserve("build", wait=0):
        pass


@both_engines
def test_whoever_has_a_reservation_knows_when_it_is_over(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)
    with hf.reserve("build", ttl=60) as held:
        held.check()
        assert held.is_held
        clock.advance(60)
        assert not held.is_held
        with pytest.raises(Conflict, match="the reservation of 'build' is over"):
            held.check()
    with hf.reserve("build") as held:
        pass
    assert not held.is_held


@both_engines
def test_whoever_waits_too_long_is_told_who_has_it(hf: Holdfast) -> None:
    with hf.reserve("build", reserved_by="ada"):
        with (
            pytest.raises(Busy, match=r"everything is reserved by ada, who reserved queue 'build'; wait longer"),
            hf.reserve(wait=0.05),
        ):
            raise AssertionError("it is taken")
        assert [held.reserved_by for held in hf.reservations()] == ["ada"]


@both_engines
def test_whoever_waits_notices_that_the_holder_was_killed(hf: Holdfast, database: Database) -> None:
    program = [sys.executable, "-c", HOLDER, database.path_or_url, database.schema]
    holder = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "held\n"
        holder.kill()
        holder.wait(WAIT)
    # Nobody works on this database: no daemon, and no program that runs jobs.
    with hf.reserve("default", wait=WAIT) as held:
        assert held.is_held


def test_the_figures_tell_who_works_on_what(hf: Holdfast) -> None:
    @hf.task(queue="maths")
    def double(x: int) -> int:
        return 2 * x

    hf.pause("resting", "night")
    with hf:
        double.enqueue(x=1).result(WAIT)
        [worker] = hf.workers()
        stats = hf.stats()
        assert ("double" in worker.tasks, stats.workers, stats.slots) == (True, 1, worker.slots)
        queues = {queue.name: queue for queue in stats.queues}
        assert queues["maths"].jobs == {StateName.DONE: 1}
        assert queues["resting"].pause_reason == "night"
    assert asyncio.run(hf.astats()).workers == 0


@both_engines
def test_groups_are_listed_page_by_page(hf: Holdfast) -> None:
    made = [hf.create_group(name).id for name in ("a", "b", "c")]
    first = hf.groups(limit=2)
    second = asyncio.run(hf.agroups(limit=2, cursor=first.cursor))
    assert [group.id for group in first.groups + second.groups] == made[::-1]
    assert second.cursor is None
