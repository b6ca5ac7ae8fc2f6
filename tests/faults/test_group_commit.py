"""Several calls in one transaction: each has its own fate until the commit, and then they have one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeAlias

import pytest

from holdfast.core.errors import HoldfastError, InvalidInput, OutcomeUnknown, StoreError, StoreFull
from holdfast.core.jobs.requests import NewJob
from holdfast.store.engine import Changes, Tx
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance import doctor
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Statement
from tests.faults.crash_image import Image, write_image
from tests.faults.faulty_vfs import Act, Fault, FaultyDisk, How, NewDisk
from tests.faults.story import NOW, until_it_writes

Script: TypeAlias = Callable[[Tx], Any]

pytestmark = pytest.mark.usefixtures("one_batch")

COUNT_JOBS = Statement("count_jobs", "SELECT count(*) FROM jobs", "")
JOB_IDS = Statement("job_ids", "SELECT id FROM jobs ORDER BY number", "")
TINY_CACHE = Statement("tiny_cache", "PRAGMA cache_size = 10", "")


@pytest.fixture
def disk(empty: Image, tmp_path: Path, new_disk: NewDisk) -> FaultyDisk:
    return new_disk(write_image(empty, tmp_path / "batch.db"))


@pytest.fixture
def engine(disk: FaultyDisk) -> Iterator[SqliteEngine]:
    engine = SqliteEngine(disk.path, now=lambda: NOW, vfs=disk.name)
    yield engine
    engine.close()


def store(*names: str, payload: str = "{}") -> Script:
    return lambda tx: enqueue(tx, [NewJob(id=name, task="work", payload=payload) for name in names], NOW)


def store_and_raise(name: str) -> Script:
    def script(tx: Tx) -> None:
        store(name)(tx)
        raise InvalidInput(f"{name} will not do")

    return script


def store_too_much(tx: Tx) -> None:
    """More than the cache can hold, so that pages go to the WAL before the commit."""
    tx.run(TINY_CACHE)
    store(*(f"big-{number}" for number in range(100)), payload='"' + "x" * 2_000 + '"')(tx)


def submit_together(engine: SqliteEngine, *scripts: Script) -> list[Future[Any]]:
    """All of them in one transaction: the writer is held up until the last one waits."""
    reached, released = Event(), Event()

    def hold(tx: Tx) -> None:
        reached.set()
        assert released.wait(30)

    engine.submit(hold)
    assert reached.wait(30)
    futures = [engine.submit(script) for script in scripts]
    released.set()
    return futures


def job_ids(engine: SqliteEngine) -> list[str]:
    return [row["id"] for row in engine.query(lambda tx: tx.rows(JOB_IDS))]


def errors_of(futures: list[Future[Any]]) -> list[BaseException | None]:
    return [future.exception(timeout=30) for future in futures]


def test_calls_that_wait_together_are_one_commit(engine: SqliteEngine, disk: FaultyDisk) -> None:
    engine.query(lambda tx: tx.value(COUNT_JOBS))
    disk.break_next(None)
    submit_together(engine, store("a"), store("b"), store("c"))[-1].result()
    header_and_commit = 2
    assert disk.asked[Act.SYNC] == header_and_commit


def test_a_script_that_raises_undoes_only_itself(engine: SqliteEngine) -> None:
    futures = submit_together(engine, store("a"), store_and_raise("b"), store("c"))
    assert [type(error) for error in errors_of(futures)] == [type(None), InvalidInput, type(None)]
    assert job_ids(engine) == ["a", "c"]


def test_a_statement_that_the_database_refuses_undoes_only_its_script(engine: SqliteEngine, disk: FaultyDisk) -> None:
    futures = submit_together(engine, store("a"), store("b", "b"), store("c"))
    errors = errors_of(futures)
    assert [type(error) for error in errors] == [type(None), StoreError, type(None)]
    assert disk.path in str(errors[1])
    assert job_ids(engine) == ["a", "c"]


def test_a_full_disk_in_the_middle_of_a_script_fails_exactly_its_batch(engine: SqliteEngine, disk: FaultyDisk) -> None:
    engine.submit(store("before")).result()
    disk.break_next(Fault(Act.WRITE, 1, How.FULL, times=1_000))
    futures = submit_together(engine, store("a"), store_and_raise("b"), store_too_much)
    assert [type(error) for error in errors_of(futures)] == [StoreFull, InvalidInput, StoreFull]
    disk.break_next(None)
    until_it_writes(engine)
    engine.submit(store("after")).result()
    assert job_ids(engine) == ["before", "after"]
    assert doctor.examine(engine) == []


def test_a_commit_that_fails_is_told_to_exactly_its_batch(engine: SqliteEngine, disk: FaultyDisk) -> None:
    engine.submit(store("before")).result()
    disk.break_next(Fault(Act.SYNC, 1))
    futures = submit_together(engine, store("a"), store_and_raise("b"), store("c"))
    assert [type(error) for error in errors_of(futures)] == [OutcomeUnknown, InvalidInput, OutcomeUnknown]
    engine.submit(store("after")).result()
    assert job_ids(engine) in (["before", "after"], ["before", "a", "c", "after"])


@pytest.mark.parametrize("how", list(How))
def test_a_batch_is_there_as_a_whole_or_not_at_all(how: How, empty: Image, tmp_path: Path, new_disk: NewDisk) -> None:
    for nth in count(1):
        path = tmp_path / f"{nth}.db"
        disk = new_disk(write_image(empty, path))
        engine = SqliteEngine(path, now=lambda: NOW, vfs=disk.name)
        engine.submit(store("before")).result()
        disk.break_next(Fault(Act.WRITE, nth, how))
        errors = errors_of(submit_together(engine, store("a"), store_and_raise("b"), store("c")))
        assert type(errors[1]) is InvalidInput
        assert type(errors[0]) is type(errors[2])
        assert errors[0] is None or isinstance(errors[0], HoldfastError)
        struck = disk.struck
        disk.break_next(None)
        engine.submit(store("after")).result()
        expected = [["before", "after"]] if errors[0] else []
        if errors[0] is None or isinstance(errors[0], OutcomeUnknown):
            expected.append(["before", "a", "c", "after"])
        assert job_ids(engine) in expected
        assert doctor.examine(engine) == []
        engine.close()
        if not struck:
            assert nth > 1
            return


def test_closing_during_a_commit_that_fails_answers_everybody(engine: SqliteEngine, disk: FaultyDisk) -> None:
    engine.submit(store("before")).result()
    disk.break_next(Fault(Act.SYNC, 1))
    writer = engine._opened()
    reached = Event()

    def hold_until_closing(tx: Tx) -> None:
        reached.set()
        while not writer._is_closed:
            pass
        with writer._closing_lock:
            """Whoever closes has put the mark in the mailbox."""

    held = engine.submit(hold_until_closing)
    assert reached.wait(30)
    waiting = engine.submit(store("a"))
    closing = Thread(target=engine.close, daemon=True)
    closing.start()
    assert [type(error) for error in errors_of([held, waiting])] == [OutcomeUnknown, OutcomeUnknown]
    closing.join(30)
    assert not closing.is_alive()


def test_a_listener_that_raises_does_not_stop_the_writer(engine: SqliteEngine) -> None:
    def stumble(changes: Changes) -> None:
        raise RuntimeError("a listener's own trouble")

    engine.listen(stumble)
    for name in ("a", "b", "c"):
        engine.submit(store(name)).result(timeout=30)
    assert job_ids(engine) == ["a", "b", "c"]
