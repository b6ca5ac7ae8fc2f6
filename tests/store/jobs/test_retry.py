"""Automatic retry: the same job again (REQUEUE) or a new link of a chain (CHAIN), and who is charged for a try."""

from __future__ import annotations

import pytest

from holdfast.core.errors import NotFound
from holdfast.core.job import Scheduled, StateName
from holdfast.core.jobs.settle import Broke, Snoozed, Yielded
from holdfast.core.values.retry import Failure, FailureKind, RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.reading.read_jobs import find_last
from holdfast.store.scripts.runs.settling import jitter_of
from tests.store.acts import (
    DONE,
    FAILED,
    FAILED_FOR_GOOD,
    FAILURE,
    NOW,
    claim_one,
    claim_some,
    end,
    job,
    last,
    let_time_pass,
    put_and_end,
    put_one,
    row,
    runs,
    select,
    state,
    write,
)

INFRA = Broke(Failure(FailureKind.INFRA, "ERR_DISK", "disk full"))
LATER = NOW + 10_000_000
both_modes = pytest.mark.parametrize("mode", list(RetryMode))


def policy(mode: RetryMode, retries: int = 1, **options: int) -> RetryPolicy:
    return RetryPolicy(retries=retries, mode=mode, **options)


def run_again(engine: Engine, outcome: Broke | Snoozed = FAILED, now: int = LATER) -> StateName | None:
    """The retry becomes due, is claimed and ends."""
    let_time_pass(engine, now)
    return end(engine, claim_one(engine, now=now), outcome, now).state


def test_a_requeued_job_waits_for_its_backoff(engine: Engine) -> None:
    settled = put_and_end(engine, "a", FAILED, policy=RetryPolicy(retries=1, initial_ms=1000))
    assert settled.state is StateName.SCHEDULED
    until = NOW + round(1000 * (1 + 0.1 * jitter_of("a", 1)))
    assert job(engine, "a").state == Scheduled(until, "ERR_TEST: it broke")
    let_time_pass(engine, until - 1)
    assert claim_some(engine, now=until - 1) == []
    let_time_pass(engine, until)
    assert claim_one(engine, now=until).attempt == 2


def test_a_chained_job_ends_and_a_new_one_continues_it(engine: Engine) -> None:
    settled = put_and_end(engine, "a", FAILED, policy=policy(RetryMode.CHAIN), tag="blue", payload='{"x":1}')
    assert settled.state is StateName.FAILED
    link = last(engine, "a")
    assert (link.retry_of, link.state.name, link.payload, link.tag) == ("a", StateName.SCHEDULED, '{"x":1}', "blue")
    assert row(engine, "a").error_code == "ERR_TEST"


@both_modes
def test_the_budget_is_the_number_of_retries_after_the_first_try(engine: Engine, mode: RetryMode) -> None:
    put_and_end(engine, "a", FAILED, policy=policy(mode, 2))
    run_again(engine, FAILED, LATER)
    run_again(engine, FAILED, 2 * LATER)
    assert last(engine, "a").state.name is StateName.FAILED
    assert len(runs(engine, "a")) == 3
    let_time_pass(engine, 3 * LATER)
    assert claim_some(engine, now=3 * LATER) == []


@both_modes
def test_without_retries_the_first_failure_ends_it(engine: Engine, mode: RetryMode) -> None:
    assert put_and_end(engine, "a", FAILED, policy=policy(mode, 0)).state is StateName.FAILED
    assert last(engine, "a").id == "a"


@both_modes
def test_a_permanent_failure_is_never_retried(engine: Engine, mode: RetryMode) -> None:
    assert put_and_end(engine, "a", FAILED_FOR_GOOD, policy=policy(mode, 9)).state is StateName.FAILED
    assert last(engine, "a").id == "a"


@both_modes
def test_a_retry_that_succeeds_ends_the_chain_as_done(engine: Engine, mode: RetryMode) -> None:
    put_and_end(engine, "a", FAILED, policy=policy(mode))
    let_time_pass(engine, LATER)
    end(engine, claim_one(engine, now=LATER), DONE, LATER)
    assert last(engine, "a").state.name is StateName.DONE


@both_modes
def test_infra_failures_have_a_budget_of_their_own(engine: Engine, mode: RetryMode) -> None:
    put_and_end(engine, "a", INFRA, policy=policy(mode, 0, infra=2))
    run_again(engine, INFRA, LATER)
    assert last(engine, "a").state.name is StateName.SCHEDULED
    run_again(engine, INFRA, 2 * LATER)
    assert last(engine, "a").state.name is StateName.FAILED
    assert (last(engine, "a").tries.infra, last(engine, "a").tries.transient) == (3, 0)


@both_modes
def test_an_infra_failure_takes_nothing_from_the_other_budget(engine: Engine, mode: RetryMode) -> None:
    put_and_end(engine, "a", INFRA, policy=policy(mode, 1))
    run_again(engine, FAILED, LATER)
    assert last(engine, "a").state.name is StateName.SCHEDULED
    assert (last(engine, "a").tries.infra, last(engine, "a").tries.transient) == (1, 1)


