"""When the wall clock is set, what waits for a length of time is moved along, once; what waits for a moment is not."""

from __future__ import annotations

from holdfast.core.jobs.settle import Snoozed
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.machines.clock_steps import KEEP, ClockState, SeenStep, clock_state, move_waiting, note_step
from tests.store.acts import FAILED, NOW, claim_one, end, last, let_time_pass, new_job, put, put_one, row, select, write

HOUR = 3_600_000
LATER = NOW + 10_000


def note(engine: Engine, step: int, now: int, known: int = 0) -> ClockState:
    """A process that looked two seconds ago, when so much was recorded, sees a step."""
    return write(engine, note_step, SeenStep(step, known, now - 2_000), now)


def move(engine: Engine, now: int, limit: int = 500) -> int:
    """Move everything that is to be moved; how many batches that took."""
    batches = 0
    while write(engine, move_waiting, now, limit) is not None:
        batches += 1
    return batches


def set_clock(engine: Engine, step: int, now: int = LATER) -> int:
    """The clock, which shows `now`, is set; returns what it shows then."""
    note(engine, step, now + step)
    move(engine, now + step)
    return now + step


def due(engine: Engine, *ids: str) -> list[int | None]:
    """When the jobs are due, counted from `NOW`."""
    found = [row(engine, job_id).scheduled_at for job_id in ids]
    return [None if moment is None else moment - NOW for moment in found]


def test_a_delay_goes_with_the_clock_and_a_moment_does_not(engine: Engine) -> None:
    put(engine, new_job("delayed", delay_ms=60_000), new_job("at", due=NOW + 60_000), new_job("ready"))
    set_clock(engine, HOUR)
    assert due(engine, "delayed", "at", "ready") == [HOUR + 60_000, 60_000, None]


def test_a_delay_beside_a_condition_goes_with_the_clock_too(engine: Engine) -> None:
    both = new_job("both", delay_ms=60_000, wait_for_event="e")
    put(engine, both, new_job("moment", due=NOW + 60_000, wait_for_event="e"), new_job("event", wait_for_event="e"))
    set_clock(engine, HOUR)
    assert due(engine, "both", "moment", "event") == [HOUR + 60_000, 60_000, None]


def test_a_clock_that_is_set_back_makes_nobody_wait_longer(engine: Engine) -> None:
    put_one(engine, "delayed", delay_ms=60_000)
    set_clock(engine, -24 * HOUR)
    assert due(engine, "delayed") == [60_000 - 24 * HOUR]


def test_backoffs_snoozes_and_links_of_a_chain_go_with_the_clock(engine: Engine) -> None:
    requeue, chain = RetryPolicy(retries=3), RetryPolicy(retries=3, mode=RetryMode.CHAIN)
    for job_id, policy, outcome in (
        ("retry", requeue, FAILED),
        ("chain", chain, FAILED),
        ("snooze", requeue, Snoozed(5_000)),
    ):
        put_one(engine, job_id, due=NOW, policy=policy)
        end(engine, claim_one(engine), outcome)
    ids = ("retry", last(engine, "chain").id, "snooze")
    before = due(engine, *ids)
    set_clock(engine, HOUR)
    assert due(engine, *ids) == [moment + HOUR for moment in before if moment is not None]


def test_what_was_stored_after_the_step_stays(engine: Engine) -> None:
    put_one(engine, "before", delay_ms=60_000)
    now = LATER - HOUR
    put_one(engine, "after", delay_ms=60_000, now=now - 1_000)
    put_one(engine, "ran", now=now - 1_000)
    end(engine, claim_one(engine, now=now - 1_000), Snoozed(60_000), now - 500)
    note(engine, -HOUR, now)
    put_one(engine, "later", delay_ms=60_000, now=now + 5)
    move(engine, now + 10)
    assert due(engine, "before", "after", "ran", "later") == [
        60_000 - HOUR,
        now - 1_000 + 60_000 - NOW,
        now - 500 + 60_000 - NOW,
        now + 5 + 60_000 - NOW,
    ]


def test_a_step_that_two_processes_see_is_recorded_once(engine: Engine) -> None:
    put_one(engine, "delayed", delay_ms=60_000)
    assert note(engine, HOUR, LATER + HOUR) == ClockState(HOUR, is_moving=True)
    assert note(engine, HOUR + 1, LATER + HOUR + 900) == ClockState(HOUR, is_moving=True)
    move(engine, LATER + HOUR)
    assert engine.query(clock_state) == ClockState(HOUR, is_moving=False)
    assert due(engine, "delayed") == [HOUR + 60_000]


def test_two_steps_that_one_process_saw_as_one_are_recorded_once_each(engine: Engine) -> None:
    put_one(engine, "delayed", delay_ms=60_000)
    assert note(engine, HOUR, LATER + HOUR).total_ms == HOUR
    assert note(engine, 3 * HOUR, LATER + 3 * HOUR).total_ms == 3 * HOUR
    assert note(engine, 2 * HOUR, LATER + 3 * HOUR, known=HOUR).total_ms == 3 * HOUR
    move(engine, LATER + 3 * HOUR)
    assert due(engine, "delayed") == [3 * HOUR + 60_000]


def test_who_dies_between_two_batches_leaves_none_to_be_moved_twice(engine: Engine) -> None:
    ids = [f"{queue}{number}" for number in range(4) for queue in "ab"]
    put(engine, *(new_job(job_id, queue=job_id[0], delay_ms=60_000) for job_id in ids))
    note(engine, HOUR, LATER + HOUR)
    for _ in range(2):
        write(engine, move_waiting, LATER + HOUR, 3)
    moved = due(engine, *ids).count(HOUR + 60_000)
    assert moved == 6
    assert engine.query(clock_state).is_moving
    assert move(engine, LATER + HOUR, 3) == 1
    assert due(engine, *ids) == [HOUR + 60_000] * 8


def test_a_moved_job_becomes_ready_when_its_time_has_passed(engine: Engine) -> None:
    put_one(engine, "delayed", delay_ms=60_000)
    now = set_clock(engine, HOUR)
    assert let_time_pass(engine, now + 49_999).promoted == 0
    assert let_time_pass(engine, now + 50_000).promoted == 1


def test_a_clock_that_is_set_all_the_time_fills_no_disk(engine: Engine) -> None:
    for number in range(KEEP + 20):
        note(engine, 2_000, NOW + number, known=2_000 * number)
        move(engine, NOW + number)
    [found] = select(engine, "SELECT count(*) AS steps, max(total_ms) AS total FROM clock_steps")
    assert found["steps"] <= KEEP + 1
    assert found["total"] == 2_000 * (KEEP + 20)
