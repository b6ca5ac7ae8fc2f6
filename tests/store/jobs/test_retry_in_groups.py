"""A member of a group that is retried by hand takes its old place, and the group goes on again."""

from __future__ import annotations

import pytest

from holdfast.core.errors import Conflict
from holdfast.core.job import JobId, StateName
from holdfast.core.jobs.requests import JobFilter
from holdfast.core.messages.jobs import BulkAction
from holdfast.core.values.event import shape_of
from holdfast.core.values.group import GroupMode, GroupStatus, OnFailure
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import list_events, register_pattern
from holdfast.store.scripts.groups.groups import view_group
from holdfast.store.scripts.jobs.bulk import bulk
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.dead_letters import list_dead_letters, retry_dead_letters
from holdfast.store.scripts.jobs.group_jobs import retry_group
from holdfast.store.scripts.jobs.predecessors import predecessors
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.maintenance.retention import forget_old
from holdfast.store.scripts.reading.read_jobs import find_last
from tests.store.acts import (
    DONE,
    FAILED,
    NOW,
    claim_one,
    claim_some,
    end,
    group,
    job,
    new_job,
    put,
    row,
    select,
    state,
    write,
)

LATER = NOW + 7


def again(engine: Engine, job_id: JobId, new_id: JobId | None = None) -> JobId:
    answer = write(engine, retry_job, job_id, LATER, None, new_id)
    assert answer.id is not None
    return answer.id


def status(engine: Engine) -> GroupStatus:
    return engine.query(view_group, "g").status


def members(engine: Engine) -> list[JobId]:
    return list(engine.query(view_group, "g").members)


def claimed(engine: Engine) -> list[JobId]:
    return [one.job_id for one in claim_some(engine)]


def three(engine: Engine, on_failure: OnFailure = OnFailure.STOP) -> None:
    """A sequential group of a, b and c, whose first member has failed."""
    group(engine, "g", GroupMode.SEQUENTIAL, on_failure)
    put(engine, *(new_job(name, group_id="g") for name in "abc"))
    end(engine, claim_one(engine), FAILED)


@pytest.mark.parametrize("mode", GroupMode)
@pytest.mark.parametrize("outcome", [DONE, FAILED])
def test_it_is_the_last_link_of_the_member_and_the_group_is_open(
    engine: Engine, mode: GroupMode, outcome: object
) -> None:
    group(engine, "g", mode)
    put(engine, new_job("a", group_id="g"))
    end(engine, claim_one(engine), outcome)  # type: ignore[arg-type]
    new = again(engine, "a")
    assert engine.query(find_last, "a").id == new
    assert (row(engine, new).group_id, row(engine, new).retry_of, row(engine, new).retried_from) == ("g", "a", "a")
    assert (members(engine), status(engine)) == ([new], GroupStatus.OPEN)


def test_a_member_that_goes_on_is_not_retried(engine: Engine) -> None:
    group(engine, "g", GroupMode.PARALLEL)
    put(engine, new_job("a", group_id="g"))
    with pytest.raises(Conflict, match="cancel it first"):
        again(engine, "a")


def test_a_repeat_of_the_call_finds_what_the_first_one_made(engine: Engine) -> None:
    group(engine, "g", GroupMode.PARALLEL)
    put(engine, new_job("a", group_id="g"))
    end(engine, claim_one(engine), FAILED)
    assert again(engine, "a", "mine") == again(engine, "a", "mine") == "mine"
    end(engine, claim_one(engine), FAILED)
    again(engine, "a", "mine")
    assert [letter["job_id"] for letter in select(engine, OPEN_LETTERS)] == ["mine"]


OPEN_LETTERS = "SELECT job_id FROM dead_letters WHERE closed_at IS NULL"


def test_the_subject_of_a_member_gets_its_next_generation(engine: Engine) -> None:
    group(engine, "g", GroupMode.PARALLEL)
    put(engine, new_job("a", group_id="g", subject="s", generation=4))
    end(engine, claim_one(engine), FAILED)
    assert job(engine, again(engine, "a")).generation == 5


def test_a_request_for_the_generation_of_a_retried_member_finds_it(engine: Engine) -> None:
    group(engine, "g", GroupMode.PARALLEL)
    put(engine, new_job("a", group_id="g", subject="s", generation=4))
    end(engine, claim_one(engine), FAILED)
    new = again(engine, "a")
    [answer] = put(engine, new_job("b", subject="s", generation=5))
    assert (answer.id, answer.state, answer.existing) == (new, StateName.QUEUED, True)


def test_its_turn_comes_behind_members_that_go_on(engine: Engine) -> None:
    three(engine, OnFailure.CONTINUE)
    assert claimed(engine) == ["b"]
    new = again(engine, "a")
    assert claimed(engine) == []
    write(engine, cancel_job, "c", LATER)  # Its turn had not come, so b is the one to wait for.
    assert (claimed(engine), state(engine, new)) == ([], StateName.SCHEDULED)


def test_a_new_member_waits_for_a_retried_one(engine: Engine) -> None:
    three(engine, OnFailure.CONTINUE)
    for _ in "bc":
        end(engine, claim_one(engine), DONE)
    new = again(engine, "a")
    put(engine, new_job("d", group_id="g"))
    run = claim_one(engine)
    assert (run.job_id, claimed(engine)) == (new, [])
    end(engine, run, DONE)
    assert claimed(engine) == ["d"]


