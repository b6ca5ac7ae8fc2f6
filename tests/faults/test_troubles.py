"""A store that cannot be written: refused at once and said why, read on, and found out when that is over."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from threading import Event

import apsw
import pytest

from holdfast.core.errors import HoldfastError, StoreCorrupt, StoreFull, StoreUnavailable
from holdfast.store import trouble
from holdfast.store.scripts.maintenance import doctor
from holdfast.store.scripts.reading.read_jobs import find_job
from holdfast.store.sqlite.database_file import copied, restored
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import sql
from holdfast.store.topics import UNKNOWN
from holdfast.store.trouble import TroubleKind
from tests.faults.crash_image import Image, write_image
from tests.faults.faulty_vfs import Act, Fault, FaultyDisk, How, NewDisk
from tests.faults.story import NOW, until_it_writes
from tests.faults.test_disk_full import FOR_EVER, put

KINDS = [
    (Fault(Act.WRITE, 1, How.FULL, FOR_EVER), TroubleKind.FULL, StoreFull, "is full"),
    (Fault(Act.WRITE, 1, How.ERROR, FOR_EVER), TroubleKind.IO, StoreUnavailable, "reports an error"),
    (Fault(Act.SYNC, 1, How.ERROR, FOR_EVER), TroubleKind.IO, StoreUnavailable, "reports an error"),
]


@pytest.fixture
def disk(empty: Image, tmp_path: Path, new_disk: NewDisk) -> FaultyDisk:
    return new_disk(write_image(empty, tmp_path / "work.db"))


def fail_once(engine: SqliteEngine, disk: FaultyDisk, fault: Fault) -> None:
    disk.break_next(fault)
    with pytest.raises(HoldfastError):
        put(engine, "hit")


@pytest.mark.parametrize(("fault", "kind", "error", "says"), KINDS)
def test_writes_are_refused_without_a_try_until_the_disk_works_again(
    fault: Fault,
    kind: TroubleKind,
    error: type[HoldfastError],
    says: str,
    disk: FaultyDisk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trouble, "FIRST_TRY_S", 1.5)
    engine = SqliteEngine(disk.path, now=lambda: NOW, vfs=disk.name)
    put(engine, "before")
    fail_once(engine, disk, fault)
    current = engine.troubles.current
    assert current is not None
    assert (current.kind, says in current.says) == (kind, True)
    with pytest.raises(error, match=r"nothing was written.*goes on by itself") as refused:
        put(engine, "refused")
    assert refused.value.retry_after is not None
    assert engine.query(find_job, "before").id == "before"
    disk.break_next(None)
    until_it_writes(engine)
    put(engine, "after")
    [alert] = engine.troubles.take_alerts()
    assert (alert.kind, alert.ended_at) == (kind, NOW)
    assert doctor.examine(engine) == []
    engine.close()


def test_a_refused_write_does_not_reach_the_disk(disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trouble, "FIRST_TRY_S", 3_600.0)
    monkeypatch.setattr(trouble, "LONGEST_TRY_S", 3_600.0)
    engine = SqliteEngine(disk.path, now=lambda: NOW, vfs=disk.name)
    fail_once(engine, disk, Fault(Act.WRITE, 1, How.FULL, FOR_EVER))
    disk.break_next(None)
    for name in ("a", "b"):
        with pytest.raises(StoreFull):
            put(engine, name)
    assert disk.asked == {}
    engine.close()


def test_a_failure_that_passes_is_counted_and_nobody_notices(disk: FaultyDisk) -> None:
    engine = SqliteEngine(disk.path, now=lambda: NOW, vfs=disk.name)
    put(engine, "before")
    disk.break_next(Fault(Act.WRITE, 1, How.FULL))
    put(engine, "after")
    assert disk.struck == 1
    assert engine.troubles.current is None
    engine.close()


def test_a_damaged_file_is_not_written_until_another_takes_its_place(empty: Image, tmp_path: Path) -> None:
    path, good = write_image(empty, tmp_path / "work.db"), write_image(empty, tmp_path / "good.db")
    damage(path)
    engine = SqliteEngine(path, now=lambda: NOW)
    for name in ("hit", "refused"):
        with pytest.raises(StoreCorrupt, match=r"is damaged.*backup"):
            put(engine, name)
    assert engine.query(lambda tx: 1) == 1
    current = engine.troubles.current
    assert current is not None
    assert current.kind is TroubleKind.CORRUPT
    replace(path, good)
    until_it_writes(engine)
    put(engine, "after")
    assert engine.query(find_job, "after").id == "after"
    engine.close()


def test_who_fails_to_hear_of_a_trouble_keeps_nobody_from_writing(disk: FaultyDisk) -> None:
    def fails() -> None:
        raise RuntimeError("the loop is closed")

    engine = SqliteEngine(disk.path, now=lambda: NOW, vfs=disk.name)
    put(engine, "before")
    engine.troubles.on_alert = fails
    fail_once(engine, disk, Fault(Act.WRITE, 1, How.FULL, FOR_EVER))
    disk.break_next(None)
    until_it_writes(engine)
    put(engine, "after")
    engine.close()


def test_what_others_wrote_meanwhile_is_told_when_writing_works_again(disk: FaultyDisk) -> None:
    told = Event()
    engine = SqliteEngine(disk.path, now=lambda: NOW, vfs=disk.name)
    engine.listen(lambda changes: told.set() if UNKNOWN in changes.topics else None)
    fail_once(engine, disk, Fault(Act.WRITE, 1, How.FULL, FOR_EVER))
    assert engine.troubles.current is not None
    other = SqliteEngine(disk.path, now=lambda: NOW)
    put(other, "elsewhere")
    disk.break_next(None)
    until_it_writes(engine)
    assert told.wait(60)
    for one in (other, engine):
        one.close()


def test_a_file_that_is_gone_is_not_made_anew(disk: FaultyDisk) -> None:
    engine = SqliteEngine(disk.path, now=lambda: NOW, vfs=disk.name)
    put(engine, "before")
    path, away = Path(disk.path), Path(f"{disk.path}.away")
    path.rename(away)
    fail_once(engine, disk, Fault(Act.WRITE, 1, How.FULL, FOR_EVER))
    disk.break_next(None)
    with pytest.raises(HoldfastError):
        put(engine, "refused")
    assert not path.exists()
    away.rename(path)
    until_it_writes(engine)
    put(engine, "after")
    assert engine.query(find_job, "before").id == "before"
    engine.close()


def test_who_has_a_file_open_that_is_replaced_writes_into_the_one_that_took_its_place(
    empty: Image, tmp_path: Path
) -> None:
    path = write_image(empty, tmp_path / "work.db")
    copied(str(path), tmp_path / "backup.db")
    engine = SqliteEngine(path, now=lambda: NOW)
    put(engine, "before")
    restored(str(path), tmp_path / "backup.db", tmp_path / "aside.db")
    put(engine, "after")
    assert engine.query(find_job, "after").id == "after"
    assert not engine.query(lambda tx: tx.rows(sql.known_jobs, ids='["before"]'))
    engine.close()
    found = apsw.Connection(str(path))
    assert found.execute("SELECT id FROM jobs").fetchall() == [("after",)]
    assert found.pragma("journal_mode") == "wal"
    found.close()


@pytest.mark.parametrize("share", [0, 0.5])
def test_a_file_that_takes_the_place_of_another_is_not_written_before_it_is_complete(
    share: float, empty: Image, tmp_path: Path
) -> None:
    path, good = write_image(empty, tmp_path / "work.db"), write_image(empty, tmp_path / "good.db")
    engine = SqliteEngine(path, now=lambda: NOW)
    put(engine, "before")
    whole = good.read_bytes()
    half = whole[: int(len(whole) * share)]
    (tmp_path / "new.db").write_bytes(half)
    replace(path, tmp_path / "new.db")
    for name in ("refused", "refused too"):
        with pytest.raises(StoreUnavailable):
            put(engine, name)
    assert path.read_bytes() == half
    with path.open("ab") as file:
        file.write(whole[len(half) :])
    until_it_writes(engine)
    put(engine, "after")
    assert doctor.examine(engine) == []
    engine.close()


def damage(path: Path) -> None:
    """The page where the table of jobs begins becomes rubbish."""
    connection = apsw.Connection(str(path))
    page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'jobs'").get
    size = connection.execute("PRAGMA page_size").get
    assert isinstance(page, int)
    assert isinstance(size, int)
    connection.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def replace(path: Path, good: Path) -> None:
    """What `holdfast db restore` does."""
    for tail in ("-wal", "-shm"):
        Path(f"{path}{tail}").unlink(missing_ok=True)
    shutil.copy(good, f"{path}.new")
    os.replace(f"{path}.new", path)
