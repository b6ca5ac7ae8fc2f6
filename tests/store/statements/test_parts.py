"""A copy that nobody will complete is removed, and one in the making is left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.store.sqlite import database_file
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.sqlite.maintenance import FileMaintenance
from holdfast.store.sqlite.parts import part_of, remove_dead_parts
from holdfast.store.sqlite.write_lock import locks_of

HALF_A_COPY = """
import sys, time
from pathlib import Path
from holdfast.store.sqlite import database_file

def tell(done, total):
    print("half", flush=True)
    time.sleep(600)

database_file.copied(sys.argv[1], Path(sys.argv[2]), tell)
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    engine = SqliteEngine(tmp_path / "work.db", now=lambda: 1)
    engine.open()
    engine.close()
    return str(tmp_path / "work.db")


def parts(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]


def killed_copy(path: str, target: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HALF_A_COPY, path, str(target)], stdout=subprocess.PIPE) as copying:
        assert copying.stdout is not None
        assert copying.stdout.readline() == b"half\n"
        assert len(parts(target.parent)) == 1
        # One that lives is left alone.
        remove_dead_parts(locks_of(path), target)
        assert len(parts(target.parent)) == 1
        os.kill(copying.pid, signal.SIGKILL)
    assert len(parts(target.parent)) == 1


@pytest.mark.processes
def test_the_next_copy_removes_what_a_killed_one_left_wherever_that_was(path: str, tmp_path: Path) -> None:
    (tmp_path / "monday").mkdir()
    killed_copy(path, tmp_path / "monday" / "copy.db")
    database_file.copied(path, tmp_path / "tuesday.db")
    assert parts(tmp_path / "monday") == []
    assert [found.name for found in locks_of(path).iterdir() if found.name.startswith("copy-")] == []


@pytest.mark.processes
def test_maintenance_removes_it_too(path: str, tmp_path: Path) -> None:
    killed_copy(path, tmp_path / "copy.db")
    FileMaintenance(path).empty_log()
    assert parts(tmp_path) == []


def test_what_an_earlier_version_left_is_removed_by_a_copy_of_the_same_name(path: str, tmp_path: Path) -> None:
    (tmp_path / ".copy.db.4711.part").touch()
    (tmp_path / ".other.db.4711.part").touch()
    database_file.copied(path, tmp_path / "copy.db")
    assert parts(tmp_path) == [".other.db.4711.part"]


def test_a_copy_in_the_making_is_seen_as_such_by_another_of_the_same_name(path: str, tmp_path: Path) -> None:
    with part_of(tmp_path / "copy.db", locks_of(path)) as part:
        database_file.copied(path, tmp_path / "copy.db")
        assert part.exists()
    assert parts(tmp_path) == []


def test_a_copy_that_fails_leaves_nothing(path: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), part_of(tmp_path / "copy.db", locks_of(path)):
        raise RuntimeError
    assert parts(tmp_path) == []
    assert [found.name for found in locks_of(path).iterdir() if found.name.startswith("copy-")] == []
