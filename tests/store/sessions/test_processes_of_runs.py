"""The process of a run is stored with it, and only as long as the run is its session's to start."""

from __future__ import annotations

import pytest
from msgspec import structs

from holdfast.core.job import StateName
from holdfast.core.jobs.settle import Outcome
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.runs.progress import note_start
from holdfast.store.scripts.sessions.recover import LeftProcess, processes_of, recover
from tests.store.acts import (
    DONE,
    FAILED,
    NOW,
    SESSION,
    claim_one,
    claim_some,
    end,
    job,
    last,
    let_time_pass,
    lose,
    open_session,
    put_one,
    report,
    runs,
    select,
    states,
    write,
)


def test_a_start_is_stored_with_the_run_and_its_job(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    assert write(engine, note_start, run.run_id, SESSION, 4711, 12_340, "/logs/a")
    [stored] = runs(engine, "a")
    assert (stored.pid, stored.pid_started_at, stored.log_path) == (4711, 12_340, "/logs/a")
    assert select(engine, "SELECT log_path FROM jobs") == [{"log_path": "/logs/a"}]


@pytest.mark.parametrize("asked", [None, "in_process", "subprocess"])
def test_a_process_of_a_run_changes_nothing_of_what_its_job_asked_for(engine: Engine, asked: str | None) -> None:
    put_one(engine, "a", execution=asked, policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN))
    run = claim_one(engine)
    assert write(engine, note_start, run.run_id, SESSION, 4711, 12_340, "/logs/a")
    end(engine, run, FAILED)
    write(engine, retry_job, "a", NOW, None, "again")
    found = {one.id: one.execution for one in (job(engine, "a"), last(engine, "a"), job(engine, "again"))}
    assert len(found) == 3
    assert set(found.values()) == {asked or "in_process"}


def test_a_job_knows_the_files_of_its_last_run(engine: Engine) -> None:
    put_one(engine, "a", policy=RetryPolicy(retries=3, initial_ms=0))

    def run_once(outcome: Outcome, **left: str) -> dict[str, str | None]:
        run = claim_one(engine)
        told = structs.replace(report(run, outcome), **left)
        assert write(engine, finish, [told], NOW)[0].refused is None
        let_time_pass(engine, NOW)
        [found] = select(engine, "SELECT log_path, artifact_path FROM jobs")
        return found

    assert run_once(FAILED, log_path="/1", artifact_path="/a") == {"log_path": "/1", "artifact_path": "/a"}
    # Its artifacts are those of all its runs.
    assert run_once(FAILED) == {"log_path": None, "artifact_path": "/a"}
    assert run_once(DONE, log_path="/3") == {"log_path": "/3", "artifact_path": "/a"}


def test_a_start_may_be_noted_again(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    assert [write(engine, note_start, run.run_id, SESSION, 1, 2, None) for _ in range(2)] == [True, True]


def test_a_run_that_has_ended_cannot_start(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    end(engine, run)
    assert not write(engine, note_start, run.run_id, SESSION, 1, 2, None)
    assert runs(engine, "a")[0].pid is None


def test_a_run_of_another_session_cannot_start(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    open_session(engine, "s2")
    assert not write(engine, note_start, run.run_id, "s2", 1, 2, None)
    assert not write(engine, note_start, "no run", SESSION, 1, 2, None)


def test_a_run_that_was_settled_and_claimed_again_cannot_start(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    lose(engine, rebooted=True)
    claim_one(engine, session=open_session(engine, "s2"))
    assert not write(engine, note_start, run.run_id, SESSION, 1, 2, None)


def test_the_processes_of_a_session_are_those_of_its_open_runs(engine: Engine) -> None:
    for name in ("ended", "open", "not started"):
        put_one(engine, name)
    runs = {run.job_id: run for run in claim_some(engine)}
    for pid, name in enumerate(("ended", "open"), start=10):
        write(engine, note_start, runs[name].run_id, SESSION, pid, 99, None)
    end(engine, runs["ended"])
    assert engine.query(processes_of, SESSION) == [LeftProcess(runs["open"].run_id, 11, 99)]
    assert engine.query(processes_of, "another") == []


def test_a_run_whose_process_lives_is_spared_and_its_session_with_it(engine: Engine) -> None:
    for name in ("gone", "alive"):
        put_one(engine, name)
    held = {run.job_id: run.run_id for run in claim_some(engine)}
    write(engine, recover, SESSION, True, NOW, spared=[held["alive"]])
    assert states(engine, "gone", "alive") == [StateName.QUEUED, StateName.RUNNING]
    assert select(engine, "SELECT status FROM sessions") == [{"status": "running"}]
    write(engine, recover, SESSION, True, NOW)
    assert states(engine, "gone", "alive") == [StateName.QUEUED, StateName.QUEUED]
    assert select(engine, "SELECT status FROM sessions") == [{"status": "unknown"}]


def test_a_run_with_a_process_of_its_own_is_no_suspect_and_has_not_died(engine: Engine) -> None:
    for name in ("inside", "own process"):
        put_one(engine, name)
    held = {run.job_id: run.run_id for run in claim_some(engine)}
    write(engine, note_start, held["own process"], SESSION, 10, 99, None)
    lose(engine)
    assert select(engine, "SELECT id, is_suspect, deaths, infra_tries FROM jobs ORDER BY id") == [
        {"id": "inside", "is_suspect": 1, "deaths": 0, "infra_tries": 0},
        {"id": "own process", "is_suspect": 0, "deaths": 0, "infra_tries": 0},
    ]


def test_spared_runs_do_not_keep_a_full_batch_from_the_others(engine: Engine) -> None:
    for number in range(5):
        put_one(engine, f"j{number}")
    held = {run.job_id: run.run_id for run in claim_some(engine)}
    spared = [held["j0"], held["j1"]]
    first = write(engine, recover, SESSION, True, NOW, limit=2, spared=spared)
    second = write(engine, recover, SESSION, True, NOW, limit=2, spared=spared)
    assert (first.settled, first.more, second.settled, second.more) == (2, True, 1, False)
