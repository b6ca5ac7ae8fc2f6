"""An event lets go exactly those who waited for it, once, however many there are."""

from __future__ import annotations

import random

import pytest

from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.core.job import Cancelled, Millis, StateName
from holdfast.core.messages.events import Emitted
from holdfast.core.rules.limits import LONGEST_ATTRIBUTE, LONGEST_VALUE, MOST_ATTRIBUTES
from holdfast.core.values.group import Dependency
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.events.events import emit, find_event, forget_events, list_events, publish
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.maintenance.clockwork import tick
from holdfast.store.scripts.maintenance.spread import BATCH
from tests.store.acts import (
    DONE,
    FAILED_FOR_GOOD,
    NOW,
    claim_one,
    claimed_ids,
    dump,
    end,
    job,
    let_time_pass,
    new_job,
    open_session,
    put,
    put_and_end,
    put_one,
    select,
    state,
    states,
    write,
)

SCHEDULED, QUEUED, CANCELLED = StateName.SCHEDULED, StateName.QUEUED, StateName.CANCELLED


def say(engine: Engine, name: str, event_id: str | None = None, now: Millis = NOW, **attributes: str) -> Emitted:
    """Emit an event, and let it reach everybody."""
    told = write(engine, emit, event_id or f"e{now}{name}{len(dump(engine)['events'])}", name, attributes, now)
    while let_time_pass(engine, now).more:
        pass
    return told


@pytest.mark.parametrize(
    ("pattern", "name", "is_meant"),
    [
        ("git:commit", "git:commit", True),
        ("git:commit", "git:commits", False),
        ("git:*", "git:commit", True),
        ("*", "anything", True),
        ("git:commit*", "git:commit", True),
        ("git:*", "git", False),
    ],
)
def test_a_job_waits_for_its_event_and_no_other(engine: Engine, pattern: str, name: str, is_meant: bool) -> None:
    put_one(engine, "a", wait_for_event=pattern)
    assert state(engine, "a") is SCHEDULED
    assert say(engine, name).waiting == int(is_meant)
    assert (state(engine, "a") is QUEUED) == is_meant


def test_all_attributes_are_matched_against_one_event(engine: Engine) -> None:
    put_one(engine, "a", wait_for_event="git:*", event_attributes={"branch": "main", "repo": "r1"})
    say(engine, "git:commit", branch="main")
    say(engine, "git:commit", repo="r1", branch="other")
    assert state(engine, "a") is SCHEDULED
    say(engine, "git:push", repo="r1", branch="main", more="x")
    assert state(engine, "a") is QUEUED


def test_a_wish_of_any_allowed_size_can_be_stored_and_comes_true(engine: Engine) -> None:
    chance = random.Random(1)
    wanted = {
        f"{number:02}{'n' * (LONGEST_ATTRIBUTE - 2)}": "".join(
            chr(chance.randint(0x10000, 0x1FFFF)) for _ in range(LONGEST_VALUE)
        )
        for number in range(MOST_ATTRIBUTES)
    }
    put_one(engine, "a", wait_for_event=f"{'x' * 200}*", event_attributes=wanted)
    write(engine, emit, "e1", "x" * 200, wanted | {next(iter(wanted)): "other"}, NOW)
    let_time_pass(engine, NOW)
    assert state(engine, "a") is SCHEDULED
    assert "event" in [closed.gate for closed in engine.query(why, "a", NOW).closed]
    write(engine, emit, "e2", "x" * 200, wanted, NOW)
    let_time_pass(engine, NOW)
    assert state(engine, "a") is QUEUED


def test_an_event_from_before_does_not_count(engine: Engine) -> None:
    put_one(engine, "early", wait_for_event="x")
    write(engine, emit, "e1", "x", {}, NOW)
    put_one(engine, "late", wait_for_event="x")
    let_time_pass(engine, NOW)
    assert states(engine, "early", "late") == [QUEUED, SCHEDULED]
    say(engine, "x")
    assert state(engine, "late") is QUEUED


