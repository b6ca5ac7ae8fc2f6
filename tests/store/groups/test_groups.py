"""Groups: members at once or one after the other, and what a failed one means for those behind it."""

from __future__ import annotations

import pytest

from holdfast.core.errors import NotFound
from holdfast.core.job import JobId, StateName
from holdfast.core.jobs.settle import Outcome, Yielded
from holdfast.core.values.group import Dependency, GroupMode, GroupStatus, OnFailure
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.groups.groups import view_group
from holdfast.store.scripts.jobs.cancel import cancel_job
from tests.store.acts import (
    DONE,
    FAILED,
    NOW,
    claim_one,
    claim_some,
    claimed_ids,
    end,
    group,
    job,
    last,
    let_time_pass,
    lose,
    new_job,
    open_session,
    put,
    put_one,
    reason,
    state,
    states,
    write,
)

LATER = NOW + 10_000_000
D, F, C = StateName.DONE, StateName.FAILED, StateName.CANCELLED


def members(engine: Engine, names: str, mode: GroupMode, on_failure: OnFailure = OnFailure.STOP) -> None:
    group(engine, "g", mode, on_failure)
    join(engine, names)


def join(engine: Engine, names: str) -> None:
    put(engine, *(new_job(name, group_id="g") for name in names))


def sequence(engine: Engine, names: str, on_failure: OnFailure = OnFailure.STOP) -> None:
    members(engine, names, GroupMode.SEQUENTIAL, on_failure)


def run_next(engine: Engine, outcome: Outcome = DONE) -> JobId:
    """Exactly one member is ready; it runs and ends."""
    [run] = claim_some(engine)
    end(engine, run, outcome)
    return run.job_id


def status(engine: Engine) -> GroupStatus:
    return engine.query(view_group, "g").status


def test_members_of_a_parallel_group_start_at_once(engine: Engine) -> None:
    members(engine, "abc", GroupMode.PARALLEL)
    assert claimed_ids(engine) == ["a", "b", "c"]


def test_a_failed_member_of_a_parallel_group_means_nothing_to_the_others(engine: Engine) -> None:
    members(engine, "ab", GroupMode.PARALLEL)
    end(engine, claim_one(engine), FAILED)
    assert claimed_ids(engine) == ["b"]


def test_members_of_a_sequential_group_run_one_after_the_other(engine: Engine) -> None:
    sequence(engine, "abc")
    assert [run_next(engine) for _ in range(3)] == ["a", "b", "c"]
    assert [job(engine, name).group_seq for name in "abc"] == [1, 2, 3]


@pytest.mark.parametrize("outcome", [Yielded("room"), FAILED])
def test_a_member_that_will_run_again_keeps_its_turn(engine: Engine, outcome: Outcome) -> None:
    group(engine, "g", GroupMode.SEQUENTIAL)
    put(engine, new_job("a", group_id="g", policy=RetryPolicy(retries=1)), new_job("b", group_id="g"))
    end(engine, claim_one(engine), outcome)
    let_time_pass(engine, LATER)
    assert claimed_ids(engine, now=LATER) == ["a"]


@pytest.mark.parametrize(
    ("on_failure", "after", "judged"),
    [
        (OnFailure.STOP, [D, F, C, C], GroupStatus.PARTIAL),
        (OnFailure.CONTINUE, [D, F, D, D], GroupStatus.PARTIAL),
        (OnFailure.SKIP, [D, F, C, D], GroupStatus.PARTIAL),
    ],
)
@pytest.mark.parametrize("known", ["beforehand", "one by one"])
def test_what_a_failure_means_for_those_behind(
    engine: Engine, on_failure: OnFailure, after: list[StateName], judged: GroupStatus, known: str
) -> None:
    sequence(engine, "abcd" if known == "beforehand" else "", on_failure)
    for name in "abcd":
        if known == "one by one":
            join(engine, name)
        if state(engine, name) is StateName.QUEUED:
            run_next(engine, FAILED if name == "b" else DONE)
    assert states(engine, *"abcd") == after
    assert status(engine) is judged


def test_the_reason_names_the_predecessor(engine: Engine) -> None:
    sequence(engine, "ab")
    run_next(engine, FAILED)
    assert reason(engine, "b") == "predecessor a ended as FAILED"


