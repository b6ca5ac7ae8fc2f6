"""A job that is asked for by name gets the options of its task. The request goes first, then template, task, queue."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.rules.tokens import Tokens
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.tasks.task import Overrides, ScheduleOptions, TemplateOptions
from holdfast.core.values.retry import RetryPolicy
from holdfast.core.values.watch import SeenFile
from holdfast.core.watching.new_watch import NewWatch
from holdfast.store.engine import Engine
from holdfast.store.rows import JobRow
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.queues.queues import set_queue
from holdfast.store.scripts.schedules.firing import fire_due
from holdfast.store.scripts.schedules.schedules import put_schedule
from holdfast.store.scripts.schedules.templates import enqueue_from_template, put_template
from holdfast.store.scripts.sessions.sessions import close_session
from holdfast.store.scripts.watches.plans import plan
from holdfast.store.scripts.watches.watches import add_watch, find_watch
from tests.store.acts import NOW, new_job, put, put_and_end, put_one, row, select, write
from tests.store.task_acts import begin, declared, schema

DAY: Millis = 86_400_000


def asked(engine: Engine, job_id: str = "j", **options: Any) -> JobRow:
    """The row of a job that is asked for."""
    put_one(engine, job_id, **options)
    return row(engine, job_id)


def made(engine: Engine) -> JobRow:
    """The only job there is."""
    [found] = select(engine, "SELECT id FROM jobs")
    return row(engine, found["id"])


def test_what_a_request_leaves_open_is_as_its_task_declares(engine: Engine) -> None:
    begin(
        engine,
        "a",
        declared(
            queue="code",
            priority=5,
            tenant="acme",
            ttl_ms=7,
            timeout_ms=60_000,
            policy=RetryPolicy(retries=4),
            tag="nightly",
            wait_for_idle=True,
            require_charging=True,
            tokens=Tokens(cpu=2),
        ),
    )
    job = asked(engine)
    assert (job.queue, job.priority, job.tenant, job.ttl_ms, job.timeout_ms) == ("code", 5, "acme", 7, 60_000)
    assert (job.max_retries, job.user_tag, job.wait_for_idle, job.require_charging) == (4, "nightly", 1, 1)
    assert job.tokens == Tokens(cpu=2)


def test_what_a_request_says_wins_even_if_it_says_the_usual(engine: Engine) -> None:
    begin(engine, "a", declared(queue="code", priority=5, wait_for_idle=True, tokens=Tokens(cpu=2), timeout_ms=5))
    job = asked(engine, queue="default", priority=0, wait_for_idle=False, tokens=Tokens(), timeout_ms=9)
    assert (job.queue, job.priority, job.wait_for_idle, job.tokens, job.timeout_ms) == ("default", 0, 0, Tokens(), 9)


def test_a_complete_request_gets_nothing_of_its_task(engine: Engine) -> None:
    begin(engine, "a", declared(queue="code", timeout_ms=5, subject="about"))
    job = asked(engine, complete=True)
    assert (job.queue, job.timeout_ms, job.subject_key, job.tenant) == ("default", None, None, "default")


def test_the_queue_of_the_task_says_what_the_task_leaves_open(engine: Engine) -> None:
    write(engine, set_queue, "code", QueueChanges(timeout_ms=30, retry=RetryPolicy(retries=2)))
    begin(engine, "a", declared(queue="code", timeout_ms=60))
    job = asked(engine)
    assert (job.timeout_ms, job.max_retries) == (60, 2)


def test_of_several_versions_the_newest_that_is_offered_gives_the_options(engine: Engine) -> None:
    begin(engine, "a", declared(queue="old"))
    begin(engine, "b", declared(queue="new"))
    assert asked(engine, "j1").queue == "new"
    write(engine, close_session, "b", "success", NOW)
    assert asked(engine, "j2").queue == "old"
    write(engine, close_session, "a", "success", NOW + 1)
    assert asked(engine, "j3").queue == "old", "nobody offers it now, and this one was offered last"


def test_a_moment_of_its_own_leaves_out_the_delay_of_the_task(engine: Engine) -> None:
    begin(engine, "a", declared(delay_ms=5_000))
    assert asked(engine, "j1").scheduled_at == NOW + 5_000
    assert asked(engine, "j2", due=NOW + 7).scheduled_at == NOW + 7


def test_what_an_event_must_have_comes_with_the_event(engine: Engine) -> None:
    begin(engine, "a", declared(wait_for_event="git:*", event_attributes={"branch": "main"}))
    asked(engine, "j1")
    asked(engine, "j2", wait_for_event="mail")
    keys = select(engine, "SELECT job_id, key FROM job_conditions ORDER BY job_id, key")
    assert [(found["job_id"], found["key"]) for found in keys] == [
        ("j1", "event"),
        ("j1", "event.branch"),
        ("j2", "event"),
    ]


class TestSubjects:
    """A subject names arguments, which the request brings."""

    PATTERN = "editor::{repo}::{path}"

    def test_it_is_filled_from_the_arguments(self, engine: Engine) -> None:
        begin(engine, "a", declared(subject=self.PATTERN, stop_older=True))
        job = asked(engine, payload='{"repo": "r1", "path": 7}')
        assert (job.subject_key, job.generation, job.tenant) == ("editor::r1::7", 1, "editor::r1")

    def test_a_default_stands_for_an_argument_that_is_left_out(self, engine: Engine) -> None:
        arguments = schema("path", path="string", repo="string")
        arguments["properties"]["repo"]["default"] = "main"
        begin(engine, "a", declared(arguments=arguments, subject=self.PATTERN))
        assert asked(engine, payload='{"path": "a"}').subject_key == "editor::main::a"

    def test_newer_jobs_supersede_those_that_wait(self, engine: Engine) -> None:
        begin(engine, "a", declared(subject="about"))
        put(engine, new_job("j1"), new_job("j2"))
        assert [row(engine, job_id).state for job_id in ("j1", "j2")] == ["SUPERSEDED", "QUEUED"]

    def test_a_generation_needs_no_subject_of_its_own(self, engine: Engine) -> None:
        begin(engine, "a", declared(subject="about"), declared("plain"))
        assert asked(engine, generation=7).generation == 7
        with pytest.raises(InvalidInput, match="generation 7 means nothing without subject"):
            put_one(engine, "j2", task="plain", generation=7)

    def test_one_that_cannot_be_a_subject_is_refused(self, engine: Engine) -> None:
        begin(engine, "a", declared(subject="{path}"))
        with pytest.raises(InvalidInput, match="subject '' is not valid"):
            put_one(engine, "j1", payload='{"path": ""}')
        with pytest.raises(InvalidInput, match="PREVIOUS and not known yet"):
            put_one(engine, "j1", payload='{"path": {"$holdfast": "previous"}}')

    def test_the_tenant_of_a_subject_that_is_said_is_its_own(self, engine: Engine) -> None:
        assert asked(engine, subject="client::repo::x").tenant == "client::repo"


def test_a_task_that_nobody_declared_is_stored_and_said_to_be_unknown(engine: Engine) -> None:
    begin(engine, "a", declared("known"))
    answers = put(engine, new_job("j1", task="known"), new_job("j2"), new_job("j3", task="command"))
    assert [answer.known for answer in answers] == [True, False, True]
    assert row(engine, "j2").queue == "default"
    assert put_one(engine, "j4", subject="s", generation=1).known is False
    assert put_one(engine, "j5", subject="s", generation=1).known is False, "also where an earlier job stands for it"
    complete = [new_job("c1", task="known", complete=True), new_job("c2", complete=True)]
    assert [answer.known for answer in put(engine, *complete)] == [True, False], "in one line"


@pytest.mark.parametrize(("complete", "looks"), [(False, 1), (True, 0)])
def test_a_task_is_looked_up_once_in_a_transaction_or_not_at_all(engine: Engine, complete: bool, looks: int) -> None:
    begin(engine, "a", declared())
    asked_for: list[str] = []

    def spied(tx: Any) -> None:
        one = tx.one

        def noting(statement: Any, into: Any, **params: Any) -> Any:
            asked_for.append(statement.name)
            return one(statement, into, **params)

        tx.one = noting
        try:
            answers = enqueue(tx, [new_job(f"j{number}", complete=complete) for number in range(50)], NOW)
            assert all(answer.known for answer in answers)
        finally:
            del tx.one

    write(engine, spied)
    assert asked_for.count("newest_version") == looks


def test_another_try_has_what_the_job_had(engine: Engine) -> None:
    begin(engine, "a", declared(timeout_ms=5, subject="about"))
    put_and_end(engine, "j", queue="default", timeout_ms=7, subject="mine")
    write(engine, close_session, "a", "success", NOW)
    begin(engine, "b", declared(queue="other", timeout_ms=9, tag="new"))
    again = write(engine, retry_job, "j", NOW)
    assert again.id is not None
    job = row(engine, again.id)
    assert (job.queue, job.timeout_ms, job.subject_key, job.user_tag) == ("default", 7, "mine", None)


def test_a_template_goes_before_the_task_and_the_request_before_both(engine: Engine) -> None:
    begin(engine, "a", declared(queue="code", priority=1, tag="task", timeout_ms=1))
    template = NewTemplate(id="t1", name="clean", task="t", options=TemplateOptions(priority=2, tag="template"))
    assert write(engine, put_template, template, NOW).queue is None
    write(engine, enqueue_from_template, "clean", "j", NOW, "{}", Overrides(tag="request"))
    job = row(engine, "j")
    assert (job.queue, job.priority, job.user_tag, job.timeout_ms) == ("code", 2, "request", 1)


def test_a_schedule_makes_jobs_with_the_options_of_the_task(engine: Engine) -> None:
    begin(engine, "a", declared(queue="code", priority=1, timeout_ms=1))
    write(engine, put_template, NewTemplate(id="t1", name="clean", task="t"), NOW)
    options = ScheduleOptions(priority=2)
    write(engine, put_schedule, NewSchedule(id="s", name="s", template="clean", cron="@daily", options=options), NOW)
    write(engine, fire_due, NOW + DAY)
    job = made(engine)
    assert (job.queue, job.priority, job.timeout_ms) == ("code", 2, 1)


def test_ticks_are_counted_against_the_queue_of_the_task(engine: Engine) -> None:
    begin(engine, "a", declared(queue="code"))
    write(engine, set_queue, "code", QueueChanges(max_length=0))
    write(engine, put_template, NewTemplate(id="t1", name="clean", task="t"), NOW)
    write(engine, put_schedule, NewSchedule(id="s", name="s", template="clean", cron="@daily"), NOW)
    fired = write(engine, fire_due, NOW + DAY)
    assert (fired.jobs, fired.skipped, fired.troubles) == (0, 1, ())


class TestWatches:
    """What a watch leaves open is as the task of its jobs declares."""

    def see(self, engine: Engine, **options: Any) -> JobRow:
        watch = NewWatch(id="w", name="src", path="/src", task="t", **options)
        write(engine, add_watch, watch, NOW)
        assert engine.query(find_watch, "src").queue == options.get("queue")
        write(engine, plan, "w", 1, [SeenFile("a.py", "1")], NOW)
        return made(engine)

    def test_it_leaves_queue_and_priority_to_the_task(self, engine: Engine) -> None:
        begin(engine, "a", declared(queue="code", priority=3, timeout_ms=9))
        job = self.see(engine)
        assert (job.queue, job.priority, job.timeout_ms) == ("code", 3, 9)
        assert (job.subject_key, job.tenant) == ("watch::src::a.py", "watch::src")

    def test_what_it_says_goes_first(self, engine: Engine) -> None:
        begin(engine, "a", declared(queue="code", priority=3, subject="other"))
        job = self.see(engine, queue="mine", priority=0, subject="my::{relative}")
        assert (job.queue, job.priority, job.subject_key) == ("mine", 0, "my::a.py")

    def test_a_change_that_makes_no_subject_of_the_task_is_about_its_file(self, engine: Engine) -> None:
        begin(engine, "a", declared(subject="{relative}::{missing}"))
        assert self.see(engine).subject_key == "watch::src::a.py"

    def test_a_path_that_is_too_long_for_a_subject_keeps_no_job_back(self, engine: Engine) -> None:
        begin(engine, "a", declared(subject="file::{path}"))
        write(engine, add_watch, NewWatch(id="w", name="src", path="/src", task="t"), NOW)
        write(engine, plan, "w", 1, [SeenFile("/".join(["folder"] * 200), "1")], NOW)
        assert (made(engine).subject_key or "").startswith("watch::src::folder/")

    def test_the_subject_of_the_task_goes_before_the_usual_one(self, engine: Engine) -> None:
        begin(engine, "a", declared(subject="file::{path}"))
        assert self.see(engine).subject_key == "file::/src/a.py"
