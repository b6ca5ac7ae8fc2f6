"""Tokens: what a machine has is shared out with the claim, and never twice."""

from __future__ import annotations

from holdfast.core.rules.tokens import Tokens
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from tests.store.acts import (
    FAILED,
    NOW,
    claim_one,
    claim_some,
    claimed_ids,
    end,
    job,
    let_time_pass,
    lose,
    put,
)
from tests.store.token_acts import (
    in_use,
    new_job,
    put_one,
    worker,
)


def test_as_many_start_as_fit(engine: Engine, here: str) -> None:
    put(engine, *(new_job(f"j{n}", cpu=3 if n == 0 else 1) for n in range(4)))
    assert claimed_ids(engine, session=here) == ["j0", "j1"]
    assert in_use(engine) == Tokens(cpu=4)


def test_each_kind_is_counted_by_itself(engine: Engine, here: str) -> None:
    put(engine, new_job("g1", gpu=1, cpu=1), new_job("g2", gpu=1), new_job("io", io=2), new_job("c", cpu=3))
    assert claimed_ids(engine, session=here) == ["g1", "io", "c"]


def test_jobs_without_tokens_are_not_counted(engine: Engine, here: str) -> None:
    put(engine, new_job("all", cpu=4), *(new_job(f"j{n}") for n in range(5)), new_job("more", cpu=1))
    assert claimed_ids(engine, session=here) == ["all", "j0", "j1", "j2", "j3", "j4"]


def test_what_a_run_used_is_free_when_it_ends(engine: Engine, here: str) -> None:
    put(engine, new_job("a", cpu=4), new_job("b", cpu=4))
    end(engine, claim_one(engine, session=here))
    assert claimed_ids(engine, session=here) == ["b"]


def test_a_failed_try_gives_its_tokens_back_and_takes_them_again(engine: Engine, here: str) -> None:
    put(engine, new_job("a", cpu=4, policy=RetryPolicy(retries=1, initial_ms=0)))
    end(engine, claim_one(engine, session=here), FAILED)
    assert in_use(engine) == Tokens()
    let_time_pass(engine, NOW)
    claim_one(engine, session=here)
    assert in_use(engine) == Tokens(cpu=4)


def test_the_next_link_of_a_chain_needs_the_same(engine: Engine, here: str) -> None:
    put_one(engine, "a", cpu=3, policy=RetryPolicy(retries=1, initial_ms=0, mode=RetryMode.CHAIN))
    end(engine, claim_one(engine, session=here), FAILED)
    let_time_pass(engine, NOW)
    claim_one(engine, session=here)
    assert in_use(engine) == Tokens(cpu=3)


def test_what_a_dead_session_used_is_free_again(engine: Engine, here: str) -> None:
    worker(engine, "other")
    put(engine, new_job("a", cpu=4), new_job("b", cpu=4))
    claim_one(engine, session=here)
    assert claimed_ids(engine, session="other") == []
    lose(engine, here)
    assert in_use(engine) == Tokens()
    assert len(claim_some(engine, session="other")) == 1


def test_workers_on_one_machine_share_its_tokens(engine: Engine, here: str) -> None:
    worker(engine, "beside")
    worker(engine, "elsewhere", "far")
    put(engine, *(new_job(f"j{n}", cpu=3) for n in range(3)))
    assert claimed_ids(engine, session=here) == ["j0"]
    assert claimed_ids(engine, session="beside") == []
    assert claimed_ids(engine, session="elsewhere") == ["j1"]


def test_a_machine_of_which_nothing_is_known_takes_no_job_with_tokens(engine: Engine) -> None:
    put(engine, new_job("a", cpu=1), new_job("b"))
    assert claimed_ids(engine) == ["b"]


def test_wild_queues_share_what_is_there_by_priority_and_age(engine: Engine, here: str) -> None:
    put_one(engine, "old", queue="q1", cpu=2)
    put_one(engine, "high", queue="q2", cpu=3, priority=5, now=NOW + 1)
    put_one(engine, "small", queue="q3", cpu=1, now=NOW + 2)
    assert claimed_ids(engine, session=here, queues=("*",)) == ["high", "small"]


def test_lanes_of_the_machine_and_tokens_go_together(engine: Engine, here: str) -> None:
    put(engine, new_job("idle", cpu=1, wait_for_idle=True), new_job("now", cpu=1))
    assert claimed_ids(engine, session=here) == ["now"]


def test_tenants_take_fair_turns_with_tokens_as_without(engine: Engine, here: str) -> None:
    for n in range(6):
        put(engine, *(new_job(f"{tenant}{n}", tenant=tenant, cpu=1) for tenant in ("x", "y", "z")))
    order = []
    while runs := claim_some(engine, 3, session=here):
        order += [run.job_id for run in runs]
        for run in runs:
            end(engine, run)
    assert order == [f"{tenant}{n}" for n in range(6) for tenant in ("x", "y", "z")]


def test_a_job_shows_what_it_needs(engine: Engine) -> None:
    put_one(engine, "a", cpu=2, io=1)
    assert job(engine, "a").tokens == Tokens(cpu=2, io=1)
