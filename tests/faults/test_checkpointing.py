"""The WAL stays short under constant load, however many readers come and go, and shrinks when one that blocked is gone.

Its bound is the length at which the writer begins to look (plus one batch); with readers that hold their snapshots, the
length at which it waits for them. The numbers here are small ones of the same kind, so that few writes reach them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import apsw
import pytest

from holdfast.core.jobs.requests import NewJob
from holdfast.store.engine import Tx, new_uuid
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance import doctor
from holdfast.store.scripts.reading.read_jobs import counts
from holdfast.store.sqlite import checkpoint
from holdfast.store.sqlite.engine import SqliteEngine
from tests.faults.story import NOW

FRAME = 4096 + 24
ONE_CALL = 40  # pages; a single enqueue needs about ten


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    engine = SqliteEngine(tmp_path / "work.db", now=lambda: NOW, durability="normal")
    yield engine
    assert doctor.examine(engine) == []
    engine.close()


@pytest.fixture
def small_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "CHECKPOINT_PAGES", 50)
    monkeypatch.setattr(checkpoint, "TRUNCATE_PAGES", 200)
    monkeypatch.setattr(checkpoint, "PATIENT_PAGES", 400)


def write(engine: SqliteEngine, calls: int) -> int:
    """Enqueue this often, one after the other; the greatest length of the WAL on the way, in pages."""
    longest = 0
    for _ in range(calls):
        engine.submit(enqueue, [NewJob(id=new_uuid(), task="work")], NOW).result()
        longest = max(longest, wal_pages(engine))
    return longest


def wal_pages(engine: SqliteEngine) -> int:
    return Path(f"{engine.path}-wal").stat().st_size // FRAME


@contextmanager
def reader(engine: SqliteEngine, seconds: float = 60.0) -> Iterator[None]:
    """Somebody holds a snapshot, until the end of the block or for some seconds."""
    reached, released = Event(), Event()

    def hold(tx: Tx) -> None:
        counts(tx)
        reached.set()
        released.wait(seconds)

    thread = Thread(target=engine.query, args=(hold,))
    thread.start()
    assert reached.wait(30)
    yield
    released.set()
    thread.join()


def test_the_wal_stays_short_under_constant_load(engine: SqliteEngine) -> None:
    assert write(engine, 1_000) <= checkpoint.CHECKPOINT_PAGES + ONE_CALL


@pytest.mark.usefixtures("small_numbers")
def test_it_shrinks_when_a_reader_that_blocked_it_is_gone(engine: SqliteEngine) -> None:
    with reader(engine):
        write(engine, 55)
    assert wal_pages(engine) > checkpoint.TRUNCATE_PAGES
    write(engine, 30)
    assert wal_pages(engine) <= checkpoint.CHECKPOINT_PAGES + ONE_CALL


@pytest.mark.usefixtures("small_numbers")
@pytest.mark.parametrize("seconds", [0.0, 0.25])
def test_it_stays_bounded_when_there_is_always_a_reader(seconds: float, engine: SqliteEngine) -> None:
    entered, stopping = [Event(), Event()], Event()

    def read_on(is_in: Event) -> None:
        while not stopping.is_set():
            with reader(engine, seconds):
                is_in.set()
                stopping.wait(seconds * 0.9)

    threads = [Thread(target=read_on, args=(is_in,)) for is_in in entered]
    for thread, is_in in zip(threads, entered, strict=True):
        thread.start()
        assert is_in.wait(30)
    longest = write(engine, 130)
    stopping.set()
    for thread in threads:
        thread.join()
    assert longest <= checkpoint.PATIENT_PAGES * 5 // 4 + ONE_CALL


@pytest.mark.usefixtures("small_numbers")
def test_a_long_wal_that_begins_anew_is_cut_to_size(engine: SqliteEngine) -> None:
    with reader(engine):
        write(engine, 60)
    assert wal_pages(engine) > checkpoint.TRUNCATE_PAGES + ONE_CALL
    foreign = apsw.Connection(engine.path)
    foreign.pragma("wal_checkpoint", "passive")
    foreign.close()
    write(engine, 1)
    assert wal_pages(engine) <= checkpoint.TRUNCATE_PAGES


@pytest.mark.usefixtures("small_numbers")
def test_what_another_process_wrote_counts_too(engine: SqliteEngine) -> None:
    write(engine, 1)
    foreign = apsw.Connection(engine.path)
    foreign.execute("PRAGMA wal_autocheckpoint = 0")
    foreign.execute(f"BEGIN; CREATE TABLE theirs (x); INSERT INTO theirs VALUES (zeroblob({4096 * 300})); COMMIT")
    foreign.close()
    assert wal_pages(engine) > checkpoint.TRUNCATE_PAGES
    write(engine, 2)  # The first one is answered before the log is looked at.
    assert wal_pages(engine) <= ONE_CALL


@pytest.mark.usefixtures("small_numbers")
def test_a_very_long_wal_shrinks_with_the_next_call_once_nobody_is_in_the_way(
    engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "PATIENT_TRIES", 1)
    with reader(engine):
        while wal_pages(engine) <= checkpoint.PATIENT_PAGES:
            write(engine, 1)
    monkeypatch.setattr(checkpoint, "AGAIN_S", 0.0)
    write(engine, 2)
    assert wal_pages(engine) <= ONE_CALL


@pytest.mark.long
def test_it_stays_bounded_with_the_numbers_that_users_get(engine: SqliteEngine) -> None:
    longest = write(engine, 1_000)
    for _ in range(10):
        with reader(engine):
            longest = max(longest, write(engine, 500))
        longest = max(longest, write(engine, 1_000))
    print(f"the WAL had at most {longest} pages in 16 000 calls")
    assert longest <= checkpoint.PATIENT_PAGES