def test_of_several_in_bulk_one_runs_after_the_other(engine: Engine) -> None:
    three(engine, OnFailure.CONTINUE)
    for _ in "bc":
        end(engine, claim_one(engine), FAILED)
    assert write(engine, bulk, BulkAction.RETRY, JobFilter(group_id="g"), LATER).jobs == 3
    ran = []
    for _ in "abc":
        [run] = claim_some(engine)
        ran.append(row(engine, run.job_id).retry_of)
        end(engine, run, DONE)
    assert (ran, status(engine)) == (["a", "b", "c"], GroupStatus.COMPLETED)


def test_in_bulk_one_that_was_retried_before_keeps_its_turn(engine: Engine) -> None:
    three(engine)
    first = again(engine, "a")
    end(engine, claim_one(engine), FAILED)
    write(engine, bulk, BulkAction.RETRY, JobFilter(group_id="g"), LATER)
    assert run_three(engine) == [first, "b", "c"]


def test_among_dead_letters_one_that_was_retried_before_keeps_its_turn(engine: Engine) -> None:
    three(engine, OnFailure.CONTINUE)
    for _ in "bc":
        end(engine, claim_one(engine), FAILED)
    first = again(engine, "a")
    end(engine, claim_one(engine), FAILED)
    [letters] = engine.query(list_dead_letters).letters
    assert write(engine, retry_dead_letters, letters.fingerprint, LATER).jobs == 3
    assert run_three(engine) == [first, "b", "c"]


def run_three(engine: Engine) -> list[JobId | None]:
    """Let the group end well; what its members are retries of, in the order in which they ran."""
    ran = []
    for _ in "abc":
        [run] = claim_some(engine)
        ran.append(row(engine, run.job_id).retry_of)
        end(engine, run, DONE)
    return ran


def test_one_that_ends_before_its_turn_lets_nobody_pass(engine: Engine) -> None:
    group(engine, "g", GroupMode.SEQUENTIAL, OnFailure.CONTINUE)
    put(engine, *(new_job(name, group_id="g") for name in "abc"))
    for name in "ba":
        write(engine, cancel_job, name, NOW)
    second, first = again(engine, "b"), again(engine, "a")
    assert claimed(engine) == ["c"]
    write(engine, cancel_job, second, LATER)
    assert (claimed(engine), state(engine, first)) == ([], StateName.SCHEDULED)


def test_an_automatic_retry_keeps_its_turn_before_a_retried_one(engine: Engine) -> None:
    group(engine, "g", GroupMode.SEQUENTIAL, OnFailure.CONTINUE)
    chain = RetryPolicy(retries=1, initial_ms=1, mode=RetryMode.CHAIN)
    put(engine, new_job("a", group_id="g"), new_job("b", group_id="g", policy=chain))
    end(engine, claim_one(engine), FAILED)
    run = claim_one(engine)
    new = again(engine, "a")
    end(engine, run, FAILED)
    assert state(engine, new) is StateName.SCHEDULED
    assert claimed(engine) == []


def test_the_rest_comes_behind_the_member_that_was_retried(engine: Engine) -> None:
    three(engine)
    assert status(engine) is GroupStatus.CANCELLED
    new = again(engine, "a")
    rest = [answer.id for answer in write(engine, retry_group, "g", LATER, rest=True)]
    assert members(engine) == [new, *rest]
    for expected in members(engine):
        [run] = claim_some(engine)
        assert run.job_id == expected
        end(engine, run, DONE)
    assert status(engine) is GroupStatus.COMPLETED


def test_the_rest_does_not_mean_members_that_a_person_cancelled(engine: Engine) -> None:
    three(engine, OnFailure.CONTINUE)
    write(engine, cancel_job, "c", LATER)
    assert write(engine, retry_group, "g", LATER, rest=True) == []


def test_without_a_member_to_retry_a_group_is_not_opened_again(engine: Engine) -> None:
    group(engine, "g", GroupMode.PARALLEL)
    put(engine, new_job("a", group_id="g"))
    end(engine, claim_one(engine), DONE)
    assert write(engine, retry_group, "g", LATER) == []
    assert engine.query(view_group, "g").group.reopened_at is None


def test_its_end_is_told_again(engine: Engine) -> None:
    write(engine, register_pattern, shape_of("group.*", ()), "hook")
    group(engine, "g", GroupMode.PARALLEL)
    put(engine, new_job("a", group_id="g"))
    end(engine, claim_one(engine), FAILED)
    again(engine, "a")
    end(engine, claim_one(engine), DONE)
    events = [view.event for view in engine.query(list_events).events]
    told = [(event.name, event.attributes.get("again")) for event in events]
    assert told == [("group.completed", "true"), ("group.partial", None)]


def test_a_member_comes_after_one_of_which_only_the_retry_is_left(engine: Engine) -> None:
    group(engine, "g", GroupMode.SEQUENTIAL)
    put(engine, new_job("a", group_id="g"))
    end(engine, claim_one(engine), FAILED)
    retried = again(engine, "a")
    end(engine, claim_one(engine), DONE)
    assert write(engine, forget_old, LATER + 1, 1) == 1
    put(engine, new_job("b", group_id="g"))
    assert row(engine, "b").group_seq == 2
    [before] = engine.query(predecessors, "b")
    assert before.id == retried
