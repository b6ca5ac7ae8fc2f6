"""`@hf.cron`: schedules that stand in the code. The database has what the code asks for, and a person's word holds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput, InvalidPayload
from holdfast.hosting.declarations import owner_of
from holdfast.store.scripts.schedules.declaring import NO_LONGER
from holdfast.testing import ManualClock
from tests.client.acts import WAIT, wait_until

Make = Callable[..., Holdfast]
MINUTE = 60


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def program(make_holdfast: Make, clock: ManualClock) -> Callable[..., Holdfast]:
    """The same program at different times: each of its schedules has the expression that is given."""

    def start(**schedules: str) -> Holdfast:
        hf = make_holdfast(clock=clock)

        @hf.task
        def plain() -> None:
            """By this task the code is known, whether it asks for a schedule or not."""

        for name, expression in schedules.items():

            @hf.cron(expression, name=name)
            @hf.task(name=name)
            def task() -> None: ...

        hf.drain()
        return hf

    return start


def stored(hf: Holdfast) -> dict[str, str | None]:
    return {schedule.name: schedule.disabled_reason for schedule in hf.schedules()}


def test_it_stands_above_a_task_or_makes_one(make_holdfast: Make, clock: ManualClock) -> None:
    hf = make_holdfast(clock=clock)

    @hf.cron("* * * * *", payload={"n": 3})
    @hf.cron("*/5 * * * *", name="rarely", tz="Asia/Seoul", overlap="allow", misfire="skip", jitter=30)
    @hf.task(queue="counting", retry=2, subject="count::{n}")
    def count(n: int = 1) -> int:
        return n

    @hf.cron("0 7 * * *")
    async def alone() -> str:
        return "alone"

    assert (count(5), alone.name) == (5, "alone")
    assert hf.drain() == 0
    rarely = hf.schedule("rarely").view()
    assert (rarely.timezone, rarely.overlap, rarely.misfire, rarely.jitter_ms) == (
        "Asia/Seoul",
        "allow",
        "skip",
        30_000,
    )
    clock.advance(MINUTE)
    assert hf.drain() == 1
    [job] = hf.jobs().jobs
    assert (job.task, job.queue, job.payload, job.subject) == ("count", "counting", '{"n":3}', "count::3")
    assert job.policy.retries == 2
    assert sorted(stored(hf)) == ["alone", "count", "rarely"]


def test_a_program_that_runs_fires_by_itself(make_holdfast: Make, clock: ManualClock) -> None:
    hf = make_holdfast(clock=clock)

    @hf.cron("* * * * *", payload={"word": "tick"})
    def say(word: str) -> str:
        return word

    with hf:
        assert stored(hf) == {"say": None}
        clock.advance(MINUTE)
        assert wait_until(lambda: len(hf.jobs().jobs) == 1)
        assert hf.job(hf.jobs().jobs[0].id).result(WAIT) == "tick"


def test_what_the_code_asks_for_is_brought_up_to_date_once(program: Callable[..., Holdfast]) -> None:
    first = program(nightly="0 0 * * *").schedule("nightly").view()
    hf = program(nightly="0 5 * * *")
    [again] = hf.schedules()
    assert (again.id, again.words, again.origin) == (first.id, "At 05:00 every day, UTC", "code")
    assert len(hf.templates()) == 1


def test_what_the_code_no_longer_asks_for_is_disabled_until_it_does_again(program: Callable[..., Holdfast]) -> None:
    program(kept="0 0 * * *", dropped="0 0 * * *")
    assert stored(program(kept="0 0 * * *")) == {"kept": None, "dropped": NO_LONGER}
    assert stored(program()) == {"kept": NO_LONGER, "dropped": NO_LONGER}
    assert stored(program(dropped="0 0 * * *")) == {"kept": NO_LONGER, "dropped": None}


def test_what_a_person_paused_stays_paused(program: Callable[..., Holdfast]) -> None:
    program(nightly="0 0 * * *").schedule("nightly").pause("holidays")
    assert stored(program(nightly="0 5 * * *")) == {"nightly": "holidays"}
    assert stored(program()) == {"nightly": "holidays"}
    assert stored(program(nightly="0 5 * * *")) == {"nightly": "holidays"}


def test_what_a_person_archived_stays_archived(program: Callable[..., Holdfast]) -> None:
    program(nightly="0 0 * * *").archive_template("nightly")
    hf = program(nightly="0 0 * * *")
    assert stored(hf) == {"nightly": "template 'nightly' was archived"}
    hf.schedule("nightly").delete()
    assert stored(program(nightly="0 0 * * *")) == {"nightly": None}


def test_what_a_person_made_is_left_alone(program: Callable[..., Holdfast], caplog: pytest.LogCaptureFixture) -> None:
    hf = program()
    mine = hf.create_schedule("mine", cron="0 0 * * *", task="other").view()
    template = hf.create_template("kept", "other")
    with caplog.at_level(logging.ERROR, "holdfast.cron"):
        hf = program(mine="* * * * *", kept="* * * * *", fine="* * * * *")
    assert hf.schedule("mine").view() == mine
    assert hf.template("kept") == template
    assert stored(hf) == {"mine": None, "fine": None}
    assert [record.levelname for record in caplog.records if record.name == "holdfast.cron"] == ["ERROR", "ERROR"]
    assert "there is a schedule 'mine' that no code declared" in caplog.text


def test_the_schedules_of_other_code_are_left_alone(program: Callable[..., Holdfast], make_holdfast: Make) -> None:
    hf = program(nightly="0 0 * * *")
    other: dict[str, Any] = {"make": make_holdfast, "__name__": "another.program"}
    exec("hf = make()\n@hf.cron('0 0 * * *')\ndef theirs(): ...\nhf.drain()", other)
    assert stored(hf) == {"nightly": None, "theirs": None}
    exec("hf = make()\n@hf.task\ndef theirs(): ...\nhf.drain()", other)
    assert stored(hf) == {"nightly": None, "theirs": NO_LONGER}


def test_mistakes_show_where_the_code_is(make_holdfast: Make) -> None:
    hf, other = make_holdfast(), make_holdfast()

    @hf.task
    def index(path: str) -> None: ...

    with pytest.raises(InvalidInput, match="its hour does not fit"):
        hf.cron("0 25 * * *")
    with pytest.raises(InvalidInput, match="no time zone 'Mars/Base'"):
        hf.cron("0 0 * * *", tz="Mars/Base")
    with pytest.raises(InvalidPayload, match="missing a required argument: 'path'"):
        hf.cron("0 0 * * *")(index)
    with pytest.raises(InvalidInput, match="belongs to another Holdfast"):
        other.cron("0 0 * * *", payload={"path": "a"})(index)
    with pytest.raises(InvalidInput, match="stand above"):
        hf.task(index)
    hf.cron("0 0 * * *", payload={"path": "a"})(index)
    with pytest.raises(InvalidInput, match="there is a schedule 'index' in this code already"):
        hf.cron("0 1 * * *", payload={"path": "b"})(index)


def test_no_schedule_is_added_to_a_program_that_runs(make_holdfast: Make) -> None:
    hf = make_holdfast()
    with hf, pytest.raises(InvalidInput, match="runs already"):

        @hf.cron("0 0 * * *")
        def late() -> None: ...


def test_code_is_known_by_its_package_or_its_file() -> None:
    assert owner_of({"__name__": "shop.tasks", "__file__": "/somewhere/shop/tasks.py"}) == "shop.tasks"
    assert owner_of({"__name__": "tasks", "__file__": "/somewhere/tasks.py"}) == "/somewhere/tasks.py"
    assert owner_of({"__name__": "__main__", "__file__": "/somewhere/tasks.py"}) == "/somewhere/tasks.py"
    assert owner_of({"__name__": "__main__"}) is None
    assert len(owner_of({"__name__": "t", "__file__": "/x" * 500}) or "") == 200
