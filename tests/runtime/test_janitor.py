"""What retention forgets is forgotten with its files, and nothing else is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.runtime.clock import ManualClock
from holdfast.runtime.janitor import BREATH_S, ROUND_S, Janitor
from holdfast.store.files import JobFiles
from holdfast.store.scripts.dead_letters import list_dead_letters
from holdfast.store.scripts.retention import BATCH
from holdfast.store.sqlite.engine import SqliteEngine
from tests.store.acts import FAILED, claim_some, end, execute, open_session, put_and_end, put_one

KEEP_MS = 1_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(tmp_path: Path, clock: ManualClock) -> Iterator[SqliteEngine]:
    made = SqliteEngine(tmp_path / "work.db", durability="normal", now=clock.now, files=tmp_path / "elsewhere")
    open_session(made, now=clock.now())
    yield made
    made.close()


def tick(engine: SqliteEngine, clock: ManualClock) -> float | None:
    async def work() -> float | None:
        return await Janitor(engine, clock, KEEP_MS).tick()

    return asyncio.run(work())


def touch(files: JobFiles, name: str, clock: ManualClock) -> None:
    """Files have the machine's time; here it is another one."""
    os.utime(files.of_job(name), (clock.now() / 1000, clock.now() / 1000))


def make_jobs(engine: SqliteEngine, clock: ManualClock, *names: str) -> JobFiles:
    """Jobs that have ended, each with a file."""
    files = JobFiles(engine.files)
    for name in names:
        put_one(engine, name, now=clock.now())
        files.artifact(name, "a.txt").write_text(name)
        touch(files, name, clock)
    for run in claim_some(engine, len(names), now=clock.now()):
        end(engine, run, now=clock.now())
    return files


def test_the_files_go_with_their_jobs(engine: SqliteEngine, clock: ManualClock) -> None:
    files = make_jobs(engine, clock, "old")
    clock.advance(KEEP_MS / 1000 + 1)
    make_jobs(engine, clock, "new")
    assert tick(engine, clock) == ROUND_S
    assert files.jobs() == ["new"]


def test_files_that_belong_to_no_job_go_too(engine: SqliteEngine, clock: ManualClock) -> None:
    files = JobFiles(engine.files)
    files.artifact("known", "a")
    touch(files, "known", clock)
    for number in range(2 * BATCH):
        files.make(files.log_of(f"unknown{number}", "run"))
        touch(files, f"unknown{number}", clock)
    clock.advance(KEEP_MS / 1000 + 1)
    put_one(engine, "known", now=clock.now())
    tick(engine, clock)
    assert files.jobs() == ["known"]


def test_files_of_an_unknown_job_stay_for_as_long_as_those_of_a_known_one(
    engine: SqliteEngine, clock: ManualClock
) -> None:
    files = JobFiles(engine.files)
    files.artifact("elsewhere", "a")
    touch(files, "elsewhere", clock)
    tick(engine, clock)
    assert files.jobs() == ["elsewhere"]


def test_a_job_that_still_waits_keeps_its_files(engine: SqliteEngine, clock: ManualClock) -> None:
    put_one(engine, "waiting", now=clock.now())
    files = JobFiles(engine.files)
    files.artifact("waiting", "a")
    touch(files, "waiting", clock)
    clock.advance(10 * KEEP_MS)
    tick(engine, clock)
    assert files.jobs() == ["waiting"]


def test_rows_come_before_files(engine: SqliteEngine, clock: ManualClock) -> None:
    files = make_jobs(engine, clock, *(f"j{number:03}" for number in range(BATCH + 1)))
    clock.advance(KEEP_MS / 1000 + 1)
    assert tick(engine, clock) == BREATH_S
    assert len(files.jobs()) == BATCH + 1
    assert tick(engine, clock) == ROUND_S
    assert files.jobs() == []


def test_a_database_without_files_is_fine(engine: SqliteEngine, clock: ManualClock) -> None:
    assert tick(engine, clock) == ROUND_S


def test_old_failures_become_dead_letters(engine: SqliteEngine, clock: ManualClock) -> None:
    put_and_end(engine, "a", FAILED, now=clock.now())
    execute(engine, "UPDATE dead_letters SET fingerprint = ''")
    assert tick(engine, clock) == ROUND_S
    assert [letters.jobs for letters in engine.query(list_dead_letters).letters] == [1]
