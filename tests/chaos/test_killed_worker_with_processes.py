"""A worker that is killed leaves no process that is not stored, and what it left is ended before its run is settled."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast, JobHandle, Retry, StateName
from holdfast.store.engine import Engine
from tests.chaos.conftest import Start
from tests.chaos.database import Database, recovery, select, statement
from tests.chaos.processes import KnownProcess, kill, until

WAIT = 60.0
NOBODY = KnownProcess(4_194_305, 0)  # beyond the highest pid that the kernel gives away


@pytest.fixture
def hf(database: Database) -> Iterator[Holdfast]:
    made = Holdfast(database.target, schema=database.schema)
    yield made
    made.close()
    shutil.rmtree(made._access.engine.files, ignore_errors=True)


@pytest.fixture
def side(folder: Path) -> Iterator[Path]:
    for name in ("processes", "runs"):
        (folder / name).mkdir()
    yield folder
    kill(*begun(folder))


def begun(side: Path) -> list[KnownProcess]:
    """The commands, and their children."""
    return [KnownProcess.read(path.name) for path in side.glob("processes/*")]


def living(side: Path) -> list[KnownProcess]:
    return [process for process in begun(side) if process.is_alive]


def command(hf: Holdfast, side: Path) -> JobHandle[dict[str, int]]:
    words = (sys.executable, "-m", "tests.chaos.programs.commanded", str(side))
    return hf.command(*words, cwd=Path(__file__).parents[2], retry=Retry(0, initial=0.01))


def started(engine: Engine) -> dict[str, Any]:
    """The run of the killed worker."""
    [run] = select(engine, "SELECT id, pid, status FROM job_runs WHERE attempt = 1")
    return run


def let_one_live_and_die(start: Start, database: Database, side: Path) -> None:
    worker = start("commander", *database.args, "none")
    until(lambda: len(begun(side)) == 2, "the command and its child run")
    worker.kill()


def settle(engine: Engine) -> None:
    """One look of a recoverer."""
    asyncio.run(recovery(engine).tick())


def test_what_a_killed_worker_left_is_ended_before_the_job_runs_again(
    database: Database, engine: Engine, hf: Holdfast, side: Path, start: Start
) -> None:
    job = command(hf, side)
    let_one_live_and_die(start, database, side)
    with hf:
        assert job.wait(WAIT) is StateName.DONE
    first, second = job.runs
    assert (first.error_kind, first.error_code, second.attempt) == ("infra", "ERR_CRASH_RECOVERY", 2)
    assert (side / "runs" / second.id).read_text() == ""
    assert living(side) == []


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE job_runs SET pid_started_at = pid_started_at - 10",
        "UPDATE sessions SET boot_id = 'another boot'",
        "UPDATE sessions SET host = 'another machine'",
    ],
)
def test_who_is_not_surely_ours_is_not_touched(
    database: Database, engine: Engine, hf: Holdfast, side: Path, start: Start, change: str
) -> None:
    job = command(hf, side)
    let_one_live_and_die(start, database, side)
    engine.submit(lambda tx: tx.run(statement(change))).result()
    settle(engine)
    assert job.state is not StateName.RUNNING
    assert len(living(side)) == 2


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_recoverer_that_dies_after_the_stop_has_done_no_harm(
    database: Database, engine: Engine, hf: Holdfast, side: Path, start: Start
) -> None:
    job = command(hf, side)
    let_one_live_and_die(start, database, side)
    kill(*begun(side))
    assert job.state is StateName.RUNNING
    settle(engine)
    settle(engine)
    assert [run.status for run in job.runs] == ["FAILED"]


# Between the start of the process and its record, between the record and the gate, and behind the gate.
STEPS = ["ProcessRun._through_gate", "Gated.open", "ProcessWatch.follow"]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("last_call", STEPS)
def test_a_worker_that_dies_between_two_steps_leaves_nothing_that_is_not_stored(
    database: Database, engine: Engine, hf: Holdfast, side: Path, start: Start, last_call: str
) -> None:
    job = command(hf, side)
    assert start("commander", *database.args, last_call).wait() == -signal.SIGKILL
    run = started(engine)
    assert (run["pid"] is not None) == (last_call != STEPS[0])
    if last_call == STEPS[2]:
        until(lambda: len(begun(side)) == 2, "the command and its child run")
    else:
        (side / "processes" / str(NOBODY)).touch()  # The next one shall not wait for ever.
    with hf:
        assert job.wait(WAIT) is StateName.DONE
    runs = {path.name for path in side.glob("runs/*")}
    assert runs == {job.runs[-1].id} | ({run["id"]} if last_call == STEPS[2] else set())
    assert living(side) == []
