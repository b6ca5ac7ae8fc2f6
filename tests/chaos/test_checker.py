"""The checker of the kill tests sees what it is there to see."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.messages.webhooks import NewWebhook
from holdfast.core.schedules.schedule import Misfire
from holdfast.core.values.group import GroupMode, OnFailure
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.groups.groups import create_group
from holdfast.store.scripts.schedules.firing import fire_due
from holdfast.store.scripts.schedules.schedules import put_schedule
from holdfast.store.scripts.schedules.templates import put_template
from holdfast.store.scripts.webhooks.webhooks import put_webhook
from tests.chaos.checker import problems
from tests.chaos.database import select, statement
from tests.chaos.journal import Journal
from tests.chaos.scenarios.shared import NOW, job, put, work_off

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@pytest.fixture
def journal(folder: Path) -> Journal:
    return Journal(folder)


@pytest.fixture
def run_id(engine: Engine, folder: Path, journal: Journal) -> str:
    """The run of the job `a`, which is done, and of which all is well."""
    put(engine, job("a"))
    journal.note("acked", "a")
    work_off(engine, "s", NOW)
    [run] = select(engine, "SELECT id FROM job_runs")
    journal.note("start", run["id"], "a")
    journal.note("end", run["id"], "a")
    assert problems(engine, folder) == []
    return str(run["id"])


def test_a_lost_job_is_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    journal.note("acked", "stray")
    assert problems(engine, folder) == ["job stray was acknowledged and is lost"]


def test_a_job_that_did_not_end_is_seen(engine: Engine, folder: Path) -> None:
    put(engine, job("a"))
    assert problems(engine, folder) == ["job a (work) is left QUEUED"]


@pytest.mark.usefixtures("run_id")
def test_a_run_that_the_store_does_not_know_is_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    journal.note("start", "stray", "a")
    journal.note("end", "stray", "a")
    assert problems(engine, folder) == ["run stray was started and is not in the store"]


def test_a_run_that_starts_twice_is_seen(engine: Engine, folder: Path, journal: Journal, run_id: str) -> None:
    journal.note("start", run_id, "a")
    assert "a run was started twice" in problems(engine, folder)


def test_two_runs_at_once_are_seen(engine: Engine, folder: Path, journal: Journal, run_id: str) -> None:
    journal.note("start", "other", "a")
    Journal(folder).note("start", "third", "a")
    journal.note("alive")
    assert any(problem.startswith("two runs of job a at the same time") for problem in problems(engine, folder))


@pytest.mark.usefixtures("run_id")
def test_a_cancelled_job_that_ran_is_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    journal.note("cancelled", "a")
    assert problems(engine, folder) == ["job a was cancelled and is DONE"]


def test_a_completed_run_that_never_ran_is_seen(engine: Engine, folder: Path) -> None:
    put(engine, job("a"))
    work_off(engine, "s", NOW)
    [problem] = problems(engine, folder)
    assert problem.endswith("is stored as completed and never came to its end")


# Events, schedules, groups and webhooks


def test_an_event_that_is_lost_is_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    journal.note("emitting", "siege:go", "main")
    journal.note("emitted", "stray", "siege:go", "main")
    assert problems(engine, folder) == ["event stray was acknowledged and is lost"]


def test_an_event_that_is_under_way_is_seen(engine: Engine, folder: Path) -> None:
    put(engine, job("a", wait_for_event="siege:go"))
    emit_go(engine, "event")
    assert "event event (siege:go) has not reached everybody" in problems(engine, folder)


def test_an_event_that_did_not_reach_a_job_is_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    put(engine, job("a", wait_for_event="siege:go"))
    journal.note("awaits", "a", "siege:go", "main")
    assert "job a has not seen the event siege:go that it waited for" in problems(engine, folder)


def test_an_event_that_a_later_one_stood_in_for_is_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    journal.note("awaits", "a", "siege:go", "main")
    journal.note("emitting", "siege:go", "main")
    emit_go(engine, "missed")
    journal.note("emitted", "missed", "siege:go", "main")
    put(engine, job("a", wait_for_event="siege:go"))
    journal.note("emitting", "siege:go", "main")
    work_off(engine, "s", NOW + 1)
    journal.note("emitted", "end-s", "siege:go", "main")
    assert "event missed did not reach job a, which waited for it; end-s did" in problems(engine, folder)


def test_of_two_events_at_once_either_may_be_stored_first(engine: Engine, folder: Path, journal: Journal) -> None:
    other = Journal(folder)
    journal.note("awaits", "a", "siege:go", "main")
    journal.note("emitting", "siege:go", "main")
    other.note("emitting", "siege:go", "main")
    emit_go(engine, "slow")
    journal.note("emitted", "slow", "siege:go", "main")
    put(engine, job("a", wait_for_event="siege:go"))
    work_off(engine, "s", NOW + 1)
    other.note("emitted", "end-s", "siege:go", "main")
    assert not any("did not reach" in problem for problem in problems(engine, folder))


def test_a_tick_that_is_lost_is_seen(engine: Engine, folder: Path) -> None:
    engine.submit(put_template, NewTemplate(id="t", name="t", task="work"), NOW).result()
    wanted = NewSchedule(id="s", name="each", template="t", cron="* * * * * *", misfire=Misfire.ALL)
    engine.submit(put_schedule, wanted, NOW).result()
    engine.submit(fire_due, NOW + 3_000).result()
    work_off(engine, "s", NOW + 3_000)
    assert not any("each" in problem for problem in problems(engine, folder))
    engine.submit(lose_ticks).result()
    assert "of 4 ticks of each, 1 fired and 2 were skipped" in problems(engine, folder)


def test_a_delivery_that_never_arrived_is_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    hook = NewWebhook(id="hook", url="http://hook.example", patterns=("siege:*",))
    engine.submit(put_webhook, hook, NOW).result()
    journal.note("emitting", "siege:go", "main")
    emit_go(engine, "event")
    journal.note("emitted", "event", "siege:go", "main")
    work_off(engine, "s", NOW + 1)
    assert "event event was never received" in problems(engine, folder)


def test_two_members_of_a_sequence_at_once_are_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    engine.submit(create_group, "g", None, GroupMode.SEQUENTIAL, OnFailure.STOP, NOW).result()
    put(engine, job("a", group_id="g"), job("b", group_id="g"))
    journal.note("start", "first", "a")
    Journal(folder).note("start", "second", "b")
    journal.note("alive")
    assert any("two runs of sequential group g" in problem for problem in problems(engine, folder))


def emit_go(engine: Engine, event_id: str) -> None:
    engine.submit(emit, event_id, "siege:go", {"branch": "main"}, NOW).result()


def lose_ticks(tx: Tx) -> None:
    """Settle a tick that did nothing."""
    tx.run(
        statement(
            "UPDATE schedules SET last_fire_time = last_fire_time + 1000, next_trigger_at = next_trigger_at + 1000"
        )
    )
