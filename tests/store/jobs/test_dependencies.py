"""Dependencies: a job waits for others to be done, or to end whatever the outcome."""

from __future__ import annotations

import pytest

from holdfast.core.errors import NotFound
from holdfast.core.job import TERMINAL, StateName
from holdfast.core.jobs.settle import Outcome, Outdated, Overdue, Skipped, Snoozed, StoppedByCancel, Yielded
from holdfast.core.values.group import Dependency, Needs
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.runs.finish import finish
from tests.store.acts import (
    DONE,
    FAILED,
    FAILED_FOR_GOOD,
    NOW,
    claim_one,
    claim_some,
    claimed_ids,
    end,
    last,
    let_time_pass,
    lose,
    new_job,
    put,
    put_one,
    reason,
    report,
    runs,
    select,
    state,
    states,
    write,
)

LATER = NOW + 10_000_000


def after(*parents: str, needs: Needs = Needs.DONE) -> tuple[Dependency, ...]:
    return tuple(Dependency(parent, needs) for parent in parents)


def test_a_job_waits_until_its_parent_is_done(engine: Engine) -> None:
    put(engine, new_job("parent"), new_job("child", after=after("parent")))
    assert state(engine, "child") is StateName.SCHEDULED
    run = claim_one(engine)
    assert claim_some(engine) == []
    end(engine, run, DONE)
    assert claimed_ids(engine) == ["child"]


def test_all_parents_must_be_done(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"), new_job("child", after=after("a", "b")))
    a, b = claim_some(engine)
    end(engine, b)
    assert state(engine, "child") is StateName.SCHEDULED
    end(engine, a)
    assert state(engine, "child") is StateName.QUEUED


def test_parents_that_end_together_free_the_child_once(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"), new_job("child", after=after("a", "b")))
    write(engine, finish, [report(run) for run in claim_some(engine)], NOW)
    assert claimed_ids(engine) == ["child"]


ENDINGS: dict[StateName, Outcome] = {
    StateName.DONE: Skipped("nothing to do"),
    StateName.FAILED: FAILED_FOR_GOOD,
    StateName.CANCELLED: StoppedByCancel(),
    StateName.SUPERSEDED: Outdated(),
    StateName.SKIPPED_DEADLINE: Overdue(),
}


def end_parent(engine: Engine, ending: StateName) -> None:
    """Bring `parent`, which is ready and has 5 ms to live, to an end."""
    if ending is StateName.SKIPPED_TTL:
        let_time_pass(engine, NOW + 5)
    else:
        end(engine, claim_one(engine), ENDINGS[ending])
    assert state(engine, "parent") is ending


@pytest.mark.parametrize("ending", sorted(TERMINAL))
@pytest.mark.parametrize("needs", list(Needs))
def test_done_is_success_and_every_other_end_is_failure(engine: Engine, ending: StateName, needs: Needs) -> None:
    put(engine, new_job("parent", ttl_ms=5), new_job("child", after=after("parent", needs=needs)))
    end_parent(engine, ending)
    starts = ending is StateName.DONE or needs is Needs.ENDED
    assert state(engine, "child") is (StateName.QUEUED if starts else StateName.CANCELLED)
    assert reason(engine, "child") == (None if starts else f"predecessor parent ended as {ending}")
    assert runs(engine, "child") == []


@pytest.mark.parametrize("ending", sorted(TERMINAL))
@pytest.mark.parametrize("needs", list(Needs))
def test_a_parent_that_has_ended_before_counts_the_same(engine: Engine, ending: StateName, needs: Needs) -> None:
    put_one(engine, "parent", ttl_ms=5)
    end_parent(engine, ending)
    answer = put_one(engine, "child", after=after("parent", needs=needs))
    starts = ending is StateName.DONE or needs is Needs.ENDED
    assert answer.state is (StateName.QUEUED if starts else StateName.CANCELLED)
    assert reason(engine, "child") == (None if starts else f"predecessor parent ended as {ending}")


def test_failure_passes_on_to_those_behind(engine: Engine) -> None:
    put(
        engine,
        new_job("a"),
        new_job("b", after=after("a")),
        new_job("c", after=after("b")),
        new_job("cleanup", after=after("c", needs=Needs.ENDED)),
    )
    end(engine, claim_one(engine), FAILED)
    assert states(engine, "a", "b", "c") == [StateName.FAILED, StateName.CANCELLED, StateName.CANCELLED]
    assert claimed_ids(engine) == ["cleanup"]


def test_what_is_cancelled_for_one_parent_does_not_start_for_another_that_ends_with_it(engine: Engine) -> None:
    put(
        engine,
        new_job("a"),
        new_job("b", after=after("a")),
        new_job("c", after=(*after("a"), *after("b", needs=Needs.ENDED))),
    )
    end(engine, claim_one(engine), FAILED_FOR_GOOD)
    assert states(engine, "a", "b", "c") == [StateName.FAILED, StateName.CANCELLED, StateName.CANCELLED]
    assert claimed_ids(engine) == []


@pytest.mark.parametrize("outcome", [Yielded("room"), Snoozed(9), FAILED])
def test_a_parent_that_will_run_again_holds_its_child(engine: Engine, outcome: Outcome) -> None:
    put(engine, new_job("parent", policy=RetryPolicy(retries=1)), new_job("child", after=after("parent")))
    end(engine, claim_one(engine), outcome)
    assert state(engine, "child") is StateName.SCHEDULED


def test_in_a_chain_the_last_link_counts(engine: Engine) -> None:
    put(
        engine,
        new_job("parent", policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN)),
        new_job("early", after=after("parent")),
    )
    end(engine, claim_one(engine), FAILED)
    put_one(engine, "late", after=after("parent"))
    assert states(engine, "early", "late") == [StateName.SCHEDULED, StateName.SCHEDULED]
    let_time_pass(engine, LATER)
    end(engine, claim_one(engine, now=LATER), DONE, LATER)
    assert last(engine, "parent").id != "parent"
    assert states(engine, "early", "late") == [StateName.QUEUED, StateName.QUEUED]


def test_a_chain_that_fails_in_the_end_cancels_its_dependents(engine: Engine) -> None:
    put(
        engine,
        new_job("parent", policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN)),
        new_job("child", after=after("parent")),
    )
    end(engine, claim_one(engine), FAILED)
    let_time_pass(engine, LATER)
    end(engine, claim_one(engine, now=LATER), FAILED, LATER)
    assert state(engine, "child") is StateName.CANCELLED