def test_a_job_that_waits_for_more_than_an_event_goes_when_all_is_there(engine: Engine) -> None:
    open_session(engine)
    put(engine, new_job("parent"))
    put_one(engine, "child", wait_for_event="x", after=(Dependency("parent"),), due=NOW + 100)
    say(engine, "x")
    assert state(engine, "child") is SCHEDULED
    end(engine, claim_one(engine), DONE)
    assert state(engine, "child") is SCHEDULED
    let_time_pass(engine, NOW + 100)
    assert state(engine, "child") is QUEUED


def test_a_job_whose_parent_failed_ends_whatever_else_it_waits_for(engine: Engine) -> None:
    open_session(engine)
    put(engine, new_job("parent"))
    put_one(engine, "child", wait_for_event="x", after=(Dependency("parent"),))
    end(engine, claim_one(engine), FAILED_FOR_GOOD)
    assert job(engine, "child").state == Cancelled(NOW, "predecessor parent ended as FAILED")
    say(engine, "x")
    assert state(engine, "child") is CANCELLED


def test_an_event_reaches_many_a_few_at_a_time_and_all_in_the_end(engine: Engine) -> None:
    count = 2 * BATCH + 7
    put(engine, *[new_job(f"j{number}", wait_for_event="x") for number in range(count)])
    told = write(engine, emit, "e1", "x", {}, NOW)
    assert told.waiting == count
    let_time_pass(engine, NOW)
    assert select(engine, "SELECT count(*) AS n FROM jobs WHERE state = 'QUEUED'") == [{"n": BATCH}]
    while let_time_pass(engine, NOW).more:
        pass
    assert select(engine, "SELECT count(*) AS n FROM jobs WHERE state = 'QUEUED'") == [{"n": count}]
    assert len(engine.query(find_event, "e1").jobs) == count


def test_a_clock_that_was_set_back_holds_no_event_up(engine: Engine) -> None:
    put_one(engine, "a", wait_for_event="x")
    write(engine, emit, "e1", "x", {}, NOW + 10_000)
    let_time_pass(engine, NOW)
    assert state(engine, "a") is QUEUED


def test_jobs_that_ended_while_they_waited_are_met_once_and_stay_ended(engine: Engine) -> None:
    put_one(engine, "a", wait_for_event="x")
    write(engine, cancel_job, "a", NOW)
    assert say(engine, "x").waiting == 0
    assert state(engine, "a") is CANCELLED
    assert not select(engine, "SELECT * FROM job_conditions WHERE satisfied_at IS NULL")


def test_an_event_is_listed_with_what_it_let_go(engine: Engine) -> None:
    put_one(engine, "a", wait_for_event="git:*")
    say(engine, "git:commit", "e1", NOW, branch="main")
    say(engine, "other", "e2", NOW + 1)
    say(engine, "git:push", "e3", NOW + 2)
    page = engine.query(list_events)
    assert [view.event.name for view in page.events] == ["git:push", "other", "git:commit"]
    assert [[job.job_id for job in view.jobs] for view in page.events] == [[], [], ["a"]]
    assert [view.event.id for view in engine.query(list_events, "git:*").events] == ["e3", "e1"]
    assert [view.event.id for view in engine.query(list_events, "other").events] == ["e2"]


@pytest.mark.parametrize("name", [None, "x"])
def test_a_long_list_goes_on_where_it_stopped(engine: Engine, name: str | None) -> None:
    for number in range(5):
        write(engine, emit, f"e{number}", "x", {}, NOW + number)
    first = engine.query(list_events, name, 2)
    second = engine.query(list_events, name, 2, first.cursor)
    third = engine.query(list_events, name, 2, second.cursor)
    found = [view.event.id for page in (first, second, third) for view in page.events]
    assert (found, third.cursor) == (["e4", "e3", "e2", "e1", "e0"], None)
    with pytest.raises(NotFound, match="start without a cursor"):
        engine.query(list_events, name, 2, "gone")


def test_a_repeat_of_an_emit_says_the_same_and_stores_nothing(engine: Engine) -> None:
    first = write(engine, emit, "e1", "x", {"a": "1"}, NOW)
    again = write(engine, emit, "e1", "x", {"a": "1"}, NOW + 5, repeated=True)
    assert again == first
    with pytest.raises(Conflict, match="e1"):
        write(engine, emit, "e1", "x", {}, NOW)


