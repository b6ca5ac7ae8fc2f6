"""Chores of the database as a program asks for them and sees them."""

from __future__ import annotations

import asyncio

import pytest

from holdfast import Holdfast, InvalidInput
from holdfast.core.machine.maintenance import MAINTENANCE, Chore


def test_a_drain_does_what_was_asked_for(hf: Holdfast) -> None:
    [job] = hf.maintain("retention")
    assert hf.drain() == 1
    assert job.result() == {"removed": 0}
    [view] = [view for view in hf.maintenance() if view.chore is Chore.RETENTION]
    assert view.last == job.job


def test_a_program_that_works_does_it_too(hf: Holdfast) -> None:
    with hf:
        [job] = hf.maintain("analyze")
        assert job.result(30)["tables"] > 0


def test_chores_stand_apart_from_the_jobs_of_the_user(hf: Holdfast) -> None:
    hf.maintain("retention")
    assert hf.jobs(without_system=True).jobs == []
    assert len(hf.jobs(queue=MAINTENANCE).jobs) == 1


def test_the_awaitable_twins_do_the_same(hf: Holdfast) -> None:
    async def ask() -> str:
        [job] = await hf.amaintain("events")
        return job.id

    assert hf.job(asyncio.run(ask())).job.task == "holdfast.events"
    assert asyncio.run(hf.amaintenance()) == hf.maintenance()


@pytest.mark.parametrize("chore", ["laundry", "", 7])
def test_an_unknown_chore_is_refused(hf: Holdfast, chore: str) -> None:
    with pytest.raises(InvalidInput, match=r"chore .* is not valid: use one of"):
        hf.maintain(chore)
    assert hf.jobs().jobs == []
