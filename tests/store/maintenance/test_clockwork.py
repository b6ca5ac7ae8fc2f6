"""What the clock alone changes: due jobs become ready, jobs that waited too long end."""

from __future__ import annotations

from holdfast.core.job import Queued, SkippedDeadline, SkippedTtl, StateName
from holdfast.core.jobs.settle import Snoozed, Yielded
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.values.group import Dependency
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.maintenance.clockwork import Ticked, next_moment, tick
from holdfast.store.scripts.queues.reservations import find_reservation
from holdfast.store.scripts.queues.reserve import reserve
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


def test_a_job_that_fell_due_while_nobody_ran_is_ready_since_then(engine: Engine) -> None:
    put_one(engine, "a", due=NOW + 50)
    let_time_pass(engine, NOW + 5_000)
    assert job(engine, "a").state == Queued(NOW + 50)


def test_a_time_to_live_that_passed_while_nobody_ran_has_passed(engine: Engine) -> None:
    put_one(engine, "a", due=NOW + 50, ttl_ms=100)
    put_one(engine, "b", due=NOW + 50, ttl_ms=100_000)
    put_one(engine, "c", due=NOW + 50)
    # Nobody can claim it before it ends: both are one transaction.
    assert let_time_pass(engine, NOW + 150) == Ticked(promoted=3, expired=1, more=False)
    assert state(engine, "a") is StateName.SKIPPED_TTL
    assert claimed_ids(engine, now=NOW + 150) == ["b", "c"]


def test_none_of_a_full_batch_is_ready_beyond_its_time_to_live(engine: Engine) -> None:
    put(engine, *(new_job(f"old{number}", ttl_ms=60) for number in range(3)))
    put(engine, *(new_job(f"due{number}", due=NOW + 50, ttl_ms=60) for number in range(3)))
    assert write(engine, tick, NOW + 500, 3).expired == 6
    assert claimed_ids(engine, now=NOW + 500) == []


def test_an_event_makes_a_job_ready_since_it_was_emitted(engine: Engine) -> None:
    put_one(engine, "a", wait_for_event="x", ttl_ms=100)
    put_one(engine, "b", wait_for_event="x", due=NOW + 70, ttl_ms=100)
    write(engine, emit, "e1", "x", {}, NOW + 10)
    let_time_pass(engine, NOW + 90)
    assert [job(engine, job_id).state for job_id in ("a", "b")] == [Queued(NOW + 10), Queued(NOW + 70)]
    let_time_pass(engine, NOW + 110)
    assert states(engine, "a", "b") == [StateName.SKIPPED_TTL, StateName.QUEUED]


def test_an_event_that_nobody_brought_in_time_starts_nothing(engine: Engine) -> None:
    put_one(engine, "a", wait_for_event="x", ttl_ms=100)
    write(engine, emit, "e1", "x", {}, NOW + 10)
    assert let_time_pass(engine, NOW + 110).expired == 1
    assert state(engine, "a") is StateName.SKIPPED_TTL


def test_a_dependency_that_came_last_makes_a_job_ready(engine: Engine) -> None:
    put(engine, new_job("parent"), new_job("child", due=NOW + 50, after=(Dependency("parent"),), ttl_ms=100))
    end(engine, claim_one(engine), DONE, NOW + 70)
    assert job(engine, "child").state == Queued(NOW + 70)
