"""A faulty disk, and an engine whose WAL is moved into the database all the time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store.sqlite import checkpoint, writer
from holdfast.store.sqlite.engine import SqliteEngine
from tests.faults.crash_image import Image, read_image
from tests.faults.faulty_vfs import FaultyDisk, NewDisk
from tests.faults.story import NOW, states_of
from tests.store.acts import execute


@pytest.fixture
def new_disk() -> Iterator[NewDisk]:
    """Makes the disk of a database file; taken out of SQLite's list at the end."""
    disks: list[FaultyDisk] = []

    def make(path: Path) -> FaultyDisk:
        disks.append(FaultyDisk(str(path)))
        return disks[-1]

    yield make
    for disk in disks:
        disk.close()


@pytest.fixture
def eager_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """The WAL is moved into the database after nearly every call, and cut short after a few."""
    monkeypatch.setattr(checkpoint, "CHECKPOINT_PAGES", 8)
    monkeypatch.setattr(checkpoint, "TRUNCATE_PAGES", 24)


@pytest.fixture
def one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits in the mailbox is one transaction, however slow the machine is."""
    monkeypatch.setattr(writer, "SLICE_S", 60.0)


@pytest.fixture
def empty(tmp_path: Path) -> Image:
    """A database without jobs."""
    states_of((), tmp_path / "empty.db")
    return read_image(tmp_path / "empty.db")


@pytest.fixture
def older(tmp_path: Path) -> Image:
    """A database that an older program made."""
    engine = SqliteEngine(tmp_path / "older.db", now=lambda: NOW, migrate_to=2)
    # The statement alone: what a pause means to others is asked of columns that came later.
    execute(
        engine, "INSERT INTO queues (name, paused_at, pause_reason) VALUES ('default', :now, 'for a while')", now=NOW
    )
    engine.close()
    return read_image(tmp_path / "older.db")
