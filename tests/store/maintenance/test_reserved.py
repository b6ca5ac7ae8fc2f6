"""Names of the system's own: refused to callers on every path, while rows that are there go on."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from holdfast.core.errors import Reserved
from holdfast.core.jobs.requests import NewJob
from holdfast.core.messages.maintenance import ReservedUse
from holdfast.core.messages.schedules import NewSchedule, ScheduleChanges
from holdfast.core.messages.templates import NewTemplate, TemplateChanges
from holdfast.core.tasks.task import Overrides, ScheduleOptions
from holdfast.core.values.event import RESERVED_EVENTS
from holdfast.core.values.group import GroupMode, OnFailure
from holdfast.core.watching.new_watch import NewWatch
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import emit, list_events, publish
from holdfast.store.scripts.jobs.enqueue import enqueue, enqueue_any
from holdfast.store.scripts.jobs.group_jobs import enqueue_group
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.maintenance.reserved import list_reserved
from holdfast.store.scripts.queues.queues import pause, resume, set_limit
from holdfast.store.scripts.schedules.declaring import schedule_task
from holdfast.store.scripts.schedules.firing import run_schedule_now
from holdfast.store.scripts.schedules.schedules import edit_schedule, put_schedule
from holdfast.store.scripts.schedules.templates import edit_template, enqueue_from_template, put_template
from holdfast.store.scripts.watches.watches import add_watch
from tests.store.acts import NOW, execute, job, select, state, write

QUEUES = ["holdfast", "holdfast.webhooks", "holdfast.anything"]
TASK = "holdfast.canary"


def new_id() -> str:
    return str(uuid4())


def template(engine: Engine, name: str = "plain", task: str = "t", queue: str = "default") -> None:
    engine.run(put_template, NewTemplate(id=new_id(), name=name, task=task, queue=queue), NOW)


def schedule(name: str, **more: object) -> NewSchedule:
    return NewSchedule(id=new_id(), name=name, template="plain", cron="0 3 * * *", **more)  # type: ignore[arg-type]


PATHS: dict[str, Callable[[Engine, str, str], object]] = {
    "enqueue": lambda engine, task, queue: engine.run(enqueue, [NewJob(id="a", task=task, queue=queue)], NOW),
    "one of several": lambda engine, task, queue: engine.run(
        enqueue, [NewJob(id="b", task="t"), NewJob(id="a", task=task, queue=queue)], NOW
    ),
    "group": lambda engine, task, queue: engine.run(
        enqueue_group, new_id(), "g", GroupMode.PARALLEL, OnFailure.STOP, [NewJob(id="a", task=task, queue=queue)], NOW
    ),
    "template": lambda engine, task, queue: template(engine, "new", task, queue),
    "changed template": lambda engine, task, queue: engine.run(
        edit_template, "plain", TemplateChanges(task=task, queue=queue), NOW
    ),
    "scheduled task": lambda engine, task, queue: engine.run(
        schedule_task, NewTemplate(id=new_id(), name="s", task=task, queue=queue), schedule("s"), NOW
    ),
    "watch": lambda engine, task, queue: engine.run(
        add_watch, NewWatch(id=new_id(), name="w", kind="folder", path="/srv/w", task=task, queue=queue), NOW
    ),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("task", "queue"), [*(("t", queue) for queue in QUEUES), (TASK, "default")])
def test_a_queue_or_task_of_the_systems_own_is_refused(engine: Engine, path: str, task: str, queue: str) -> None:
    template(engine)
    with pytest.raises(Reserved, match="is reserved") as refusal:
        PATHS[path](engine, task, queue)
    assert refusal.value.code == "ERR_RESERVED"
    assert select(engine, "SELECT id FROM jobs") == []
    assert select(engine, "SELECT name, queue, job_type FROM job_templates") == [
        {"name": "plain", "queue": "default", "job_type": "t"}
    ]


@pytest.mark.parametrize("queue", QUEUES)
def test_what_is_laid_over_a_template_is_refused_as_well(engine: Engine, queue: str) -> None:
    template(engine)
    engine.run(put_schedule, schedule("good"), NOW)
    laid = ScheduleOptions(queue=queue)
    with pytest.raises(Reserved):
        engine.run(put_schedule, schedule("bad", options=laid), NOW)
    with pytest.raises(Reserved):
        engine.run(edit_schedule, "good", ScheduleChanges(options=laid), NOW)
    with pytest.raises(Reserved):
        engine.run(enqueue_from_template, "plain", new_id(), NOW, "{}", Overrides(queue=queue))


@pytest.mark.parametrize("queue", ["holdfastened", "holdfast-x", "my.holdfast", "Holdfast"])
@pytest.mark.parametrize("task", ["command", "holdfast", "holdfasting", "t"])
def test_names_that_only_look_like_them_are_fine(engine: Engine, queue: str, task: str) -> None:
    engine.run(enqueue, [NewJob(id="a", task=task, queue=queue, payload='{"argv":["true"]}')], NOW)
    assert state(engine, "a") == "QUEUED"


def test_such_queues_can_be_set_and_paused(engine: Engine) -> None:
    engine.run(set_limit, "holdfast.webhooks", 2)
    engine.run(pause, "holdfast", "rest", NOW)
    engine.run(resume, "holdfast", NOW)


def make_before(engine: Engine) -> None:
    """What callers could make once: a template, a schedule, a watch and a job in a queue of the system's."""
    template(engine)
    engine.run(put_schedule, schedule("old-schedule"), NOW)
    watch = NewWatch(id=new_id(), name="old-watch", kind="folder", path="/srv/w", task="t")
    engine.run(add_watch, watch, NOW)
    for table in ("job_templates", "watches"):
        execute(engine, f"UPDATE {table} SET queue = 'holdfast.x'")
    jobs = [
        NewJob(id="a", task="t", queue="holdfast.x"),
        NewJob(id="b", task="t", queue="holdfast", delay_ms=5),
        NewJob(id="c", task=TASK, queue="holdfast"),
        NewJob(id="d", task="t", queue="holdfast-x"),
    ]
    engine.run(enqueue_any, jobs, NOW)


