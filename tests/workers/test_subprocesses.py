"""A run that cannot be started is reported all the same, and is nobody's fault if the store is to blame."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue

import apsw
import psutil
import pytest

from holdfast.core.jobs.requests import COMMAND, Claimed, Report
from holdfast.core.jobs.settle import Broke, Completed, Yielded
from holdfast.runtime.clock import SystemClock
from holdfast.store.files import JobFiles
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.tasks.context import Context
from holdfast.tasks.files import RunFiles
from holdfast.workers.builtin.command import SPEC
from holdfast.workers.process.subprocesses import Subprocesses
from tests.migrated import copy_migrated
from tests.store.acts import NOW, SESSION, claim_one, lose, open_session, put_one

WAIT = 60.0


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    made = SqliteEngine(copy_migrated(tmp_path / "work.db"), durability="normal", now=lambda: NOW)
    open_session(made)
    yield made
    made.close()


@pytest.fixture
def reports() -> SimpleQueue[Report]:
    return SimpleQueue()


@pytest.fixture
def subprocesses(engine: SqliteEngine, reports: SimpleQueue[Report]) -> Iterator[Subprocesses]:
    def context(run: Claimed) -> Context:
        files = RunFiles(JobFiles(engine.files), run.job_id, run.run_id)
        return Context(run, lambda data: Future(), lambda fraction, text: None, lambda: files)

    made = Subprocesses(engine, SystemClock(), SESSION, context, lambda ended: reports.put(ended[0]))
    yield made
    made.close()


def claimed(engine: SqliteEngine, marker: Path) -> Claimed:
    put_one(engine, "job", task=COMMAND, payload=f'{{"argv":["touch","{marker}"]}}')
    return claim_one(engine, tasks=(COMMAND,))


@pytest.fixture
def no_child_left() -> Callable[[], bool]:
    """Whether no process lives that was started here since the test began."""

    def living() -> set[int]:
        return {child.pid for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE}

    before = living()
    return lambda: living() <= before


def test_a_run_is_reported_with_its_outcome(
    engine: SqliteEngine, subprocesses: Subprocesses, reports: SimpleQueue[Report], tmp_path: Path
) -> None:
    subprocesses.run(claimed(engine, tmp_path / "ran"), SPEC)
    report = reports.get(timeout=WAIT)
    assert (report.outcome, report.exit_code) == (Completed('{"exit_code":0}'), 0)
    assert (tmp_path / "ran").exists()


def test_what_cannot_be_stored_does_not_begin_and_is_not_charged(
    engine: SqliteEngine,
    subprocesses: Subprocesses,
    reports: SimpleQueue[Report],
    tmp_path: Path,
    no_child_left: Callable[[], bool],
) -> None:
    run = claimed(engine, tmp_path / "ran")
    foreign = apsw.Connection(engine.path)
    foreign.execute("BEGIN IMMEDIATE")
    subprocesses.run(run, SPEC)
    outcome = reports.get(timeout=WAIT).outcome
    foreign.execute("ROLLBACK")
    foreign.close()
    assert isinstance(outcome, Yielded)
    assert "could not be stored" in outcome.reason
    assert not (tmp_path / "ran").exists()
    assert no_child_left()


def test_a_run_that_others_have_settled_does_not_begin(
    engine: SqliteEngine,
    subprocesses: Subprocesses,
    reports: SimpleQueue[Report],
    tmp_path: Path,
    no_child_left: Callable[[], bool],
) -> None:
    run = claimed(engine, tmp_path / "ran")
    lose(engine)
    subprocesses.run(run, SPEC)
    outcome = reports.get(timeout=WAIT).outcome
    assert isinstance(outcome, Broke)
    assert outcome.failure.code == "ERR_NOT_STARTED"
    assert not (tmp_path / "ran").exists()
    assert no_child_left()


def test_a_worker_without_free_files_reports_the_run(
    engine: SqliteEngine, subprocesses: Subprocesses, reports: SimpleQueue[Report], tmp_path: Path
) -> None:
    run = claimed(engine, tmp_path / "ran")
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, usual[1]))
    try:
        subprocesses.run(run, SPEC)
        outcome = reports.get(timeout=WAIT).outcome
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    assert isinstance(outcome, Broke)
    assert (outcome.failure.code, "Too many open files" in outcome.failure.message) == ("ERR_NOT_STARTED", True)


def test_closing_ends_what_runs_and_waits_for_its_report(
    engine: SqliteEngine,
    subprocesses: Subprocesses,
    reports: SimpleQueue[Report],
    no_child_left: Callable[[], bool],
) -> None:
    put_one(engine, "job", task=COMMAND, payload='{"argv":["sleep","3600"],"grace_s":3600}')
    subprocesses.run(claim_one(engine, tasks=(COMMAND,)), SPEC)
    subprocesses.close()
    assert isinstance(reports.get_nowait().outcome, Yielded)
    assert no_child_left()