def test_a_cancelled_or_superseded_parent_tells_its_dependents(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b", subject="s"), new_job("x", after=after("a")), new_job("y", after=after("b")))
    write(engine, cancel_job, "a", NOW)
    put_one(engine, "newer", subject="s")
    assert states(engine, "x", "y") == [StateName.CANCELLED, StateName.CANCELLED]


def test_a_parent_that_recovery_ends_tells_its_dependents(engine: Engine) -> None:
    put(engine, new_job("parent", policy=RetryPolicy(infra=0)), new_job("child", after=after("parent")))
    claim_one(engine)
    lose(engine)
    assert state(engine, "child") is StateName.CANCELLED


def test_a_parent_that_does_not_exist_is_refused(engine: Engine) -> None:
    with pytest.raises(NotFound, match="nobody"):
        put_one(engine, "child", after=after("nobody"))


def test_a_job_cannot_wait_for_itself(engine: Engine) -> None:
    with pytest.raises(NotFound, match="child"):
        put_one(engine, "child", after=after("child"))


@pytest.mark.parametrize("stricter_first", [True, False])
def test_of_two_wishes_about_one_parent_both_must_hold(engine: Engine, stricter_first: bool) -> None:
    wishes = (Dependency("parent", Needs.DONE), Dependency("parent", Needs.ENDED))
    put(engine, new_job("parent"), new_job("child", after=wishes if stricter_first else wishes[::-1]))
    end(engine, claim_one(engine), FAILED)
    assert state(engine, "child") is StateName.CANCELLED


def test_a_stale_request_ends_at_once_whatever_it_waits_for(engine: Engine) -> None:
    put(engine, new_job("parent"), new_job("new", subject="s", generation=5))
    answer = put_one(engine, "old", subject="s", generation=4, after=after("parent"))
    assert answer.state is StateName.SUPERSEDED


def test_the_rows_say_what_came_true_and_when(engine: Engine) -> None:
    put(engine, new_job("parent"), new_job("child", after=after("parent")))
    end(engine, claim_one(engine), DONE, NOW + 9)
    assert select(engine, "SELECT job_id, key, value, satisfied_at FROM job_conditions") == [
        {"job_id": "child", "key": "after:parent", "value": "done", "satisfied_at": NOW + 9}
    ]


def test_a_hundred_dependents_are_freed_at_once(engine: Engine) -> None:
    put(engine, new_job("parent"), *(new_job(f"c{n:02d}", after=after("parent")) for n in range(100)))
    end(engine, claim_one(engine))
    assert claimed_ids(engine, 200) == [f"c{n:02d}" for n in range(100)]
