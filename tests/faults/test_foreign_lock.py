"""Another program holds the database's lock: a write waits for a while, then says so, and nothing is half done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import apsw
import pytest

from holdfast.core.errors import StoreBusy
from holdfast.core.requests import NewJob
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.sqlite import writing
from holdfast.store.sqlite.connection import WRITER_BUSY_MS
from holdfast.store.sqlite.engine import SqliteEngine
from tests.faults.story import NOW, every_row


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    engine = SqliteEngine(tmp_path / "shared.db", now=lambda: NOW)
    engine.submit(enqueue, [NewJob(id="before", task="work")], NOW).result()
    yield engine
    engine.close()


@pytest.fixture
def foreign(engine: SqliteEngine) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(engine.path)
    yield connection
    connection.close()


def put(engine: SqliteEngine, name: str) -> None:
    engine.submit(enqueue, [NewJob(id=name, task="work")], NOW).result()


def job_ids(engine: SqliteEngine) -> list[str]:
    return [row[1] for row in sorted(engine.query(every_row)["jobs"])]


def test_a_lock_that_is_kept_is_an_error_after_a_bounded_wait(
    engine: SqliteEngine, foreign: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "BUSY_TRIES", 2)
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match=r"another program has kept .*shared\.db locked .* close it or try again"):
        put(engine, "refused")
    assert job_ids(engine) == ["before"]
    foreign.execute("ROLLBACK")
    put(engine, "after")
    assert job_ids(engine) == ["before", "after"]


def test_a_lock_that_is_let_go_in_time_is_only_a_delay(engine: SqliteEngine, foreign: apsw.Connection) -> None:
    foreign.execute("BEGIN IMMEDIATE")
    waiting = engine.submit(enqueue, [NewJob(id="patient", task="work")], NOW)
    more_than_one_try = 1.5 * WRITER_BUSY_MS / 1_000
    Event().wait(more_than_one_try)
    assert not waiting.done()
    foreign.execute("COMMIT")
    waiting.result(timeout=30)
    assert job_ids(engine) == ["before", "patient"]


def test_two_engines_on_one_file_never_meet_a_lock(engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "BUSY_TRIES", 1)
    other = SqliteEngine(engine.path, now=lambda: NOW)

    def write(own: SqliteEngine, name: str) -> None:
        for number in range(100):
            put(own, f"{name}-{number}")

    threads = [Thread(target=write, args=(engine, "a")), Thread(target=write, args=(other, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(job_ids(engine)) == 201
    other.close()
