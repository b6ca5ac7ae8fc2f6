"""The loop that fires schedules, in a program that runs and in one that only drains."""

from __future__ import annotations

import asyncio
import queue
import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.core.messages.schedules import NewSchedule, ScheduleChanges
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.rules.limits import MAX_SUBJECT
from holdfast.core.schedules.schedule import Overlap
from holdfast.core.tasks.task import TemplateOptions
from holdfast.runtime.clock import ManualClock
from holdfast.runtime.clocks.clock_trust import ClockTrust
from holdfast.runtime.cron import LONGEST_S, CronLoop
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.schedules.schedules import edit_schedule, list_schedules, put_schedule
from holdfast.store.scripts.schedules.templates import put_template

PATIENCE_S = 60.0


class Program:
    """A program with one task, which says when it ran."""

    def __init__(self, path: Path) -> None:
        self.clock = ManualClock()
        self.hf = Holdfast(path, clock=self.clock)
        self.ran: queue.Queue[str] = queue.Queue()

        @self.hf.task
        def clean(room: str = "hall") -> None:
            self.ran.put(room)

    def schedule(self, cron: str) -> None:
        """Put a schedule for the task."""
        engine, now = self.hf._access.engine, self.clock.now()
        engine.run(put_template, NewTemplate(id="t", name="clean", task="clean"), now)
        wanted = NewSchedule(id="s", name="nightly", template="clean", cron=cron, overlap=Overlap.ALLOW)
        engine.run(put_schedule, wanted, now)

    def next_run(self) -> str:
        """The next run, as soon as there is one."""
        return self.ran.get(timeout=PATIENCE_S)

    def tick(self) -> float | None:
        """How long the loop would sleep now."""

        async def once() -> float | None:
            return await CronLoop(self.hf._access.engine, self.clock, ClockTrust(self.clock)).tick()

        return asyncio.run(once())


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path / "work.db")
    yield made
    made.hf.stop(short=0, grace=30)
    assert made.hf.doctor() == []
    made.hf.close()


def test_a_schedule_that_is_put_while_the_program_runs_fires_at_its_time(program: Program) -> None:
    program.hf.start()
    program.schedule("0 7 * * *")
    program.clock.advance(timedelta(hours=7))
    assert program.next_run() == "hall"
    program.clock.advance(timedelta(days=1))
    assert program.next_run() == "hall"


def test_an_edit_wakes_the_loop(program: Program) -> None:
    program.hf.start()
    program.schedule("0 7 * * *")
    changes = ScheduleChanges(cron="* * * * *", payload='{"room":"attic"}')
    program.hf._access.engine.run(edit_schedule, "nightly", changes, program.clock.now())
    program.clock.advance(60)
    assert program.next_run() == "attic"


def test_a_clock_that_is_set_forward_by_hand_fires_what_has_come(program: Program) -> None:
    program.hf.start()
    program.schedule("0 7 * * *")
    program.clock.step(timedelta(hours=8))
    assert program.next_run() == "hall"


def test_a_drain_fires_what_is_due_and_nothing_else(program: Program) -> None:
    program.schedule("0 7 * * *")
    assert program.hf.drain() == 0
    program.clock.advance(timedelta(hours=7))
    assert program.hf.drain() == 1
    assert program.hf.drain() == 0


def test_no_sleep_is_long_because_the_wall_clock_may_be_set(program: Program) -> None:
    assert program.tick() == LONGEST_S
    program.schedule("0 7 * * *")
    assert program.tick() == LONGEST_S
    program.clock.advance(timedelta(hours=6, minutes=59, seconds=50))
    assert program.tick() == 10.0
    program.clock.advance(10)
    assert program.tick() == LONGEST_S
    assert len(program.hf.jobs().jobs) == 1


def test_what_went_wrong_is_said(program: Program, caplog: pytest.LogCaptureFixture) -> None:
    program.schedule("0 7 * * *")
    program.clock.advance(timedelta(days=400))
    program.tick()
    program.clock.step(timedelta(days=-399))
    program.tick()
    assert "schedule 'nightly' was far ahead of the clock" in caplog.text


def test_a_schedule_whose_jobs_the_database_refuses_does_not_stop_the_others(
    postgres_url: str, postgres_schema: str
) -> None:
    clock, chance = ManualClock(), random.Random(1)
    engine = PostgresEngine(postgres_url, schema=postgres_schema, now=clock.now)
    # No index of PostgreSQL takes an entry of this length.
    subject = "".join(chr(chance.randint(0x4E00, 0x9FFF)) for _ in range(MAX_SUBJECT))
    for name, options in (("bad", TemplateOptions(subject=subject)), ("good", TemplateOptions())):
        engine.run(put_template, NewTemplate(id=name, name=name, task="t", options=options), clock.now())
        engine.run(put_schedule, NewSchedule(id=name, name=name, template=name, cron="* * * * *"), clock.now())
    clock.advance(60)

    async def fire() -> int:
        return await CronLoop(engine, clock, ClockTrust(clock)).fire_due()

    assert asyncio.run(fire()) == 1
    bad, good = engine.query(list_schedules)
    assert (bad.enabled, good.enabled, good.fires) == (False, True, 1)
    assert "cannot store a value that long" in (bad.disabled_reason or "")
    engine.close()
