"""A machine without room for more refuses new jobs at the door: nothing half-enqueued, nothing lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.core.errors import StoreBusy, StoreFull
from holdfast.core.gates.pressure import REFUSAL_MS, Pressure
from holdfast.core.jobs.requests import SYSTEM_QUEUE
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.machine.measures import Level
from holdfast.core.values.group import GroupMode, OnFailure
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.group_jobs import enqueue_group
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.maintenance.probed_machines import note_machine
from holdfast.store.scripts.schedules.templates import enqueue_from_template
from holdfast.store.statements import Dialect
from tests.store.acts import FAILED_FOR_GOOD, NOW, claim_one, dump, end, new_job, put, put_one, write
from tests.store.schedule_acts import FIRST, fire, template, ticks
from tests.store.schedule_acts import put as put_schedule

CALM = JudgedMachine(is_idle=False, idle="in use", is_charging=True, charging="on AC", source="test")
FULL = Pressure("disk", Level.HIGH, "3 % of the disk are free", NOW)
LONG = Pressure("wal", Level.HIGH, "the write-ahead log has 300 MiB", NOW)


def press(engine: Engine, *pressing: Pressure, node: str | None = None, now: int = NOW) -> None:
    assert write(engine, note_machine, node or engine.node, CALM, None, now, pressing)


@pytest.mark.parametrize(("pressure", "error"), [(FULL, StoreFull), (LONG, StoreBusy)])
def test_a_machine_without_room_refuses_every_new_job_and_says_why(
    engine: Engine, pressure: Pressure, error: type[StoreFull]
) -> None:
    template(engine, "report")
    press(engine, pressure)
    before = dump(engine)
    ways: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (put_one, (engine, "one")),
        (put, (engine, new_job("a"), new_job("b", queue="other"), new_job("c", subject="x::y::z"))),
        (
            write,
            (engine, enqueue_group, "g", None, GroupMode.PARALLEL, OnFailure.STOP, [new_job("m", group_id="g")], NOW),
        ),
        (write, (engine, enqueue_from_template, "report", "from template", NOW)),
    ]
    for way, args in ways:
        with pytest.raises(
            error, match=f"on {re.escape(engine.node)} {pressure.says}; nothing was enqueued"
        ) as refused:
            way(*args)
        assert refused.value.retry_after is not None
    assert dump(engine) == before


def test_jobs_come_in_again_when_there_is_room_or_nobody_looks_any_more(engine: Engine) -> None:
    press(engine, FULL)
    put_one(engine, "nobody looks", now=NOW + REFUSAL_MS)
    press(engine)
    put_one(engine, "room")


def test_a_refusal_of_a_clock_that_was_ahead_is_none(engine: Engine) -> None:
    press(engine, FULL, now=NOW + 10 * REFUSAL_MS)
    put_one(engine, "the clock was set right")


def test_the_full_disk_of_another_machine_matters_only_where_the_database_is_on_it(engine: Engine) -> None:
    press(engine, FULL, node="elsewhere")
    if engine.dialect is Dialect.POSTGRES:
        put_one(engine, "the server has its own disk")
    else:
        with pytest.raises(StoreFull):
            put_one(engine, "another name of the same machine")


def test_what_was_let_in_before_and_what_makes_room_comes_in(engine: Engine) -> None:
    put_one(engine, "earlier")
    end(engine, claim_one(engine), FAILED_FOR_GOOD)
    press(engine, FULL)
    assert write(engine, retry_job, "earlier", NOW).id
    put_one(engine, "system", queue=f"{SYSTEM_QUEUE}.maintenance")


def test_a_tick_that_is_refused_fires_when_there_is_room(engine: Engine) -> None:
    put_schedule(engine)
    press(engine, FULL)
    with pytest.raises(StoreFull):
        fire(engine, FIRST)
    press(engine)
    fire(engine, FIRST)
    assert ticks(engine) == [0]
