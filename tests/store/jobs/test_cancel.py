"""Cancel: waiting jobs at once and without a run, running ones by a request that their worker sees."""

from __future__ import annotations

import pytest

from holdfast.core.errors import NotFound
from holdfast.core.job import Cancelled as CancelledState
from holdfast.core.job import Running, StateName
from holdfast.core.jobs.settle import Snoozed, StoppedByCancel, Yielded
from holdfast.core.messages.jobs import Cancelling
from holdfast.core.messages.runs import StopRequest
from holdfast.core.values.group import GroupMode
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_group, cancel_job, cancel_tag
from holdfast.store.statements import sql
from tests.store.acts import (
    DONE,
    FAILED,
    NOW,
    SESSION,
    claim_one,
    claim_some,
    end,
    group,
    job,
    last,
    new_job,
    put,
    put_and_end,
    put_one,
    reason,
    runs,
    state,
    states,
    write,
)


def stops(engine: Engine) -> list[StopRequest]:
    return engine.query(lambda tx: tx.all(sql.stop_requests, StopRequest, session_id=SESSION))


@pytest.mark.parametrize("options", [{}, {"delay_ms": 50}])
def test_a_waiting_job_is_cancelled_at_once_and_without_a_run(engine: Engine, options: dict[str, int]) -> None:
    put(engine, new_job("a", **options))
    assert write(engine, cancel_job, "a", NOW + 3, "not needed") == Cancelling(cancelled=1)
    assert job(engine, "a").state == CancelledState(NOW + 3, "not needed")
    assert runs(engine, "a") == []


def test_a_running_job_is_asked_to_stop(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    assert write(engine, cancel_job, "a", NOW + 3) == Cancelling(requested=1)
    assert job(engine, "a").state == Running(NOW, run.run_id, SESSION, "w1", cancel_requested_at=NOW + 3)
    assert stops(engine) == [StopRequest(run.run_id, "cancel")]


def test_asking_again_keeps_the_first_request(engine: Engine) -> None:
    put_one(engine, "a")
    claim_one(engine)
    write(engine, cancel_job, "a", NOW + 3)
    assert write(engine, cancel_job, "a", NOW + 9) == Cancelling(requested=1)
    running = job(engine, "a").state
    assert isinstance(running, Running)
    assert running.cancel_requested_at == NOW + 3


def test_a_cancel_outweighs_the_request_of_a_newer_generation(engine: Engine) -> None:
    put_one(engine, "a", subject="s")
    run = claim_one(engine)
    put_one(engine, "b", subject="s", stop_older=True)
    write(engine, cancel_job, "a", NOW)
    assert stops(engine) == [StopRequest(run.run_id, "cancel")]


@pytest.mark.parametrize("outcome", [StoppedByCancel(), FAILED, Yielded("room"), Snoozed(9)])
def test_a_job_that_was_asked_to_stop_ends_cancelled(engine: Engine, outcome: StoppedByCancel | Snoozed) -> None:
    put_one(engine, "a", policy=RetryPolicy(retries=5))
    run = claim_one(engine)
    write(engine, cancel_job, "a", NOW)
    assert end(engine, run, outcome).state is StateName.CANCELLED
    assert stops(engine) == []


def test_a_job_that_completed_all_the_same_is_done(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    write(engine, cancel_job, "a", NOW)
    assert end(engine, run, DONE).state is StateName.DONE


def test_a_job_that_has_ended_stays_as_it_is(engine: Engine) -> None:
    put_and_end(engine, "a")
    before = job(engine, "a")
    assert write(engine, cancel_job, "a", NOW) == Cancelling(ended=1)
    assert job(engine, "a") == before


def test_in_a_chain_the_last_link_is_cancelled(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, policy=RetryPolicy(retries=5, mode=RetryMode.CHAIN))
    assert write(engine, cancel_job, "a", NOW) == Cancelling(cancelled=1)
    assert last(engine, "a").state.name is StateName.CANCELLED
    assert state(engine, "a") is StateName.FAILED


def test_an_unknown_job_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFound, match="nobody"):
        write(engine, cancel_job, "nobody", NOW)


def test_a_tag_cancels_all_that_carry_it(engine: Engine) -> None:
    put(engine, new_job("run", tag="blue"), new_job("wait", tag="blue"), new_job("other", tag="red"), new_job("none"))
    claim_one(engine)
    assert write(engine, cancel_tag, "blue", NOW, 100) == Cancelling(cancelled=1, requested=1)
    assert states(engine, "run", "wait", "other", "none") == [
        StateName.RUNNING,
        StateName.CANCELLED,
        StateName.QUEUED,
        StateName.QUEUED,
    ]
    assert reason(engine, "wait") == "cancelled by tag blue"


def test_a_tag_is_cancelled_in_steps_that_come_to_an_end(engine: Engine) -> None:
    put(engine, *(new_job(f"j{n}", tag="blue") for n in range(5)))
    claim_some(engine, 3)
    steps = [write(engine, cancel_tag, "blue", NOW, 2) for _ in range(4)]
    assert steps == [
        Cancelling(requested=2),
        Cancelling(requested=1, cancelled=1),
        Cancelling(cancelled=1),
        Cancelling(),
    ]


@pytest.mark.parametrize("mode", list(GroupMode))
def test_a_group_is_cancelled_as_a_whole(engine: Engine, mode: GroupMode) -> None:
    group(engine, "g", mode)
    put(engine, *(new_job(name, group_id="g") for name in "abc"))
    claim_one(engine)
    assert write(engine, cancel_group, "g", NOW, 100) == Cancelling(cancelled=2, requested=1)
    assert states(engine, "a", "b", "c") == [StateName.RUNNING, StateName.CANCELLED, StateName.CANCELLED]
    assert reason(engine, "c") == "group cancelled"


def test_a_group_is_cancelled_in_steps_that_come_to_an_end(engine: Engine) -> None:
    group(engine, "g", GroupMode.PARALLEL)
    put(engine, *(new_job(f"j{n}", group_id="g") for n in range(3)))
    claim_some(engine)
    steps = [write(engine, cancel_group, "g", NOW, 2) for _ in range(3)]
    assert steps == [Cancelling(requested=2), Cancelling(requested=1), Cancelling()]


def test_an_unknown_group_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        write(engine, cancel_group, "nowhere", NOW, 100)
