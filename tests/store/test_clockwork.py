"""What the clock alone changes: due jobs become ready, jobs that waited too long end."""

from __future__ import annotations

from holdfast.core.job import Queued, SkippedDeadline, SkippedTtl, StateName
from holdfast.core.requests import Dependency
from holdfast.core.settle import Snoozed, Yielded
from holdfast.store.engine import Engine
from holdfast.store.scripts.clockwork import Ticked, next_moment, tick
from holdfast.store.scripts.reserve import NewReservation, find_reservation, reserve
from tests.store.acts import (
    DONE,
    NOW,
    SESSION,
    claim_one,
    claimed_ids,
    dump,
    end,
    job,
    let_time_pass,
    new_job,
    put,
    put_one,
    runs,
    state,
    states,
    write,
)


def test_a_due_job_becomes_ready_at_its_moment_and_not_before(engine: Engine) -> None:
    put_one(engine, "a", due=NOW + 50)
    assert let_time_pass(engine, NOW + 49) == Ticked(promoted=0, expired=0, more=False)
    assert state(engine, "a") is StateName.SCHEDULED
    assert let_time_pass(engine, NOW + 50) == Ticked(promoted=1, expired=0, more=False)
    assert job(engine, "a").state == Queued(NOW + 50)


def test_a_snoozed_job_becomes_ready_again(engine: Engine) -> None:
    put_one(engine, "a")
    end(engine, claim_one(engine), Snoozed(50))
    let_time_pass(engine, NOW + 50)
    assert claim_one(engine, now=NOW + 50).attempt == 2


def test_a_job_whose_conditions_are_open_is_not_promoted(engine: Engine) -> None:
    put(engine, new_job("parent"), new_job("child", due=NOW + 50, after=(Dependency("parent"),)))
    assert let_time_pass(engine, NOW + 50).promoted == 0
    end(engine, claim_one(engine), DONE, NOW + 60)
    assert state(engine, "child") is StateName.QUEUED


def test_a_job_whose_conditions_came_true_early_waits_for_its_time(engine: Engine) -> None:
    put(engine, new_job("parent"), new_job("child", due=NOW + 50, after=(Dependency("parent"),)))
    end(engine, claim_one(engine))
    assert state(engine, "child") is StateName.SCHEDULED
    assert engine.query(next_moment) == NOW + 50
    let_time_pass(engine, NOW + 50)
    assert state(engine, "child") is StateName.QUEUED


def test_a_job_that_was_ready_for_too_long_is_skipped(engine: Engine) -> None:
    put_one(engine, "a", ttl_ms=50)
    assert let_time_pass(engine, NOW + 49).expired == 0
    assert let_time_pass(engine, NOW + 50).expired == 1
    assert job(engine, "a").state == SkippedTtl(NOW + 50, "it was ready for longer than its time to live")
    assert runs(engine, "a") == []


def test_only_the_time_in_queued_counts_for_the_ttl(engine: Engine) -> None:
    put_one(engine, "a", delay_ms=1000, ttl_ms=50)
    let_time_pass(engine, NOW + 1000)
    assert state(engine, "a") is StateName.QUEUED
    run = claim_one(engine, now=NOW + 1000)
    end(engine, run, Yielded("room"), NOW + 5000)
    let_time_pass(engine, NOW + 5049)
    assert state(engine, "a") is StateName.QUEUED
    let_time_pass(engine, NOW + 5050)
    assert state(engine, "a") is StateName.SKIPPED_TTL


def test_a_job_that_comes_back_by_the_clock_lives_as_long_again(engine: Engine) -> None:
    put_one(engine, "a", ttl_ms=50)
    end(engine, claim_one(engine), Snoozed(1000))
    let_time_pass(engine, NOW + 1000)
    assert let_time_pass(engine, NOW + 1049).expired == 0
    assert let_time_pass(engine, NOW + 1050).expired == 1


def test_a_running_job_has_no_ttl(engine: Engine) -> None:
    put_one(engine, "a", ttl_ms=50)
    claim_one(engine)
    assert let_time_pass(engine, NOW + 999).expired == 0