def test_rows_that_are_there_go_on_and_the_doctor_names_them(engine: Engine) -> None:
    make_before(engine)
    a, b = (str(job(engine, job_id).number) for job_id in ("a", "b"))
    assert engine.query(list_reserved) == [
        ReservedUse("template", "plain", "t", "holdfast.x"),
        ReservedUse("schedule", "old-schedule", "t", "holdfast.x"),
        ReservedUse("watch", "old-watch", "t", "holdfast.x"),
        ReservedUse("job", a, "t", "holdfast.x"),
        ReservedUse("job", b, "t", "holdfast"),
    ]
    fired = engine.run(run_schedule_now, "old-schedule", "fired", NOW)
    assert state(engine, str(fired.id)) == "QUEUED"
    again = engine.run(retry_job, "c", NOW)
    assert state(engine, str(again.id)) == "QUEUED"


def test_no_new_schedule_is_made_of_an_old_template(engine: Engine) -> None:
    make_before(engine)
    with pytest.raises(Reserved):
        engine.run(put_schedule, schedule("new"), NOW)
    with pytest.raises(Reserved):
        engine.run(enqueue_from_template, "plain", new_id(), NOW)


@pytest.mark.parametrize("prefix", RESERVED_EVENTS)
def test_an_event_of_the_systems_own_is_refused(engine: Engine, prefix: str) -> None:
    with pytest.raises(Reserved, match=f"what begins with {prefix} is told by the system") as refusal:
        engine.run(emit, new_id(), f"{prefix}anything", {}, NOW)
    assert refusal.value.code == "ERR_RESERVED"
    assert engine.query(list_events).events == []


def test_the_system_itself_tells_them(engine: Engine) -> None:
    assert write(engine, publish, "alert.disk", {}, NOW) is not None


@pytest.mark.parametrize("name", ["job", "jobs.done", "job:done", "my.job.done", "Job.done", "alerting"])
def test_events_that_only_look_like_them_are_fine(engine: Engine, name: str) -> None:
    assert engine.run(emit, new_id(), name, {}, NOW).name == name


def test_one_list_has_every_prefix() -> None:
    assert RESERVED_EVENTS == (
        "job.",
        "group.",
        "schedule.",
        "machine.",
        "pressure.",
        "alert.",
        "webhook.",
        "workspace.",
    )
