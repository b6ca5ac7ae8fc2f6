"""Who needs much of a machine lets others pass for a while, and is not forgotten."""

from __future__ import annotations

import pytest

from holdfast.core.job import StateName
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.reorder import set_priority
from holdfast.store.scripts.queues.queues import pause
from tests.store.acts import (
    NOW,
    claim_one,
    claim_some,
    claimed_ids,
    end,
    job,
    let_time_pass,
    lose,
    put,
    state,
    write,
)
from tests.store.token_acts import (
    LATE,
    exchange_end,
    new_job,
    passed_since,
    put_one,
    told_of,
    worker,
)


def test_a_job_that_does_not_fit_lets_smaller_ones_pass_for_a_while(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4), new_job("small", cpu=1))
    assert claimed_ids(engine, session=here) == ["first", "small"]
    assert passed_since(engine, "big") == NOW
    assert passed_since(engine, "small") is None


def test_after_the_timeout_room_is_kept_for_it_and_it_starts_first(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2, priority=9), new_job("big", cpu=4))
    first = claim_one(engine, session=here)
    assert claimed_ids(engine, session=here) == []
    put(engine, new_job("late", cpu=1, priority=8), new_job("plain"), new_job("io", io=1), now=LATE)
    assert claimed_ids(engine, session=here, now=LATE) == ["plain", "io"]
    end(engine, first, now=LATE)
    assert claimed_ids(engine, 1, session=here, now=LATE) == ["big"]
    assert passed_since(engine, "big") is None


def test_a_stream_of_small_jobs_does_not_keep_a_big_one_waiting(engine: Engine, here: str) -> None:
    worker(engine, "beside", queues=("q2",))
    running = []
    put_one(engine, "big", cpu=4, queue="q2")
    for step in range(20):
        now = NOW + step * 10_000
        put_one(engine, f"a{step}", cpu=2, now=now)
        put_one(engine, f"b{step}", cpu=2, now=now)
        if step == 0:
            running += claim_some(engine, session="here", now=now)
        assert state(engine, "big") is StateName.QUEUED or step > 5
        runs = claim_some(engine, session="beside", queues=("q2",), now=now)
        if runs:
            assert [run.job_id for run in runs] == ["big"]
            return
        if running:
            end(engine, running.pop(0), now=now)
        running += claim_some(engine, 1, session="here", now=now)
    pytest.fail("the big job never started")


def test_its_priority_grows_once(engine: Engine, here: str) -> None:
    put_one(engine, "first", cpu=1)
    claim_one(engine, session=here)
    put_one(engine, "big", cpu=4, priority=3)
    for now in (NOW, LATE - 1):
        claim_some(engine, session=here, now=now)
    assert job(engine, "big").priority == 3
    for now in (LATE, LATE + 1, LATE + 60_000):
        claim_some(engine, session=here, now=now)
    assert job(engine, "big").priority == 4


def test_nobody_keeps_room_for_a_job_that_cannot_start(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4, queue="q2"))
    worker(engine, "beside", queues=("q2",))
    claim_some(engine, session=here)
    assert claimed_ids(engine, session="beside", queues=("q2",)) == []
    put_one(engine, "small", cpu=1, now=LATE)
    assert claimed_ids(engine, session=here, now=LATE) == []
    write(engine, pause, "q2", None, LATE)
    assert claimed_ids(engine, session=here, now=LATE) == ["small"]


def test_nobody_keeps_room_for_a_job_without_a_worker(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4, queue="q2"))
    worker(engine, "beside", queues=("q2",))
    claim_some(engine, session=here)
    claim_some(engine, session="beside", queues=("q2",))
    lose(engine, "beside")
    put_one(engine, "small", cpu=1, now=LATE)
    assert claimed_ids(engine, session=here, now=LATE) == ["small"]


def test_a_job_that_no_machine_could_hold_is_passed_by_all(engine: Engine, here: str) -> None:
    put(engine, new_job("never", cpu=5), *(new_job(f"j{n}", cpu=1) for n in range(2)))
    assert claimed_ids(engine, session=here) == ["j0", "j1"]
    assert claimed_ids(engine, session=here, now=LATE) == []
    assert passed_since(engine, "never") is None


def test_a_hundred_big_jobs_at_the_head_do_not_hide_a_small_one_of_another_tenant(engine: Engine, here: str) -> None:
    put_one(engine, "first", cpu=1)
    claim_one(engine, session=here)
    put(engine, *(new_job(f"b{n}", cpu=4, tenant="big") for n in range(100)))
    put_one(engine, "small", cpu=1, tenant="small")
    assert claimed_ids(engine, session=here) == ["small"]


def test_whoever_moves_a_job_takes_its_mark(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4))
    claim_some(engine, session=here)
    write(engine, set_priority, "big", -5)
    assert passed_since(engine, "big") is None


def test_a_mark_of_a_clock_that_was_ahead_is_set_anew(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4), now=NOW)
    claim_some(engine, session=here, now=NOW + 10**9)
    claim_some(engine, session=here, now=NOW)
    assert passed_since(engine, "big") == NOW


def test_the_end_of_a_run_with_tokens_wakes_those_who_wait_for_some(engine: Engine, here: str) -> None:
    put(engine, new_job("a", cpu=4), new_job("b", cpu=1, queue="q2"), new_job("c", queue="q3"))
    run = claim_one(engine, session=here)
    done = told_of(engine, lambda: exchange_end(engine, here, run))
    assert done == {"q2"}


def test_a_lost_session_wakes_those_who_wait_for_its_tokens(engine: Engine, here: str) -> None:
    put(engine, new_job("a", cpu=4), new_job("b", cpu=1, queue="q2"))
    claim_one(engine, session=here)
    assert "q2" in told_of(engine, lambda: lose(engine, here))


def test_a_cancelled_job_keeps_no_room(engine: Engine, here: str) -> None:
    put(engine, new_job("first", cpu=2), new_job("big", cpu=4))
    claim_some(engine, session=here)
    put_one(engine, "small", cpu=1, now=LATE)
    assert claimed_ids(engine, session=here, now=LATE) == []
    assert "default" in told_of(engine, lambda: write(engine, cancel_job, "big", LATE))
    assert claimed_ids(engine, session=here, now=LATE) == ["small"]


def test_a_suspect_waits_for_room_that_others_use_and_holds_nobody_up(engine: Engine, here: str) -> None:
    worker(engine, "other")
    put_one(engine, "suspect", cpu=4)
    claim_one(engine, session=here)
    lose(engine, here)
    worker(engine, "third")
    later = NOW + 3_600_000
    let_time_pass(engine, later)
    put(engine, new_job("a", cpu=1, queue="q2"), new_job("b", cpu=1, queue="q2"), now=later)
    beside = claim_one(engine, session="third", queues=("q2",), now=later)
    # 3 of 4 are free: it does not fit, and whoever asks goes on with others meanwhile.
    assert claimed_ids(engine, session="other", queues=("default", "q2"), now=later) == ["b"]
    end(engine, beside, now=later)
    assert claimed_ids(engine, session="third", now=later) == []
    lose(engine, "other", later)
    assert claimed_ids(engine, session="third", now=later) == ["suspect"]
