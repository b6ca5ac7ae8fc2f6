"""Bulk actions: the same for every job that a filter names, or first only a count."""

from __future__ import annotations

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.job import StateName
from holdfast.core.jobs.requests import JobFilter
from holdfast.core.messages.jobs import BulkAction, BulkResult
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.bulk import bulk
from tests.store.acts import (
    FAILED,
    NOW,
    claim_one,
    claimed_ids,
    dump,
    end,
    let_time_pass,
    new_job,
    put,
    put_and_end,
    put_one,
    row,
    select,
    state,
    states,
    write,
)

LATER = NOW + 10_000_000


def test_a_dry_run_counts_and_changes_nothing(engine: Engine) -> None:
    put(engine, *(new_job(name) for name in "abc"))
    before = dump(engine)
    # A transaction that cannot write, so that it works on a full disk too.
    assert engine.query(bulk, BulkAction.CANCEL, JobFilter(), NOW, dry_run=True) == BulkResult(3, False, True)
    assert engine.query(bulk, BulkAction.RETRY, JobFilter(), NOW, dry_run=True) == BulkResult(0, False, True)
    assert dump(engine) == before


def test_cancel_concerns_all_that_has_not_ended(engine: Engine) -> None:
    put_and_end(engine, "ended")
    put(engine, new_job("running"), new_job("ready"), new_job("later", delay_ms=9))
    claim_one(engine)
    assert write(engine, bulk, BulkAction.CANCEL, JobFilter(), NOW) == BulkResult(3, False, False)
    assert states(engine, "ended", "ready", "later") == [StateName.DONE, StateName.CANCELLED, StateName.CANCELLED]
    assert select(engine, "SELECT stop_reason FROM jobs WHERE id = 'running'") == [{"stop_reason": "cancel"}]


def test_only_what_the_filter_names_is_concerned(engine: Engine) -> None:
    put(engine, new_job("a", tag="blue"), new_job("b", tag="red"), new_job("c", tag="blue", queue="other"))
    wanted = JobFilter(tag="blue", queue="default")
    assert write(engine, bulk, BulkAction.CANCEL, wanted, NOW).jobs == 1
    assert states(engine, "a", "b", "c") == [StateName.CANCELLED, StateName.QUEUED, StateName.QUEUED]


def test_states_that_the_action_does_not_concern_are_left_out(engine: Engine) -> None:
    put_one(engine, "a")
    wanted = JobFilter(states=(StateName.DONE, StateName.FAILED))
    assert write(engine, bulk, BulkAction.CANCEL, wanted, NOW) == BulkResult(0, False, False)
    assert state(engine, "a") is StateName.QUEUED


def test_the_limit_is_kept_and_told(engine: Engine) -> None:
    put(engine, *(new_job(name) for name in "abc"))
    assert write(engine, bulk, BulkAction.CANCEL, JobFilter(), NOW, limit=2) == BulkResult(2, True, False)
    assert write(engine, bulk, BulkAction.CANCEL, JobFilter(), NOW, limit=2) == BulkResult(1, False, False)


def test_retry_makes_new_jobs_in_the_old_order(engine: Engine) -> None:
    for name in "abc":
        put_and_end(engine, name, FAILED, payload=f'"{name}"')
    wanted = JobFilter(states=(StateName.FAILED,))
    assert write(engine, bulk, BulkAction.RETRY, wanted, NOW).jobs == 3
    assert [row(engine, new).payload for new in claimed_ids(engine)] == ['"a"', '"b"', '"c"']


@pytest.mark.parametrize("dry_run", [True, False])
def test_retry_takes_a_chain_once(engine: Engine, dry_run: bool) -> None:
    put_and_end(engine, "a", FAILED, policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN))
    let_time_pass(engine, LATER)
    end(engine, claim_one(engine, now=LATER), FAILED, LATER)
    wanted = JobFilter(states=(StateName.FAILED,))
    assert write(engine, bulk, BulkAction.RETRY, wanted, LATER, dry_run=dry_run).jobs == 1
    assert len(claimed_ids(engine, now=LATER)) == (0 if dry_run else 1)


def test_retry_leaves_a_chain_alone_that_went_well_in_the_end(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN))
    let_time_pass(engine, LATER)
    end(engine, claim_one(engine, now=LATER), now=LATER)
    assert write(engine, bulk, BulkAction.RETRY, JobFilter(states=(StateName.FAILED,)), LATER).jobs == 0


def test_a_new_priority_keeps_the_order_of_the_jobs(engine: Engine) -> None:
    put(engine, *(new_job(name, tag="blue" if name != "b" else None) for name in "abcd"))
    write(engine, bulk, BulkAction.PRIORITY, JobFilter(tag="blue"), NOW, priority=5)
    assert claimed_ids(engine) == ["a", "c", "d", "b"]


def test_the_priority_must_be_given(engine: Engine) -> None:
    with pytest.raises(InvalidInput, match="priority"):
        write(engine, bulk, BulkAction.PRIORITY, JobFilter(), NOW)