def test_waiting_past_the_deadline_ends_ready_and_scheduled_jobs(engine: Engine) -> None:
    put(engine, new_job("ready", deadline=NOW + 50), new_job("later", due=NOW + 70, deadline=NOW + 50))
    assert let_time_pass(engine, NOW + 49).expired == 0
    assert let_time_pass(engine, NOW + 50).expired == 2
    assert job(engine, "ready").state == SkippedDeadline(NOW + 50, "its deadline passed while it waited")
    assert state(engine, "later") is StateName.SKIPPED_DEADLINE


def test_a_running_job_is_stopped_by_its_worker_and_not_by_the_clock(engine: Engine) -> None:
    put_one(engine, "a", deadline=NOW + 50)
    claim_one(engine)
    assert let_time_pass(engine, NOW + 999).expired == 0
    assert state(engine, "a") is StateName.RUNNING


def test_a_job_that_is_due_and_too_late_at_once_is_skipped(engine: Engine) -> None:
    put_one(engine, "a", due=NOW + 50, deadline=NOW + 50)
    let_time_pass(engine, NOW + 50)
    assert state(engine, "a") is StateName.SKIPPED_DEADLINE


def test_promoted_jobs_keep_the_order_of_the_queue(engine: Engine) -> None:
    put(engine, new_job("a", due=NOW + 30), new_job("b", due=NOW + 10), new_job("c", due=NOW + 20, priority=1))
    let_time_pass(engine, NOW + 30)
    assert claimed_ids(engine, now=NOW + 30) == ["c", "a", "b"]


def test_many_are_moved_in_steps(engine: Engine) -> None:
    put(engine, *(new_job(f"j{n}", due=NOW + 1) for n in range(5)))
    steps = [write(engine, tick, NOW + 1, limit=2) for _ in range(4)]
    assert [(step.promoted, step.more) for step in steps] == [(2, True), (2, True), (1, False), (0, False)]


def test_the_earliest_are_moved_first(engine: Engine) -> None:
    put(engine, new_job("late", due=NOW + 9), new_job("early", due=NOW + 1))
    write(engine, tick, NOW + 10, limit=1)
    assert states(engine, "early", "late") == [StateName.QUEUED, StateName.SCHEDULED]


def test_ticking_twice_changes_nothing_more(engine: Engine) -> None:
    put(engine, new_job("a", due=NOW + 1), new_job("b", ttl_ms=1), new_job("c", deadline=NOW + 1))
    let_time_pass(engine, NOW + 1)
    before = dump(engine)
    assert let_time_pass(engine, NOW + 2) == Ticked(0, 0, more=False)
    assert dump(engine) == before


def test_the_next_moment_is_the_earliest_of_all_that_the_clock_changes(engine: Engine) -> None:
    assert engine.query(next_moment) is None
    put_one(engine, "ready")
    assert engine.query(next_moment) is None
    put_one(engine, "a", deadline=NOW + 400)
    assert engine.query(next_moment) == NOW + 400
    put_one(engine, "b", due=NOW + 300)
    assert engine.query(next_moment) == NOW + 300
    put_one(engine, "c", ttl_ms=200)
    assert engine.query(next_moment) == NOW + 200
    write(engine, reserve, NewReservation("r", "q", "somebody", SESSION, 100, 0), NOW)
    assert engine.query(next_moment) == NOW + 100


def test_no_moment_is_left_behind(engine: Engine) -> None:
    put(engine, new_job("a", due=NOW + 1), new_job("b", ttl_ms=2), new_job("c", due=NOW + 9, deadline=NOW + 3))
    write(engine, reserve, NewReservation("r", "q", "somebody", SESSION, 4, 0), NOW)
    for moment in (NOW + 1, NOW + 2, NOW + 3, NOW + 4):
        assert engine.query(next_moment) == moment
        let_time_pass(engine, moment)
    assert engine.query(next_moment) is None


def test_a_reservation_expires_by_the_clock(engine: Engine) -> None:
    write(engine, reserve, NewReservation("r", "q", "somebody", SESSION, 100, 0), NOW)
    let_time_pass(engine, NOW + 99)
    assert engine.query(find_reservation, "r").status == "ACTIVE"
    let_time_pass(engine, NOW + 100)
    assert engine.query(find_reservation, "r").status == "EXPIRED"
