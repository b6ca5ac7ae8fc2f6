"""Tokens as a program gives and sees them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput, StateName
from holdfast.core.rules.tokens import Tokens


def test_a_task_and_a_job_say_what_they_need(hf: Holdfast) -> None:
    @hf.task(tokens={"cpu": 2, "gpu": 1})
    def work() -> None: ...

    assert work.enqueue().job.tokens == Tokens(cpu=2, gpu=1)
    assert work.options(tokens={"io": 1}).enqueue().job.tokens == Tokens(io=1)
    assert work.options(tokens={}).enqueue().job.tokens == Tokens()


def test_a_job_that_fits_runs_and_one_that_never_does_says_so(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    fits = work.options(tokens={"cpu": 1, "gpu": 1, "io": 1}).enqueue()
    never = work.options(tokens={"gpu": 1_000}).enqueue()
    assert hf.drain() == 1
    assert (fits.state, never.state) == (StateName.DONE, StateName.QUEUED)
    [machine] = hf.tokens()
    assert (machine.in_use, machine.capacity.gpu) == (Tokens(), 1)
    hf.set_tokens(gpu=1_000)
    assert hf.drain() == 1


def test_a_template_keeps_them(hf: Holdfast) -> None:
    hf.create_template("big", "work", tokens={"cpu": 3})
    assert hf.enqueue_template("big").job.tokens == Tokens(cpu=3)
    assert hf.enqueue_template("big", tokens={"cpu": 1}).job.tokens == Tokens(cpu=1)


def test_a_retry_by_hand_needs_the_same(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    job = work.options(tokens={"cpu": 1}).enqueue()
    hf.drain()
    assert job.retry().job.tokens == Tokens(cpu=1)


def test_the_awaitable_twins_say_the_same(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    work.enqueue()
    hf.drain()

    async def all_of_it() -> list[Any]:
        await hf.aset_tokens(cpu=5, timeout=2)
        return await hf.atokens()

    [machine] = asyncio.run(all_of_it())
    assert (machine.capacity.cpu, machine.timeout_ms, machine.set_by) == (5, 2_000, "hand")


@pytest.mark.parametrize("bad", [{"cpu": -1}, {"cpu": 1.5}, {"cpu": True}, {"ram": 1}, "cpu", {"gpu": 10**9}])
def test_what_makes_no_sense_is_refused(hf: Holdfast, bad: Any) -> None:
    @hf.task
    def work() -> None: ...

    with pytest.raises(InvalidInput):
        work.options(tokens=bad).enqueue()
    assert hf.counts() == {}


def test_nothing_to_set_is_refused(hf: Holdfast) -> None:
    with pytest.raises(InvalidInput, match="nothing to set"):
        hf.set_tokens()