@both_modes
def test_what_nobody_is_to_blame_for_uses_up_nothing(engine: Engine, mode: RetryMode) -> None:
    put_and_end(engine, "a", Broke(FAILURE, charge=False), policy=policy(mode, 0))
    assert state(engine, "a") is StateName.QUEUED
    end(engine, claim_one(engine), Yielded("room"))
    end(engine, claim_one(engine), Snoozed(5))
    stored = row(engine, "a")
    assert (stored.transient_tries, stored.infra_tries, stored.deaths, stored.attempts) == (0, 0, 0, 3)


def test_a_snooze_is_the_same_job_also_in_chain_mode(engine: Engine) -> None:
    put_and_end(engine, "a", Snoozed(50), policy=policy(RetryMode.CHAIN))
    assert job(engine, "a").state == Scheduled(NOW + 50, "snoozed")


def test_the_backoff_grows_with_every_try(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, policy=RetryPolicy(retries=5, initial_ms=1000, factor=10.0, cap_ms=10_000_000))
    assert run_again(engine) is StateName.SCHEDULED
    until = row(engine, "a").scheduled_at
    assert until == LATER + round(10_000 * (1 + 0.1 * jitter_of("a", 2)))


def test_links_of_a_chain_share_tries_attempts_and_place(engine: Engine) -> None:
    put_one(engine, "first")
    put_one(engine, "a", policy=policy(RetryMode.CHAIN, 5), priority=7)
    end(engine, claim_one(engine), FAILED)
    link = last(engine, "a")
    assert (link.tries.transient, link.attempts, link.priority) == (1, 1, 7)
    assert link.position == row(engine, "a").position
    run_again(engine)
    assert [run.attempt for run in runs(engine, "a")] == [1, 2]
    assert len({run.job_id for run in runs(engine, "a")}) == 2


def test_a_chain_keeps_its_first_request_reachable(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, policy=policy(RetryMode.CHAIN, 3), idempotency_key="once")
    run_again(engine)
    links = select(engine, "SELECT id, retry_of, idempotency_key FROM jobs ORDER BY number")
    assert [link["retry_of"] for link in links] == [None, "a", links[1]["id"]]
    assert last(engine, "a").id == links[2]["id"]
    assert put_one(engine, "b", idempotency_key="once").id == "a"


@both_modes
def test_a_cancelled_run_that_fails_is_not_retried(engine: Engine, mode: RetryMode) -> None:
    put_one(engine, "a", policy=policy(mode, 5))
    run = claim_one(engine)
    write(engine, cancel_job, "a", NOW)
    assert end(engine, run, FAILED).state is StateName.CANCELLED
    assert last(engine, "a").id == "a"


@both_modes
def test_an_outdated_run_that_fails_is_superseded(engine: Engine, mode: RetryMode) -> None:
    put_one(engine, "a", policy=policy(mode, 5), subject="s")
    run = claim_one(engine)
    put_one(engine, "b", subject="s")
    assert end(engine, run, FAILED).state is StateName.SUPERSEDED
    assert claim_one(engine).job_id == "b"


@both_modes
def test_a_run_that_fails_past_its_deadline_is_skipped(engine: Engine, mode: RetryMode) -> None:
    put_one(engine, "a", policy=policy(mode, 5), deadline=NOW + 10)
    run = claim_one(engine)
    assert end(engine, run, FAILED, NOW + 10).state is StateName.SKIPPED_DEADLINE


@both_modes
def test_a_newer_generation_supersedes_a_retry_that_waits(engine: Engine, mode: RetryMode) -> None:
    put_and_end(engine, "a", FAILED, policy=policy(mode, 5), subject="s")
    put_one(engine, "b", subject="s")
    assert last(engine, "a").state.name is StateName.SUPERSEDED


@both_modes
def test_the_error_of_the_last_try_is_the_one_that_is_told(engine: Engine, mode: RetryMode) -> None:
    put_and_end(engine, "a", FAILED, policy=policy(mode, 1))
    run_again(engine, Broke(Failure(FailureKind.TRANSIENT, "ERR_OTHER", "something else")))
    stored = row(engine, last(engine, "a").id)
    assert (stored.error_code, stored.reason) == ("ERR_OTHER", "something else")


def test_jitter_is_the_same_wherever_it_is_computed_and_within_bounds() -> None:
    spread = [jitter_of(f"job{n}", n) for n in range(200)]
    assert spread == [jitter_of(f"job{n}", n) for n in range(200)]
    assert min(spread) < -0.9 < 0.9 < max(spread)
    assert all(-1 <= jitter <= 1 for jitter in spread)


def test_the_last_link_of_an_unknown_job_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFound, match="nobody"):
        engine.query(find_last, "nobody")
