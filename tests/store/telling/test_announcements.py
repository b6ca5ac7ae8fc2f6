"""What a commit tells whoever listens, here and in other processes."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec

import msgspec
import pytest

from holdfast.core.jobs.settle import Outcome, Snoozed, Yielded
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.values.group import Dependency, GroupMode
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Changes, Engine, Tx
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.postgres.listener import pack, unpack
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.jobs.reorder import move_to_top
from holdfast.store.scripts.maintenance.clockwork import tick
from holdfast.store.scripts.queues.queues import pause, resume, set_limit
from holdfast.store.scripts.queues.reserve import release, reserve
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.topics import DUE, FOREIGN, STOPS, TOPICS, UNKNOWN, WATCHES, Topic
from tests.store.acts import (
    DONE,
    FAILED,
    NOW,
    PATIENCE_S,
    SESSION,
    TASK,
    claim_one,
    claim_some,
    group,
    new_job,
    put,
    put_one,
    report,
    select,
    write,
)

P = ParamSpec("P")


def told(engine: Engine, script: Callable[Concatenate[Tx, P], object], *args: P.args, **kw: P.kwargs) -> Changes:
    """What a script says that it changed."""

    def watched(tx: Tx) -> Changes:
        script(tx, *args, **kw)
        return tx.changes

    return write(engine, watched)


# What each script says.


def test_a_new_job_names_its_queue_and_its_task(engine: Engine) -> None:
    jobs = [new_job("a", queue="x"), new_job("b", queue="y"), new_job("c", queue="y", task="other")]
    assert told(engine, enqueue, jobs, NOW) == Changes(new={"x": {TASK}, "y": {TASK, "other"}})


def test_a_job_for_later_says_that_the_next_moment_may_have_changed(engine: Engine) -> None:
    assert told(engine, enqueue, [new_job("a", delay_ms=5)], NOW) == Changes(topics={DUE})


def test_a_newer_generation_says_who_ended_and_that_somebody_should_stop(engine: Engine) -> None:
    put_one(engine, "running", subject="s")
    claim_one(engine)
    put_one(engine, "waiting", subject="s")
    newer = new_job("newer", subject="s", stop_older=True)
    assert told(engine, enqueue, [newer], NOW) == Changes(ended={"waiting"}, new={"default": {TASK}}, topics={STOPS})


@pytest.mark.parametrize(
    ("outcome", "changes"),
    [
        (DONE, Changes(ended={"a"})),
        (FAILED, Changes(topics={DUE})),
        (Snoozed(5), Changes(topics={DUE})),
        (Yielded("room"), Changes(ready={"default"}, topics={DUE})),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_finish_says_what_became_of_the_job(engine: Engine, outcome: Outcome, changes: Changes) -> None:
    put_one(engine, "a", policy=RetryPolicy(retries=1))
    assert told(engine, finish, [report(claim_one(engine), outcome)], NOW) == changes


def test_a_chained_retry_ends_one_job_and_schedules_another(engine: Engine) -> None:
    put_one(engine, "a", policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN))
    assert told(engine, finish, [report(claim_one(engine), FAILED)], NOW) == Changes(ended={"a"}, topics={DUE})


def test_the_end_of_a_job_names_those_it_sets_free_or_takes_along(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("child", queue="other", after=(Dependency("a"),)))
    done = told(engine, finish, [report(claim_one(engine), DONE)], NOW)
    assert (done.ended, done.ready) == ({"a"}, {"other"})
    put(engine, new_job("b"), new_job("c", after=(Dependency("b"),)), new_job("d", after=(Dependency("c"),)))
    failed = told(engine, finish, [report(claim_one(engine), FAILED)], NOW)
    assert (failed.ended, failed.ready) == ({"b", "c", "d"}, set())


def test_the_next_member_of_a_group_is_ready(engine: Engine) -> None:
    group(engine, "g", GroupMode.SEQUENTIAL)
    put(engine, new_job("a", group_id="g"), new_job("b", group_id="g"))
    changes = told(engine, finish, [report(claim_one(engine), DONE)], NOW)
    assert (changes.ended, changes.ready) == ({"a"}, {"default"})


def test_a_cancel_says_who_ended_or_that_somebody_should_stop(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"))
    claim_one(engine)
    assert told(engine, cancel_job, "a", NOW) == Changes(topics={STOPS})
    assert told(engine, cancel_job, "b", NOW) == Changes(ended={"b"})


def test_the_clock_says_what_is_ready_and_what_ended(engine: Engine) -> None:
    put(engine, new_job("a", queue="x", due=NOW + 5), new_job("b", ttl_ms=5), new_job("c", deadline=NOW + 5))
    assert told(engine, tick, NOW + 5) == Changes(ready={"x"}, ended={"b", "c"})
    assert told(engine, tick, NOW + 6) == Changes()


def test_a_queue_that_may_start_more_is_named(engine: Engine) -> None:
    assert told(engine, set_limit, "x", 3) == Changes(ready={"x"})
    assert told(engine, pause, "x", None, NOW) == Changes()
    assert told(engine, resume, "x", NOW) == Changes(ready={"x"})
    put_one(engine, "a", queue="x")
    assert told(engine, move_to_top, "a") == Changes(ready={"x"})


def test_a_reservation_sets_the_clock_and_its_end_frees_whatever_it_held(engine: Engine) -> None:
    request = NewReservation("r", "x", "me", SESSION, 10, 0)
    assert told(engine, reserve, request, NOW) == Changes(topics={DUE})
    assert told(engine, release, "r", NOW) == Changes(topics={UNKNOWN})
    assert told(engine, release, "r", NOW) == Changes()
    assert told(engine, reserve, NewReservation("r2", "x", "me", SESSION, 10, 0), NOW) == Changes(topics={DUE})
    assert told(engine, tick, NOW + 10) == Changes(topics={UNKNOWN})


def test_recovery_says_what_is_ready_again(engine: Engine) -> None:
    put(engine, new_job("a", queue="x"), new_job("b", queue="y"))
    claim_some(engine, queues=("x", "y"))
    assert told(engine, recover, SESSION, False, NOW) == Changes(ready={"x", "y"}, topics={DUE})


# How it is told.


@contextmanager
def ears(engine: Engine) -> Iterator[queue.SimpleQueue[Changes]]:
    """Everything that the engine tells a listener."""
    heard: queue.SimpleQueue[Changes] = queue.SimpleQueue()
    leave = engine.listen(heard.put)
    yield heard
    leave()


def until(heard: queue.SimpleQueue[Changes], wanted: Callable[[Changes], bool]) -> list[Changes]:
    """What is heard up to the first thing that was waited for, that one included."""
    said = [heard.get(timeout=PATIENCE_S)]
    while not wanted(said[-1]):
        said.append(heard.get(timeout=PATIENCE_S))
    return said


@pytest.fixture
def elsewhere(engine: Engine) -> Iterator[Engine]:
    """Another engine on the same database, as another process has it."""
    if isinstance(engine, SqliteEngine):
        other: Engine = SqliteEngine(engine.path, now=lambda: NOW)
    else:
        assert isinstance(engine, PostgresEngine)
        other = PostgresEngine(engine.url, schema=engine.schema, now=lambda: NOW)
    yield other
    other.close()


def test_a_listener_hears_of_a_commit(engine: Engine) -> None:
    with ears(engine) as heard:
        put_one(engine, "a", queue="x")
        assert until(heard, lambda said: "x" in said.new)


def test_what_is_heard_is_already_to_be_read(engine: Engine) -> None:
    found: queue.SimpleQueue[list[object]] = queue.SimpleQueue()

    def look(changes: Changes) -> None:
        if changes.new:
            found.put([row["id"] for row in select(engine, "SELECT id FROM jobs")])

    leave = engine.listen(look)
    put_one(engine, "a")
    assert found.get(timeout=PATIENCE_S) == ["a"]
    leave()


def test_nothing_is_told_of_what_was_rolled_back(engine: Engine) -> None:
    def fail(tx: Tx) -> None:
        enqueue(tx, [new_job("ghost", queue="ghost")], NOW)
        raise KeyError("undone")

    with ears(engine) as heard:
        with pytest.raises(KeyError):
            write(engine, fail)
        put_one(engine, "real", queue="real")
        said = until(heard, lambda changes: "real" in changes.queues)
    assert all("ghost" not in changes.queues for changes in said)


def test_whoever_left_hears_nothing_more(engine: Engine) -> None:
    gone: list[Changes] = []
    leave = engine.listen(gone.append)
    with ears(engine) as heard:
        put_one(engine, "a", queue="before")
        until(heard, lambda said: "before" in said.queues)
        leave()
        leave()
        put_one(engine, "b", queue="after")
        until(heard, lambda said: "after" in said.queues)
    assert all("after" not in said.queues for said in gone)


@contextmanager
def ears_elsewhere(engine: Engine) -> Iterator[queue.SimpleQueue[Changes]]:
    """The same, once it is sure that what others commit from now on is heard."""
    with ears(engine) as heard:
        if isinstance(engine, PostgresEngine):
            # A listener that begins is first told to read all itself.
            assert heard.get(timeout=PATIENCE_S) == Changes(topics={UNKNOWN})
        yield heard


def test_another_process_hears_of_a_commit(engine: Engine, elsewhere: Engine) -> None:
    with ears_elsewhere(elsewhere) as heard:
        put_one(engine, "a", queue="x")
        said = heard.get(timeout=PATIENCE_S)
    if isinstance(engine, PostgresEngine):
        assert said == Changes(new={"x": {TASK}})
    else:
        assert said == Changes(topics={UNKNOWN})


def test_another_process_hears_what_else_it_is_about(
    engine: Engine, elsewhere: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    weather = Topic("weather", by_notify=True)
    monkeypatch.setitem(TOPICS, weather.name, weather)

    def tell(tx: Tx) -> None:
        enqueue(tx, [new_job("a", queue="x")], NOW)
        tx.changes.topics |= {weather, WATCHES}

    with ears_elsewhere(elsewhere) as heard:
        write(engine, tell)
        said = heard.get(timeout=PATIENCE_S)
    if isinstance(engine, PostgresEngine):
        assert said == Changes(new={"x": {TASK}}, topics={weather})
    else:
        assert said == Changes(topics={UNKNOWN})


def test_a_notice_names_all_queues_for_programs_that_know_no_new_jobs() -> None:
    changes = Changes(ready={"b"}, new={"a": {TASK}, "b": {TASK}})
    notice = msgspec.json.decode(pack(changes, "me"))
    assert (notice["ready"], notice["new"]) == (["a", "b"], {"a": [TASK]})
    assert unpack(pack(changes, "me")).changes() == Changes(ready={"b"}, new={"a": {TASK}}, topics={FOREIGN})


def test_a_notice_of_a_program_that_knows_no_new_jobs_wakes_all() -> None:
    assert unpack('{"sender": "old", "ready": ["a"]}').changes() == Changes(ready={"a"}, topics={FOREIGN})


def test_a_notice_that_is_too_long_says_look_for_yourself(engine: Engine, elsewhere: Engine) -> None:
    with ears_elsewhere(elsewhere) as heard:
        put(engine, *(new_job(f"job{number}", queue=f"queue{number:04d}") for number in range(1000)))
        said = heard.get(timeout=PATIENCE_S)
    assert UNKNOWN in said.topics
    assert said.ready == set()


def test_what_another_process_undid_is_not_heard(engine: Engine, elsewhere: Engine) -> None:
    def fail(tx: Tx) -> None:
        enqueue(tx, [new_job("ghost", queue="ghost")], NOW)
        raise KeyError("undone")

    with ears(elsewhere) as heard:
        with pytest.raises(KeyError):
            write(engine, fail)
        put_one(elsewhere, "real", queue="real")
        said = until(heard, lambda changes: "real" in changes.queues)
    assert all("ghost" not in changes.queues for changes in said)