@pytest.mark.parametrize(("name", "attributes"), [("a*", {}), ("", {}), ("x", {"a b": "1"}), ("x", {"a": "\x01"})])
def test_a_bad_event_is_refused_and_changes_nothing(engine: Engine, name: str, attributes: dict[str, str]) -> None:
    before = dump(engine)
    with pytest.raises(InvalidInput):
        write(engine, emit, "e1", name, attributes, NOW)
    assert dump(engine) == before


def test_events_are_kept_for_a_while_and_patterns_as_long_as_somebody_waits(engine: Engine) -> None:
    put_one(engine, "a", wait_for_event="x", event_attributes={"k": "1"})
    put_one(engine, "b", wait_for_event="y")
    say(engine, "y", "e1", NOW)
    say(engine, "z", "e2", NOW + 10)
    assert write(engine, forget_events, NOW + 5) == 1
    assert [view.event.id for view in engine.query(list_events).events] == ["e2"]
    assert [row["pattern"] for row in select(engine, "SELECT pattern FROM event_patterns")] == ["x"]


def test_an_event_that_has_not_reached_everybody_is_not_forgotten(engine: Engine) -> None:
    put_one(engine, "a", wait_for_event="x")
    write(engine, emit, "e1", "x", {}, NOW)
    assert write(engine, forget_events, NOW + 10) == 0
    let_time_pass(engine, NOW + 10)
    assert state(engine, "a") is QUEUED


def test_why_names_the_event_and_its_attributes(engine: Engine) -> None:
    put_one(engine, "a", wait_for_event="git:*", event_attributes={"branch": "main"})
    [closed] = [gate for gate in engine.query(why, "a", NOW).closed if gate.gate == "event"]
    assert "git:*" in closed.reason
    assert "branch=main" in closed.reason
    say(engine, "git:commit", branch="main")
    assert "event" not in [gate.gate for gate in engine.query(why, "a", NOW).closed]


def test_several_events_are_brought_in_one_commit_oldest_first(engine: Engine) -> None:
    for name in "abc":
        put_one(engine, name, wait_for_event=name)
    for name in "abc":
        write(engine, emit, f"e-{name}", name, {}, NOW)
    assert write(engine, tick, NOW, events=2).more
    assert states(engine, "a", "b", "c") == [QUEUED, QUEUED, SCHEDULED]
    write(engine, tick, NOW, events=5)
    assert state(engine, "c") is QUEUED


def test_what_jobs_do_is_an_event_for_who_waits_for_it_and_is_not_stored_for_nobody(engine: Engine) -> None:
    open_session(engine)
    put_and_end(engine, "before")
    assert not select(engine, "SELECT * FROM events")
    put_one(engine, "a", wait_for_event="job.done", event_attributes={"job_id": "b"})
    put_one(engine, "r", wait_for_event="job.run.*", event_attributes={"status": "failed"})
    put_and_end(engine, "c")
    put_and_end(engine, "b")
    while let_time_pass(engine, NOW).more:
        pass
    assert states(engine, "a", "r") == [QUEUED, SCHEDULED]
    assert claimed_ids(engine) == ["a"]
    put_and_end(engine, "d", FAILED_FOR_GOOD)
    while let_time_pass(engine, NOW).more:
        pass
    assert state(engine, "r") is QUEUED


def test_jobs_of_the_system_are_no_events(engine: Engine) -> None:
    open_session(engine)
    put_one(engine, "a", wait_for_event="*")
    put_one(engine, "canary", queue="holdfast")
    end(engine, claim_one(engine, queues=("holdfast",)))
    assert not select(engine, "SELECT * FROM events")


def test_alerts_and_pressure_are_kept_for_people_and_other_news_only_for_those_who_wait(engine: Engine) -> None:
    for name in ("alert.store", "pressure.cpu", "job.done", "machine.idle"):
        write(engine, publish, name, {}, NOW)
    assert {view.event.name for view in engine.query(list_events).events} == {"alert.store", "pressure.cpu"}
