"""Counts per queue and state, kept by the database itself."""

from __future__ import annotations

import random

from holdfast.core.job import StateName
from holdfast.core.jobs.settle import Outcome, Skipped, Snoozed, StoppedByCancel, Yielded
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.maintenance.retention import forget_old
from holdfast.store.scripts.reading.read_jobs import counts
from tests.store.acts import (
    DONE,
    FAILED,
    NOW,
    claim_one,
    claim_some,
    end,
    let_time_pass,
    new_job,
    put,
    put_and_end,
    select,
    write,
)


def counted(engine: Engine) -> dict[tuple[str, str], int]:
    return {(count.queue, count.state): count.jobs for count in engine.query(counts)}


def test_jobs_are_counted_by_queue_and_state(engine: Engine) -> None:
    put_and_end(engine, "z")
    put(engine, new_job("a"), new_job("b"), new_job("c", delay_ms=9), new_job("d", queue="other"))
    claim_one(engine)
    assert counted(engine) == {
        ("default", StateName.DONE): 1,
        ("default", StateName.QUEUED): 1,
        ("default", StateName.RUNNING): 1,
        ("default", StateName.SCHEDULED): 1,
        ("other", StateName.QUEUED): 1,
    }


def test_a_state_that_nobody_is_in_is_not_listed(engine: Engine) -> None:
    put_and_end(engine, "a")
    assert counted(engine) == {("default", "DONE"): 1}
    write(engine, forget_old, NOW + 1)
    assert counted(engine) == {}


def test_counts_follow_whatever_happens(engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    outcomes: list[Outcome] = [DONE, FAILED, Yielded("room"), Snoozed(5), Skipped("no"), StoppedByCancel()]
    now = NOW
    for turn in range(25):
        policy = RetryPolicy(retries=2, mode=dice.choice(list(RetryMode)), initial_ms=1)
        subject = dice.choice([None, "s1", "s2"])
        put(engine, new_job(f"j{turn}", queue=dice.choice("xy"), subject=subject, policy=policy), now=now)
        for run in claim_some(engine, dice.randrange(3), queues=("x", "y"), now=now):
            if dice.random() < 0.2:
                write(engine, cancel_job, run.job_id, now)
            end(engine, run, dice.choice(outcomes), now)
        now += 3
        let_time_pass(engine, now)
    listed = {(found["queue"], found["state"]): found["n"] for found in select(engine, COUNTED)}
    assert counted(engine) == listed


COUNTED = "SELECT queue, state, count(*) AS n FROM jobs GROUP BY queue, state"
