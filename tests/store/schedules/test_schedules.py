"""Schedules in the store: made, shown, changed, paused, deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.core.errors import Conflict, InvalidInput, InvalidPayload, NotFound
from holdfast.core.job import StateName
from holdfast.core.jobs.requests import Enqueued
from holdfast.core.messages.schedules import NewSchedule, ScheduleChanges
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.core.tasks.task import ScheduleOptions
from holdfast.store.engine import Engine
from holdfast.store.scripts.schedules.firing import run_schedule_now
from holdfast.store.scripts.schedules.schedules import (
    declare_schedule,
    delete_schedule,
    edit_schedule,
    list_schedules,
    pause_schedule,
    preview_cron,
    preview_schedule,
    put_schedule,
    resume_schedule,
)
from holdfast.store.scripts.schedules.templates import archive_template
from tests.store.acts import (
    NOW,
    job,
    select,
    write,
)
from tests.store.schedule_acts import FIRST, MINUTE, find, fire, hear, heard, jobs, put, skips, template, ticks


def test_a_schedule_is_found_by_its_name_and_by_its_id(engine: Engine) -> None:
    stored = put(engine, payload='{"a":1}', options=ScheduleOptions(queue="mail"), jitter_ms=50, timezone="Asia/Seoul")
    assert (stored.words, stored.next_fire, stored.enabled) == ("Every minute, Asia/Seoul time", FIRST, True)
    assert (stored.template, stored.payload, stored.options.queue) == ("clean", '{"a":1}', "mail")
    assert (stored.misfire, stored.overlap) == (Misfire.LATEST, Overlap.SKIP)
    assert find(engine) == find(engine, "s-nightly") == stored
    assert engine.query(list_schedules) == [stored]
    with pytest.raises(NotFound, match="there is no schedule 'weekly'"):
        find(engine, "weekly")


@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ({"name": "rm -rf"}, InvalidInput, "schedule 'rm -rf' is not valid"),
        ({"cron": "0 0 30 2 *"}, InvalidInput, "never comes in month 2"),
        ({"timezone": "Mars"}, InvalidInput, "there is no time zone 'Mars'"),
        ({"payload": "[1]"}, InvalidPayload, "the payload is not a JSON object"),
        ({"payload": ""}, InvalidPayload, "the payload is not JSON"),
        ({"jitter_ms": -1}, InvalidInput, "jitter_ms -1 is not valid"),
        ({"template": "none"}, NotFound, "there is no template 'none'"),
    ],
)
def test_what_could_not_fire_is_refused(
    engine: Engine, fields: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        put(engine, **fields)
    assert engine.query(list_schedules) == []


def test_a_name_and_an_id_belong_to_one_schedule(engine: Engine) -> None:
    stored = put(engine)
    with pytest.raises(Conflict, match="there is a schedule 'nightly' already"):
        put(engine, id="other")
    with pytest.raises(Conflict, match="the id s-nightly is that of schedule 'nightly'"):
        put(engine, name="other", id="s-nightly")
    again = NewSchedule(id="s-nightly", name="nightly", template="clean", cron="* * * * *")
    assert write(engine, put_schedule, again, NOW + 5, repeated=True) == stored


def test_to_resume_what_is_not_paused_changes_nothing(engine: Engine) -> None:
    put(engine)
    assert write(engine, resume_schedule, "nightly", FIRST + MINUTE) == find(engine)
    fire(engine, FIRST + MINUTE)
    assert (ticks(engine), skips(engine)) == ([1], {"missed": 1})


def test_an_edit_leaves_what_it_does_not_name_and_every_job_that_exists(engine: Engine) -> None:
    before = put(engine, payload='{"a":1}', jitter_ms=5, options=ScheduleOptions(priority=3))
    fire(engine, FIRST)
    [made] = jobs(engine)
    changed = write(engine, edit_schedule, "nightly", ScheduleChanges(name="weekly", payload='{"a":2}'), FIRST + 1)
    assert (changed.id, changed.name, changed.payload) == (before.id, "weekly", '{"a":2}')
    assert (changed.jitter_ms, changed.options, changed.cron) == (5, before.options, before.cron)
    assert changed.next_fire == FIRST + MINUTE
    assert jobs(engine) == [made]


def test_another_expression_begins_with_the_present_moment(engine: Engine) -> None:
    put(engine, misfire=Misfire.ALL, overlap=Overlap.ALLOW)
    now = FIRST + 10 * MINUTE + 1
    changed = write(engine, edit_schedule, "nightly", ScheduleChanges(cron="*/2 * * * *"), now)
    assert changed.next_fire == FIRST + 12 * MINUTE
    fire(engine, FIRST + 14 * MINUTE)
    assert ticks(engine) == [12, 14]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        (ScheduleChanges(cron="x"), InvalidInput),
        (ScheduleChanges(name="other"), Conflict),
        (ScheduleChanges(template="none"), NotFound),
    ],
)
def test_an_edit_that_does_not_fit_changes_nothing(
    engine: Engine, changes: ScheduleChanges, error: type[Exception]
) -> None:
    put(engine)
    put(engine, "other")
    before = find(engine)
    with pytest.raises(error):
        write(engine, edit_schedule, "nightly", changes, NOW + 1)
    assert find(engine) == before


def test_the_template_of_the_day_is_used(engine: Engine) -> None:
    put(engine, overlap=Overlap.ALLOW)
    fire(engine, FIRST)
    template(engine, payload='{"new":1}')
    fire(engine, FIRST + MINUTE)
    assert [row["payload"] for row in jobs(engine)] == ["{}", '{"new":1}']


def test_an_archived_template_stops_its_schedules_with_a_reason(engine: Engine) -> None:
    put(engine)
    hear(engine, "schedule.*")
    write(engine, archive_template, "clean", FIRST)
    shown = find(engine)
    assert (shown.enabled, shown.disabled_reason) == (False, "template 'clean' was archived")
    assert fire(engine, FIRST).jobs == 0
    about = {"schedule": "nightly", "schedule_id": "s-nightly", "reason": "template 'clean' was archived"}
    assert heard(engine) == [("schedule.disabled", about)]
    with pytest.raises(Conflict, match="template 'clean' is archived"):
        write(engine, resume_schedule, "nightly", FIRST)
    template(engine, "wash")
    write(engine, edit_schedule, "nightly", ScheduleChanges(template="wash"), FIRST)
    assert write(engine, resume_schedule, "nightly", FIRST).enabled


def test_a_schedule_on_an_archived_template_is_refused(engine: Engine) -> None:
    template(engine)
    write(engine, archive_template, "clean", NOW)
    with pytest.raises(Conflict, match="template 'clean' is archived"):
        put(engine, template="t-clean")


def test_a_deleted_schedule_leaves_its_jobs_and_its_name(engine: Engine) -> None:
    put(engine)
    fire(engine, FIRST + MINUTE)
    assert write(engine, delete_schedule, "nightly", NOW) is True
    assert write(engine, delete_schedule, "nightly", NOW, repeated=True) is False
    with pytest.raises(NotFound):
        write(engine, delete_schedule, "nightly", NOW)
    assert len(jobs(engine)) == 1
    assert select(engine, "SELECT * FROM schedule_skips") == []
    assert put(engine, id="new").fires == 0


def test_one_can_be_run_now_and_that_is_no_tick(engine: Engine) -> None:
    put(engine, payload='{"a":1}')
    write(engine, pause_schedule, "nightly", NOW)
    asked = ("nightly", "j1", NOW + 1)
    answer = write(engine, run_schedule_now, *asked)
    assert answer == Enqueued("j1", StateName.QUEUED, known=False, number=job(engine, "j1").number)
    assert write(engine, run_schedule_now, *asked, repeated=True) == answer
    with pytest.raises(Conflict, match="there is a job j1 already"):
        write(engine, run_schedule_now, *asked)
    made = job(engine, "j1")
    assert (made.payload, made.schedule_id, made.fire_time) == ('{"a":1}', "s-nightly", None)
    assert json.loads(made.trigger or "")["manual"] is True
    assert find(engine).fires == 0


def test_a_preview_shows_the_next_ticks(engine: Engine) -> None:
    put(engine, cron="30 2 * * *", timezone="Europe/Berlin")
    shown = engine.query(preview_schedule, "nightly", NOW, 2)
    assert shown.words == "At 02:30 every day, Europe/Berlin time"
    assert [(tick - NOW) // MINUTE for tick in shown.fires] == [196, 196 + 24 * 60]
    assert engine.query(preview_cron, "30 2 * * *", NOW, "Europe/Berlin", 2) == shown


def test_code_declares_its_schedules_again_and_again(engine: Engine) -> None:
    template(engine)
    wanted = NewSchedule(id="s1", name="nightly", template="clean", cron="* * * * *", owner="app")
    stored = write(engine, declare_schedule, wanted, NOW)
    assert (stored.origin, stored.owner) == ("code", "app")
    write(engine, pause_schedule, "nightly", NOW)
    wanted = NewSchedule(id="s2", name="nightly", template="clean", cron="* * * * *", owner="app", jitter_ms=5)
    again = write(engine, declare_schedule, wanted, NOW + 1)
    assert (again.id, again.jitter_ms, again.enabled) == ("s1", 5, False)
    put(engine, "by-hand")
    with pytest.raises(Conflict, match="that no code declared"):
        write(engine, declare_schedule, NewSchedule(id="s3", name="by-hand", template="clean", cron="* * * * *"), NOW)
