"""Another program holds the database's lock: a write waits for a while, then says so, and nothing is half done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import apsw
import pytest

from holdfast.core.errors import StoreBusy
from holdfast.core.jobs.requests import NewJob
from holdfast.store import trouble
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.sqlite import write_connection
from holdfast.store.sqlite.connection import WRITER_BUSY_MS
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.trouble import TroubleKind
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
    monkeypatch.setattr(write_connection, "BUSY_TRIES", 2)
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match=r"another program has kept .*shared\.db locked .* close it or try again"):
        put(engine, "refused")
    assert job_ids(engine) == ["before"]
    foreign.execute("ROLLBACK")
    until_it_writes(engine)
    put(engine, "after")
    assert job_ids(engine) == ["before", "after"]


def test_a_lock_that_stays_is_a_trouble_and_everybody_is_refused_at_once(
    engine: SqliteEngine, foreign: apsw.Connection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(write_connection, "BUSY_TRIES", 2)
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        put(engine, "first")
    # Nobody tries: what is refused at once waits for no lock.
    monkeypatch.setattr(trouble, "LONGEST_TRY_S", 3_600.0)
    engine.troubles._try_at = time.monotonic() + 3_600
    monkeypatch.setattr(write_connection.WritingConnection, "begin", None)
    with pytest.raises(StoreBusy, match=r"locked.*; nothing was written\. Close that program") as refused:
        put(engine, "second")
    assert refused.value.retry_after is not None
    assert engine.troubles.current is not None
    assert "nothing can be written. Close that program" in engine.troubles.current.sentence
    monkeypatch.undo()
    engine.troubles._try_at = 0.0
    foreign.execute("ROLLBACK")
    until_it_writes(engine)
    assert engine.troubles.failures == {TroubleKind.BUSY: 1}
    assert [record.event for record in caplog.records if hasattr(record, "event")] == [
        "store_trouble",
        "store_recovered",
    ]


def until_it_writes(engine: SqliteEngine) -> None:
    """The engine finds out by itself."""
    deadline = time.monotonic() + 60
    while engine.troubles.current is not None:
        assert time.monotonic() < deadline
        engine.submit(lambda tx: None).exception()
        Event().wait(0.01)


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
    monkeypatch.setattr(write_connection, "BUSY_TRIES", 1)
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
