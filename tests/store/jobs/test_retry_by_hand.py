"""Retry by hand: always allowed, always a new job from what the last run ran with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.core.errors import NotFound
from holdfast.core.job import Queued, StateName
from holdfast.core.jobs.settle import Yielded
from holdfast.core.rules.tokens import Tokens
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.reorder import edit_payload
from holdfast.store.scripts.jobs.retry import retries_of, retry_job
from tests.store.acts import (
    DONE,
    FAILED,
    NOW,
    claim_one,
    end,
    job,
    last,
    put_and_end,
    put_one,
    row,
    state,
    write,
)
from tests.store.schedule_acts import put as put_schedule


def again(engine: Engine, job_id: str = "a", priority: int | None = None) -> str:
    """Retry; the id of the new job."""
    answer = write(engine, retry_job, job_id, NOW + 7, priority)
    assert answer.id is not None
    return answer.id


@pytest.mark.parametrize("outcome", [DONE, FAILED])
def test_a_new_job_is_made_and_the_old_one_stays(engine: Engine, outcome: Yielded) -> None:
    put_and_end(engine, "a", outcome)
    before = job(engine, "a")
    new = job(engine, again(engine))
    assert job(engine, "a") == before
    assert (new.id != "a", new.state.name, new.created_at, new.attempts) == (True, StateName.QUEUED, NOW + 7, 0)


def test_the_new_job_is_asked_for_as_the_old_one_was(engine: Engine) -> None:
    policy = RetryPolicy(retries=3, initial_ms=7, mode=RetryMode.CHAIN)
    options: dict[str, Any] = {
        "queue": "q",
        "priority": 4,
        "tenant": "me",
        "ttl_ms": 9000,
        "timeout_ms": 50,
        "tag": "blue",
    }
    put_one(engine, "a", payload='{"x":1}', policy=policy, trace_id="trace", **options)
    write(engine, cancel_job, "a", NOW)
    new = job(engine, again(engine))
    assert (new.task, new.payload, new.policy, new.trace_id) == ("t", '{"x":1}', policy, "trace")
    assert options == {name: getattr(new, name) for name in options}


def test_it_keeps_what_the_job_was_asked_for_but_not_when(engine: Engine) -> None:
    kept: dict[str, Any] = {
        "stop_older": True,
        "wait_for_idle": True,
        "require_charging": True,
        "template_id": "t-clean",
        "schedule_id": "s-nightly",
        "parent_job_id": "parent",
        "tokens": Tokens(1, 0, 2),
    }
    gone: dict[str, Any] = {
        "fire_time": NOW,
        "deadline": NOW + 5,
        "idempotency_key": "k",
        "wait_for_event": "door.opened",
    }
    put_schedule(engine)
    put_one(engine, "parent")
    put_one(engine, "a", subject="s", due=NOW + 3, event_attributes={"door": "1"}, **kept, **gone)
    write(engine, cancel_job, "a", NOW)
    new = job(engine, again(engine))
    assert kept == {name: getattr(new, name) for name in kept}
    assert [name for name in gone if getattr(new, name) is not None] == []
    assert isinstance(new.state, Queued)


def test_a_retry_of_a_retry_keeps_it_too(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, subject="s", stop_older=True)
    first = again(engine)
    write(engine, cancel_job, first, NOW)
    assert job(engine, again(engine, first)).stop_older


def test_the_next_link_of_a_chain_keeps_that_it_stops_older_ones(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, subject="s", stop_older=True, policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN))
    assert last(engine, "a").stop_older


def test_it_is_a_job_of_its_own_and_no_link_of_the_old(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED)
    new = row(engine, again(engine))
    assert new.retry_of is None
    assert json.loads(new.trigger or "") == {"kind": "retry", "job_id": "a"}


def test_both_jobs_name_each_other(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED)
    made = [again(engine), again(engine)]
    assert [job(engine, new).retried_from for new in made] == ["a", "a"]
    assert [one.id for one in engine.query(retries_of, "a")] == made
    assert engine.query(retries_of, made[0]) == []


def test_the_payload_is_that_of_the_last_run(engine: Engine) -> None:
    put_one(engine, "a", payload='{"x":1}')
    end(engine, claim_one(engine), Yielded("room"))
    write(engine, edit_payload, "a", '{"x":2}')
    end(engine, claim_one(engine), Yielded("room"))
    write(engine, edit_payload, "a", '{"x":3}')
    assert job(engine, again(engine)).payload == '{"x":2}'


def test_a_job_that_never_ran_is_retried_with_its_own_payload(engine: Engine) -> None:
    put_one(engine, "a", payload='{"x":1}')
    write(engine, cancel_job, "a", NOW)
    assert job(engine, again(engine)).payload == '{"x":1}'


def test_a_retry_can_have_another_priority(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, priority=3)
    assert job(engine, again(engine, priority=0)).priority == 0


def test_the_subject_gets_its_next_generation(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, subject="s", generation=5)
    new = job(engine, again(engine))
    assert (new.subject, new.generation) == ("s", 6)


def test_of_a_subject_the_one_that_waits_gives_way(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, subject="s")
    put_one(engine, "b", subject="s")
    again(engine)
    assert state(engine, "b") is StateName.SUPERSEDED


def test_of_a_chain_the_last_link_is_retried(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN))
    link = last(engine, "a").id
    write(engine, edit_payload, link, '{"x":2}')
    new = row(engine, again(engine))
    assert (new.payload, json.loads(new.trigger or "")["job_id"]) == ('{"x":2}', link)


def test_a_job_that_runs_or_waits_can_be_retried_too(engine: Engine) -> None:
    put_one(engine, "a")
    claim_one(engine)
    assert state(engine, again(engine)) is StateName.QUEUED


def test_an_unknown_job_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFound, match="nobody"):
        write(engine, retry_job, "nobody", NOW)
