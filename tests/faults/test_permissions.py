"""Files and folders that may not be written: a clear error that says which, and the database as it was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.story import Story, states_of

TRY_TO_WRITE = """
import json, sys
from holdfast.core.errors import HoldfastError
from holdfast.core.jobs.requests import NewJob
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.sqlite.engine import SqliteEngine

engine = SqliteEngine(sys.argv[1], now=lambda: 1)
try:
    engine.submit(enqueue, [NewJob(id="new", task="work")], 1).result()
    print(json.dumps(["written", ""]))
except HoldfastError as error:
    print(json.dumps([type(error).__name__, str(error)]))
engine.close()
"""


def write_as_anybody(path: Path) -> tuple[str, str]:
    """What somebody hears who has no special rights; root is given up where it is had."""
    command = [sys.executable, "-c", TRY_TO_WRITE, str(path)]
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root may write everywhere, and there is no setpriv to stop it")
        command = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    kind, message = json.loads(done.stdout)
    return kind, message


def close_file(path: Path) -> None:
    path.chmod(0o444)


def hide_file(path: Path) -> None:
    path.chmod(0)


def close_folder(path: Path) -> None:
    path.parent.chmod(0o555)


def close_folder_without_locks(path: Path) -> None:
    shutil.rmtree(f"{path}-locks")
    path.parent.chmod(0o555)


def close_locks(path: Path) -> None:
    locks = Path(f"{path}-locks")
    for file in locks.iterdir():
        file.unlink()
    locks.chmod(0o555)


@pytest.mark.parametrize(
    ("forbid", "says"),
    [
        (close_file, "work.db is read-only; make the file and its folder writable"),
        (hide_file, "work.db cannot be opened"),
        (close_folder, "work.db is read-only; make the file and its folder writable"),
        (close_folder_without_locks, "work.db-locks cannot be used (Permission denied); make the folder writable"),
        (close_locks, "work.db-locks cannot be used (Permission denied); make the folder writable"),
    ],
)
def test_what_may_not_be_written_is_named_and_left_alone(
    forbid: Callable[[Path], None], says: str, tmp_path: Path
) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    path = folder / "work.db"
    states_of((Story.enqueue_one,), path)
    before = path.read_bytes()
    forbid(path)
    kind, message = write_as_anybody(path)
    folder.chmod(0o755)
    path.chmod(0o644)
    assert (kind, says in message) == ("StoreUnavailable", True), message
    assert path.read_bytes() == before


def test_the_same_file_can_be_written_when_nothing_forbids_it(tmp_path: Path) -> None:
    states_of((), tmp_path / "work.db")
    assert write_as_anybody(tmp_path / "work.db") == ("written", "")
