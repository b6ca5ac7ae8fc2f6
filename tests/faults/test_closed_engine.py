"""A closed engine opens again when it is used, and a close in the middle of work loses no call and no row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest

from holdfast.core.jobs.requests import NewJob
from holdfast.store.engine import Tx
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance import doctor
from holdfast.store.scripts.reading.read_jobs import counts
from holdfast.store.sqlite.engine import SqliteEngine
from tests.faults.story import NOW, every_row


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    engine = SqliteEngine(tmp_path / "work.db", now=lambda: NOW)
    yield engine
    engine.close()


def put(engine: SqliteEngine, name: str) -> None:
    engine.submit(enqueue, [NewJob(id=name, task="work")], NOW).result(timeout=30)


def job_ids(engine: SqliteEngine) -> set[str]:
    return {row[1] for row in engine.query(every_row)["jobs"]}


def open_files(engine: SqliteEngine) -> list[str]:
    return [file.path for file in psutil.Process().open_files() if file.path.startswith(engine.path)]


def test_a_closed_engine_opens_again_when_it_is_used(engine: SqliteEngine) -> None:
    put(engine, "before")
    engine.close()
    assert job_ids(engine) == {"before"}
    engine.close()
    put(engine, "after")
    assert job_ids(engine) == {"before", "after"}


def test_a_closed_engine_holds_no_file(engine: SqliteEngine) -> None:
    put(engine, "one")
    job_ids(engine)
    assert open_files(engine) != []
    engine.close()
    engine.close()
    assert open_files(engine) == []
    assert not Path(f"{engine.path}-wal").exists()


def test_close_runs_what_was_asked_before_it(engine: SqliteEngine) -> None:
    futures = [engine.submit(enqueue, [NewJob(id=f"job-{number}", task="work")], NOW) for number in range(50)]
    engine.close()
    assert all(future.done() and future.exception() is None for future in futures)
    assert len(job_ids(engine)) == 50


def test_a_read_that_outlives_the_close_ends_well_and_leaves_nothing_open(engine: SqliteEngine) -> None:
    put(engine, "one")
    reached, released = Event(), Event()
    seen: list[int] = []

    def read_slowly(tx: Tx) -> None:
        reached.set()
        assert released.wait(30)
        seen.append(counts(tx)[0].jobs)

    reader = Thread(target=engine.query, args=(read_slowly,))
    reader.start()
    assert reached.wait(30)
    engine.close()
    released.set()
    reader.join()
    assert seen == [1]
    assert open_files(engine) == []


def test_a_call_that_comes_too_late_for_a_writer_is_run_by_the_next(
    engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, open_again = engine._opened(), engine._opened
    engine.close()
    writers = iter([closed])
    monkeypatch.setattr(engine, "_opened", lambda: next(writers, None) or open_again())
    put(engine, "late")
    assert job_ids(engine) == {"late"}


def test_calls_race_with_closes_and_every_one_is_answered(engine: SqliteEngine) -> None:
    def write(name: str) -> None:
        for number in range(150):
            put(engine, f"{name}-{number}")

    threads = [Thread(target=write, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        engine.close()
    assert len(job_ids(engine)) == 450
    assert doctor.examine(engine) == []
