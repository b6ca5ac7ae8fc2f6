"""Queues: how many of their jobs may run at once, and pauses."""

from __future__ import annotations

from holdfast.core.job import StateName
from holdfast.core.messages.queues import Queue
from holdfast.store.engine import Engine
from holdfast.store.scripts.queues.queues import list_queues, pause, resume, set_limit
from tests.store.acts import (
    NOW,
    claim_one,
    claim_some,
    claimed_ids,
    end,
    new_job,
    open_session,
    put,
    put_one,
    state,
    write,
)


def test_a_queue_without_settings_has_no_limit(engine: Engine) -> None:
    put(engine, *(new_job(f"j{n}") for n in range(50)))
    assert len(claim_some(engine)) == 50
    assert engine.query(list_queues) == []


def test_no_more_than_the_limit_run_at_once(engine: Engine) -> None:
    write(engine, set_limit, "default", 2)
    put(engine, *(new_job(name) for name in "abcd"))
    first, _ = claim_some(engine)
    assert claim_some(engine) == []
    end(engine, first)
    assert claimed_ids(engine) == ["c"]


def test_the_limit_counts_over_all_sessions(engine: Engine) -> None:
    write(engine, set_limit, "default", 2)
    put(engine, *(new_job(name) for name in "abcd"))
    claim_one(engine)
    assert claimed_ids(engine, session=open_session(engine, "s2")) == ["b"]
    assert claimed_ids(engine, session=open_session(engine, "s3")) == []


def test_a_limit_of_one_queue_leaves_the_others_alone(engine: Engine) -> None:
    write(engine, set_limit, "x", 1)
    put(engine, *(new_job(f"{queue}{n}", queue=queue) for queue in "xy" for n in range(2)))
    assert claimed_ids(engine, queues=("x", "y")) == ["x0", "y0", "y1"]


def test_a_limit_of_zero_starts_nothing(engine: Engine) -> None:
    write(engine, set_limit, "default", 0)
    put_one(engine, "a")
    assert claim_some(engine) == []


def test_a_limit_below_what_runs_stops_nobody_and_starts_nobody(engine: Engine) -> None:
    put(engine, *(new_job(name) for name in "abc"))
    claim_some(engine, 2)
    write(engine, set_limit, "default", 1)
    assert claim_some(engine) == []
    assert state(engine, "a") is StateName.RUNNING


def test_a_limit_can_be_changed_and_lifted(engine: Engine) -> None:
    put(engine, *(new_job(name) for name in "abcd"))
    write(engine, set_limit, "default", 1)
    assert len(claim_some(engine)) == 1
    write(engine, set_limit, "default", 2)
    assert len(claim_some(engine)) == 1
    write(engine, set_limit, "default", None)
    assert len(claim_some(engine)) == 2


def test_a_paused_queue_starts_nothing_and_what_runs_goes_on(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"), new_job("c", queue="other"))
    run = claim_one(engine)
    write(engine, pause, "default", "lunch", NOW + 5)
    assert claimed_ids(engine, queues=("default", "other")) == ["c"]
    assert end(engine, run).state is StateName.DONE
    write(engine, resume, "default", NOW)
    assert claimed_ids(engine) == ["b"]


def test_a_pause_keeps_the_limit_and_a_limit_keeps_the_pause(engine: Engine) -> None:
    write(engine, set_limit, "default", 3)
    write(engine, pause, "default", "lunch", NOW)
    write(engine, set_limit, "default", 4)
    assert engine.query(list_queues) == [Queue(name="default", concurrency=4, paused_at=NOW, pause_reason="lunch")]
    write(engine, resume, "default", NOW)
    assert engine.query(list_queues) == [Queue(name="default", concurrency=4)]
