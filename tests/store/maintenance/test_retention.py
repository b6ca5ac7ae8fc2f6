"""Retention: what ended long ago is forgotten, in small steps."""

from __future__ import annotations

from holdfast.core.job import StateName
from holdfast.core.values.group import Dependency, GroupMode
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.groups.groups import view_group
from holdfast.store.scripts.maintenance.retention import forget_ended, forget_old
from holdfast.store.scripts.reading.read_jobs import last_link
from tests.store.acts import (
    FAILED,
    NOW,
    claim_one,
    end,
    group,
    last,
    let_time_pass,
    new_job,
    put,
    put_and_end,
    put_one,
    select,
    write,
)

LATER = NOW + 10_000_000


def ids(engine: Engine) -> list[str]:
    return [found["id"] for found in select(engine, "SELECT id FROM jobs ORDER BY number")]


def test_what_ended_before_the_moment_goes_with_its_runs(engine: Engine) -> None:
    put_and_end(engine, "old")
    put_and_end(engine, "young", now=NOW + 10)
    assert write(engine, forget_old, NOW + 10) == 1
    assert ids(engine) == ["young"]
    assert [run["job_id"] for run in select(engine, "SELECT job_id FROM job_runs")] == ["young"]


def test_what_has_not_ended_stays_however_old(engine: Engine) -> None:
    put(engine, new_job("running"), new_job("ready"), new_job("later", delay_ms=1))
    claim_one(engine)
    assert write(engine, forget_old, NOW + 99) == 0
    assert len(ids(engine)) == 3


def test_conditions_go_with_their_job(engine: Engine) -> None:
    put(engine, new_job("parent"), new_job("child", after=(Dependency("parent"),)))
    end(engine, claim_one(engine))
    end(engine, claim_one(engine))
    assert write(engine, forget_old, NOW + 1) == 2
    assert select(engine, "SELECT * FROM job_conditions") == []


def test_the_oldest_go_first_and_in_steps(engine: Engine) -> None:
    for age, name in enumerate("cab"):
        put_and_end(engine, name, now=NOW + age)
    assert write(engine, forget_old, NOW + 9, limit=2) == 2
    assert ids(engine) == ["b"]
    assert write(engine, forget_old, NOW + 9, limit=2) == 1


def test_a_chain_that_goes_on_is_kept_from_its_first_link(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, policy=RetryPolicy(retries=3, mode=RetryMode.CHAIN))
    let_time_pass(engine, LATER)
    end(engine, claim_one(engine, now=LATER), FAILED, LATER)
    assert len(ids(engine)) == 3
    assert write(engine, forget_old, 2 * LATER) == 0
    assert last(engine, "a").state.name is StateName.SCHEDULED


def test_a_chain_is_kept_as_long_as_its_last_link_is_young(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED, policy=RetryPolicy(retries=3, mode=RetryMode.CHAIN))
    let_time_pass(engine, LATER)
    end(engine, claim_one(engine, now=LATER), FAILED, LATER)
    let_time_pass(engine, 2 * LATER)
    end(engine, claim_one(engine, now=2 * LATER), now=2 * LATER)
    assert write(engine, forget_old, 2 * LATER) == 0
    assert write(engine, forget_old, 2 * LATER + 1) == 3
    assert engine.query(last_link, "a") is None


def test_an_empty_group_goes_when_it_is_old(engine: Engine) -> None:
    group(engine, "empty", GroupMode.PARALLEL)
    group(engine, "used", GroupMode.PARALLEL)
    put_one(engine, "a", group_id="used")
    write(engine, forget_old, NOW)
    assert len(select(engine, "SELECT id FROM job_groups")) == 2
    write(engine, forget_old, NOW + 1)
    assert select(engine, "SELECT id FROM job_groups") == [{"id": "used"}]
    assert list(engine.query(view_group, "used").members) == ["a"]


def test_sessions_and_subjects_stay(engine: Engine) -> None:
    put_and_end(engine, "a", subject="s")
    write(engine, forget_old, NOW + 99)
    assert len(select(engine, "SELECT id FROM sessions")) == 1
    assert len(select(engine, "SELECT subject_key FROM subjects")) == 1


def test_what_ended_of_one_task_of_one_queue_can_go_sooner(engine: Engine) -> None:
    put_and_end(engine, "old")
    put_and_end(engine, "failed", FAILED)
    put_and_end(engine, "young", now=LATER)
    put_one(engine, "other queue", queue="other", deadline=NOW)
    put_one(engine, "other task", task="u", deadline=NOW)
    put_one(engine, "waits")
    assert write(engine, forget_ended, "default", "t", LATER) == 2
    assert {row["id"] for row in select(engine, "SELECT id FROM jobs")} == {
        "young",
        "other queue",
        "other task",
        "waits",
    }
