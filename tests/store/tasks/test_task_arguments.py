"""A request by name whose arguments no living version of its task takes is refused before it is stored."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.errors import InvalidPayload, UnknownTask
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import NewJob
from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate, TemplateChanges
from holdfast.core.values.group import GroupMode, OnFailure
from holdfast.core.values.watch import SeenFile
from holdfast.core.watching.new_watch import NewWatch
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.jobs.group_jobs import enqueue_group
from holdfast.store.scripts.schedules.declaring import schedule_task
from holdfast.store.scripts.schedules.firing import fire_due, run_schedule_now
from holdfast.store.scripts.schedules.schedules import find_schedule, put_schedule
from holdfast.store.scripts.schedules.templates import edit_template, enqueue_from_template, find_template, put_template
from holdfast.store.scripts.sessions.sessions import close_session
from holdfast.store.scripts.watches.plans import plan
from holdfast.store.scripts.watches.watches import add_watch, find_watch
from tests.store.acts import NOW, dump, new_job, put, put_one, select, write
from tests.store.task_acts import begin, declared, schema

DAY: Millis = 86_400_000
OLD = schema("path", path="string")
NEW = schema("path", "depth", path="string", depth="integer")


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ("{}", "argument 'path' is missing"),
        ('{"path": 7}', "argument 'path' takes string, not integer"),
        ('{"path": "a", "x": 1}', "it has no argument 'x'; it takes path"),
    ],
)
def test_what_cannot_fit_is_refused_and_nothing_is_stored(engine: Engine, payload: str, says: str) -> None:
    begin(engine, "a", declared(arguments=OLD))
    before = dump(engine)
    with pytest.raises(InvalidPayload, match="does not fit task 't'") as refused:
        put(engine, new_job("j1", payload='{"path": "a"}'), new_job("j2", payload=payload))
    assert says in str(refused.value)
    assert dump(engine) == before


def test_what_one_of_the_living_versions_takes_is_stored(engine: Engine) -> None:
    begin(engine, "a", declared(arguments=OLD))
    begin(engine, "b", declared(arguments=NEW))
    put_one(engine, "j1", payload='{"path": "a"}')
    put_one(engine, "j2", payload='{"path": "a", "depth": 1}')
    with pytest.raises(InvalidPayload, match="argument 'depth' takes integer, not string"):
        put_one(engine, "j3", payload='{"path": "a", "depth": "x"}')
    write(engine, close_session, "a", "success", NOW)
    with pytest.raises(InvalidPayload, match="argument 'depth' is missing"):
        put_one(engine, "j3", payload='{"path": "a"}')


def test_while_no_worker_lives_every_version_that_is_known_counts(engine: Engine) -> None:
    for session, arguments in (("a", OLD), ("b", NEW)):
        begin(engine, session, declared(arguments=arguments))
        write(engine, close_session, session, "success", NOW)
    put_one(engine, "j1", payload='{"path": "a"}')
    put_one(engine, "j2", payload='{"path": "a", "depth": 1}')
    with pytest.raises(InvalidPayload):
        put_one(engine, "j3")


def test_a_program_that_has_the_code_checks_for_itself(engine: Engine) -> None:
    begin(engine, "a", declared(arguments=OLD))
    put_one(engine, "j1", payload='{"new": 1}', complete=True)


class TestUnknownTasks:
    """Whoever insists that a task exists is refused, whatever was to be stored."""

    def refused(self, engine: Engine, script: Any, *args: Any) -> None:
        before = dump(engine)
        with pytest.raises(UnknownTask, match=r"there is no task 'indx' \(did you mean 'index'\?\)"):
            write(engine, script, *args, must_exist=True)
        assert dump(engine) == before
        write(engine, script, *args)

    def test_everywhere(self, engine: Engine) -> None:
        begin(engine, "a", declared("index"))
        job, template = NewJob(id="j", task="indx"), NewTemplate(id="t", name="t", task="indx")
        schedule = NewSchedule(id="s", name="s", template="s", cron="@daily")
        self.refused(engine, enqueue, [job], NOW)
        self.refused(
            engine, enqueue_group, "g", None, GroupMode.PARALLEL, OnFailure.STOP, [new_job("j2", task="indx")], NOW
        )
        self.refused(engine, put_template, template, NOW)
        self.refused(engine, edit_template, "t", TemplateChanges(task="indx"), NOW)
        self.refused(engine, schedule_task, template, schedule, NOW)
        self.refused(engine, add_watch, NewWatch(id="w", name="w", path="/w", task="indx"), NOW)
        found = engine.query(find_template, "t"), engine.query(find_schedule, "s"), engine.query(find_watch, "w")
        assert [one.known for one in found] == [False] * 3
        begin(engine, "b", declared("indx"))
        found = engine.query(find_template, "t"), engine.query(find_schedule, "s"), engine.query(find_watch, "w")
        assert [one.known for one in found] == [True] * 3

    def test_a_command_is_known_to_all(self, engine: Engine) -> None:
        write(engine, enqueue, [NewJob(id="j", task="command", payload='{"argv": ["true"]}')], NOW, must_exist=True)


def test_what_a_template_keeps_need_not_be_complete_but_must_be_able_to_fit(engine: Engine) -> None:
    begin(engine, "a", declared(arguments=OLD))
    write(engine, put_template, NewTemplate(id="t1", name="clean", task="t"), NOW)
    with pytest.raises(InvalidPayload, match="it has no argument 'x'"):
        write(engine, put_template, NewTemplate(id="t2", name="other", task="t", payload='{"x": 1}'), NOW)
    with pytest.raises(InvalidPayload, match="takes string, not integer"):
        write(engine, edit_template, "clean", TemplateChanges(payload='{"path": 1}'), NOW)
    with pytest.raises(InvalidPayload, match="'path' is missing"):
        write(engine, enqueue_from_template, "clean", "j", NOW)
    with pytest.raises(InvalidPayload, match="'path' is missing"):
        write(engine, put_schedule, NewSchedule(id="s", name="s", template="clean", cron="@daily"), NOW)
    own = NewTemplate(id="t3", name="s", task="t")
    with pytest.raises(InvalidPayload, match="'path' is missing"):
        write(engine, schedule_task, own, NewSchedule(id="s", name="s", template="s", cron="@daily"), NOW)


def test_a_schedule_that_no_longer_fits_goes_on_and_its_jobs_say_so(engine: Engine) -> None:
    write(engine, put_template, NewTemplate(id="t1", name="clean", task="t"), NOW)
    write(engine, put_schedule, NewSchedule(id="s", name="s", template="clean", cron="@daily"), NOW)
    begin(engine, "a", declared(arguments=OLD))
    fired = write(engine, fire_due, NOW + DAY)
    assert (fired.jobs, fired.troubles) == (1, ())
    with pytest.raises(InvalidPayload):
        write(engine, run_schedule_now, "s", "j", NOW + DAY)


def test_a_watch_is_checked_when_it_is_added_and_its_jobs_are_not(engine: Engine) -> None:
    begin(engine, "a", declared(arguments=OLD))
    watch = NewWatch(id="w", name="w", path="/w", task="t")
    with pytest.raises(InvalidPayload, match="it has no argument 'relative'"):
        write(engine, add_watch, watch, NOW)
    write(engine, add_watch, NewWatch(id="w", name="w", path="/w", task="t", payload='{"path": "{path}"}'), NOW)
    write(engine, close_session, "a", "success", NOW)
    begin(engine, "b", declared(arguments=NEW))
    write(engine, plan, "w", 1, [SeenFile("a.py", "1")], NOW)
    assert len(select(engine, "SELECT id FROM jobs")) == 1
