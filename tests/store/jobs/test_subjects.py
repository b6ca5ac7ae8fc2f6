"""Subjects: of several requests about one thing, the newest generation runs."""

from __future__ import annotations

import pytest

from holdfast.core.job import StateName
from holdfast.core.jobs.settle import Outdated
from holdfast.core.messages.runs import StopRequest
from holdfast.store.engine import Engine
from holdfast.store.scripts.maintenance.retention import forget_old
from holdfast.store.statements import sql
from tests.store.acts import (
    NOW,
    SESSION,
    claim_one,
    claimed_ids,
    end,
    job,
    new_job,
    put,
    put_and_end,
    put_one,
    reason,
    row,
    select,
    state,
    states,
    write,
)


def stops(engine: Engine) -> list[StopRequest]:
    return engine.query(lambda tx: tx.all(sql.stop_requests, StopRequest, session_id=SESSION))


def test_an_unset_generation_takes_the_next_one(engine: Engine) -> None:
    answers = [put_one(engine, name, subject="s").generation for name in "abc"]
    assert answers == [1, 2, 3]
    assert put_one(engine, "d", subject="s", generation=10).generation == 10
    assert put_one(engine, "e", subject="s").generation == 11


def test_fifty_requests_for_one_subject_run_once(engine: Engine) -> None:
    put(engine, *(new_job(f"j{n}", subject="s") for n in range(50)))
    assert claimed_ids(engine) == ["j49"]
    assert [state(engine, f"j{n}") for n in range(49)] == [StateName.SUPERSEDED] * 49


def test_a_newer_generation_supersedes_what_waits(engine: Engine) -> None:
    put_one(engine, "ready", subject="s")
    put_one(engine, "due later", subject="s", delay_ms=1000)
    put_one(engine, "new", subject="s")
    assert states(engine, "ready", "due later", "new") == [
        StateName.SUPERSEDED,
        StateName.SUPERSEDED,
        StateName.QUEUED,
    ]
    assert reason(engine, "ready") == "superseded by generation 2"


@pytest.mark.parametrize("other", [{"subject": "other"}, {"subject": "s", "task": "u"}, {}])
def test_other_subjects_and_other_tasks_are_left_alone(engine: Engine, other: dict[str, str]) -> None:
    put_one(engine, "a", subject="s")
    put(engine, new_job("b", **other))
    assert states(engine, "a", "b") == [StateName.QUEUED, StateName.QUEUED]


def test_without_a_subject_nothing_supersedes_anything(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"))
    assert states(engine, "a", "b") == [StateName.QUEUED, StateName.QUEUED]
    assert row(engine, "a").generation is None


def test_the_same_generation_is_the_job_that_exists(engine: Engine) -> None:
    put_one(engine, "a", subject="s", generation=7)
    again = put_one(engine, "b", subject="s", generation=7)
    assert (again.id, again.state, again.generation, again.existing) == ("a", StateName.QUEUED, 7, True)
    assert len(select(engine, "SELECT id FROM jobs")) == 1


def test_the_same_generation_after_it_ended_is_still_the_job_that_exists(engine: Engine) -> None:
    put_and_end(engine, "a", subject="s", generation=7)
    again = put_one(engine, "b", subject="s", generation=7)
    assert (again.id, again.state, again.existing) == ("a", StateName.DONE, True)


def test_the_same_generation_after_retention_is_already_done(engine: Engine) -> None:
    put_and_end(engine, "a", subject="s", generation=7)
    write(engine, forget_old, NOW + 1)
    again = put_one(engine, "b", subject="s", generation=7)
    assert (again.id, again.state, again.generation, again.existing) == (None, StateName.DONE, 7, True)
    assert select(engine, "SELECT id FROM jobs") == []


def test_an_older_generation_is_stored_as_superseded(engine: Engine) -> None:
    put_one(engine, "new", subject="s", generation=7)
    answer = put_one(engine, "old", subject="s", generation=6)
    assert (answer.id, answer.state, answer.generation, answer.existing) == ("old", StateName.SUPERSEDED, 6, False)
    assert reason(engine, "old") == "generation 7 of its subject is known already"
    assert claimed_ids(engine) == ["new"]


def test_an_older_generation_can_come_twice(engine: Engine) -> None:
    put_one(engine, "new", subject="s", generation=7)
    answers = put(engine, new_job("o1", subject="s", generation=6), new_job("o2", subject="s", generation=6))
    assert [answer.state for answer in answers] == [StateName.SUPERSEDED] * 2


def test_the_newest_generation_is_remembered_beyond_retention(engine: Engine) -> None:
    put_and_end(engine, "a", subject="s", generation=7)
    write(engine, forget_old, NOW + 1)
    assert put_one(engine, "old", subject="s", generation=3).state is StateName.SUPERSEDED
    assert put_one(engine, "new", subject="s").generation == 8


def test_the_running_job_goes_on_unless_the_task_says_otherwise(engine: Engine) -> None:
    put_one(engine, "a", subject="s")
    claim_one(engine)
    put_one(engine, "b", subject="s")
    assert state(engine, "a") is StateName.RUNNING
    assert stops(engine) == []


def test_the_running_job_is_asked_to_stop_where_the_task_says_so(engine: Engine) -> None:
    put_one(engine, "a", subject="s")
    run = claim_one(engine)
    put_one(engine, "b", subject="s", stop_older=True)
    assert stops(engine) == [StopRequest(run.run_id, "superseded")]
    assert end(engine, run, Outdated()).state is StateName.SUPERSEDED
    assert claimed_ids(engine) == ["b"]


def test_a_stale_or_repeated_request_stops_nobody(engine: Engine) -> None:
    put_one(engine, "a", subject="s", generation=5)
    claim_one(engine)
    put_one(engine, "same", subject="s", generation=5, stop_older=True)
    put_one(engine, "old", subject="s", generation=4, stop_older=True)
    assert stops(engine) == []


def test_a_superseded_job_leaves_without_a_run(engine: Engine) -> None:
    put(engine, new_job("a", subject="s"), new_job("b", subject="s"))
    assert select(engine, "SELECT id FROM job_runs") == []
    assert job(engine, "a").attempts == 0