@pytest.mark.parametrize(
    ("on_failure", "then", "behind"),
    [
        (OnFailure.STOP, [C, C], []),
        (OnFailure.CONTINUE, [StateName.SCHEDULED, StateName.SCHEDULED], ["c", "d"]),
        (OnFailure.SKIP, [C, StateName.SCHEDULED], ["d"]),
    ],
)
@pytest.mark.parametrize("joins", ["before", "afterwards"])
def test_a_member_that_is_cancelled_before_its_turn_lets_nobody_pass_the_one_that_runs(
    engine: Engine, on_failure: OnFailure, then: list[StateName], behind: list[JobId], joins: str
) -> None:
    sequence(engine, "abcd" if joins == "before" else "ab", on_failure)
    running = claim_one(engine)
    write(engine, cancel_job, "b", NOW)
    if joins == "afterwards":
        join(engine, "cd")
    assert states(engine, "c", "d") == then
    assert claim_some(engine) == []
    end(engine, running)
    assert [run_next(engine) for _ in behind] == behind


def test_for_whoever_depends_on_it_a_member_that_was_left_out_is_no_success(engine: Engine) -> None:
    sequence(engine, "abc", OnFailure.SKIP)
    put_one(engine, "outside", after=(Dependency("b"),))
    run_next(engine, FAILED)
    assert states(engine, "b", "outside", "c") == [C, C, StateName.QUEUED]


def test_a_member_that_expires_before_its_turn_lets_nobody_pass(engine: Engine) -> None:
    group(engine, "g", GroupMode.SEQUENTIAL, OnFailure.CONTINUE)
    put(engine, new_job("a", group_id="g"), new_job("b", group_id="g", deadline=NOW + 5), new_job("c", group_id="g"))
    claim_one(engine)
    let_time_pass(engine, NOW + 5)
    assert states(engine, "b", "c") == [StateName.SKIPPED_DEADLINE, StateName.SCHEDULED]


def test_a_member_that_died_is_run_again_before_the_next(engine: Engine) -> None:
    sequence(engine, "ab")
    claim_one(engine)
    lose(engine)
    open_session(engine, "s2")
    let_time_pass(engine, LATER)
    assert claimed_ids(engine, session="s2", now=LATER) == ["a"]


@pytest.mark.parametrize("outcome", [DONE, FAILED])
def test_in_a_retry_chain_the_last_link_counts(engine: Engine, outcome: Outcome) -> None:
    group(engine, "g", GroupMode.SEQUENTIAL)
    chain = RetryPolicy(retries=1, mode=RetryMode.CHAIN)
    put(engine, new_job("a", group_id="g", policy=chain), new_job("b", group_id="g"))
    end(engine, claim_one(engine), FAILED)
    put_one(engine, "c", group_id="g")
    assert states(engine, "b", "c") == [StateName.SCHEDULED, StateName.SCHEDULED]
    assert status(engine) is GroupStatus.OPEN
    let_time_pass(engine, LATER)
    end(engine, claim_one(engine, now=LATER), outcome, LATER)
    assert states(engine, "b", "c") == ([StateName.QUEUED, StateName.SCHEDULED] if outcome is DONE else [C, C])
    assert set(engine.query(view_group, "g").members) == {"b", "c", last(engine, "a").id}


def test_a_group_is_open_until_its_last_member_has_ended(engine: Engine) -> None:
    sequence(engine, "ab")
    run_next(engine)
    assert status(engine) is GroupStatus.OPEN
    run_next(engine)
    assert status(engine) is GroupStatus.COMPLETED


def test_a_group_whose_members_were_all_cancelled_is_cancelled(engine: Engine) -> None:
    sequence(engine, "ab")
    write(engine, cancel_job, "a", NOW)
    assert status(engine) is GroupStatus.CANCELLED


def test_a_late_member_of_a_group_that_went_well_starts_at_once(engine: Engine) -> None:
    sequence(engine, "a")
    run_next(engine)
    join(engine, "b")
    assert run_next(engine) == "b"


@pytest.mark.parametrize("mode", list(GroupMode))
def test_a_view_shows_the_group_and_its_members(engine: Engine, mode: GroupMode) -> None:
    members(engine, "ab", mode, OnFailure.SKIP)
    view = engine.query(view_group, "g")
    assert (view.group.id, view.group.mode, view.group.on_failure, view.group.created_at) == ("g", mode, "skip", NOW)
    assert list(view.members) == ["a", "b"]


def test_a_group_that_does_not_exist_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        put_one(engine, "a", group_id="nowhere")
    with pytest.raises(NotFound, match="nowhere"):
        engine.query(view_group, "nowhere")
