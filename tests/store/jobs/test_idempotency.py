"""Idempotency keys: the same request again is the job that exists."""

from __future__ import annotations

from holdfast.core.job import StateName
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.maintenance.retention import forget_old
from tests.store.acts import (
    FAILED,
    NOW,
    claim_one,
    end,
    last,
    let_time_pass,
    new_job,
    put,
    put_and_end,
    put_one,
    row,
    select,
    write,
)


def jobs(engine: Engine) -> int:
    return len(select(engine, "SELECT id FROM jobs"))


def test_the_same_key_is_the_job_that_exists(engine: Engine) -> None:
    put_one(engine, "a", idempotency_key="k", payload='{"x":1}')
    again = put_one(engine, "b", idempotency_key="k", payload='{"x":2}')
    assert (again.id, again.state, again.existing) == ("a", StateName.QUEUED, True)
    assert jobs(engine) == 1
    assert row(engine, "a").payload == '{"x":1}'


def test_the_answer_tells_how_the_job_stands(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, idempotency_key="k")
    assert put_one(engine, "b", idempotency_key="k").state is StateName.FAILED


def test_in_a_chain_the_first_job_is_named_and_the_last_one_speaks(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, idempotency_key="k", policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN))
    again = put_one(engine, "b", idempotency_key="k")
    assert (again.id, again.state) == ("a", StateName.SCHEDULED)
    let_time_pass(engine, 2 * NOW)
    end(engine, claim_one(engine, now=2 * NOW), now=2 * NOW)
    assert put_one(engine, "c", idempotency_key="k").state is StateName.DONE
    assert last(engine, "a").idempotency_key == "k"


def test_a_key_twice_in_one_call_is_one_job(engine: Engine) -> None:
    answers = put(engine, new_job("a", idempotency_key="k"), new_job("b"), new_job("c", idempotency_key="k"))
    assert [(answer.id, answer.existing) for answer in answers] == [("a", False), ("b", False), ("a", True)]
    assert jobs(engine) == 2


def test_a_key_belongs_to_its_task(engine: Engine) -> None:
    put(engine, new_job("a", idempotency_key="k"), new_job("b", task="u", idempotency_key="k"))
    assert jobs(engine) == 2


def test_a_repeated_request_supersedes_nothing(engine: Engine) -> None:
    put_one(engine, "a", subject="s", idempotency_key="k")
    put_one(engine, "b", subject="s", idempotency_key="k")
    assert row(engine, "a").state == StateName.QUEUED
    assert select(engine, "SELECT generation FROM subjects") == [{"generation": 1}]


def test_a_key_is_free_again_after_retention(engine: Engine) -> None:
    put_and_end(engine, "a", idempotency_key="k")
    write(engine, forget_old, NOW + 1)
    assert put_one(engine, "b", idempotency_key="k").existing is False
