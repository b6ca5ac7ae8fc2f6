"""Who else may write near the program of a daemon decides nothing about what runs there."""

from __future__ import annotations

import os
import queue
import sys
from pathlib import Path

import pytest

from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House, Process

STRANGER = 54_321
TASKS = """
import queue
from holdfast import Holdfast
hf = Holdfast()

@hf.task
def where() -> str:
    return queue.__file__

@hf.task(subprocess=True)
def where_in_a_process() -> str:
    return queue.__file__
"""


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder like /tmp: anybody may add files, and nobody may touch those of others."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    return shared


def plant(folder: Path) -> None:
    """Add a module with a name of the standard library, as another user."""
    (folder / "queue.py").write_text("raise SystemExit('this was planted')\n")
    if os.geteuid() == 0:
        os.chown(folder / "queue.py", STRANGER, STRANGER)


def up_in(house: House, folder: Path, *words: str) -> Process:
    """Start a daemon, with a present folder."""
    house.settings("")
    command = ("sh", "-c", 'cd "$0" && exec "$@"', str(folder), sys.executable, "-P", "-m", "holdfast.cli", "up")
    daemon = house.start(*command, *words)
    until(lambda: house.is_ready or not daemon.is_running, "the daemon is ready")
    return daemon


def test_a_module_beside_the_program_in_a_shared_folder_is_not_imported(house: House, shared: Path) -> None:
    (shared / "tasks.py").write_text(TASKS)
    plant(shared)
    daemon = up_in(house, shared, "--app", f"{shared}/tasks.py")
    assert house.enqueue("where").result(PATIENCE_S) == queue.__file__
    assert house.enqueue("where_in_a_process").result(PATIENCE_S) == queue.__file__
    house.down(daemon)


def test_a_program_that_is_only_in_a_shared_folder_is_not_found_and_the_error_says_why(
    house: House, shared: Path
) -> None:
    (shared / "tasks_of_mine.py").write_text(TASKS)
    daemon = up_in(house, shared, "--app", "tasks_of_mine:hf")
    why = (
        f"app 'tasks_of_mine': No module named 'tasks_of_mine'; {shared} is not searched: {shared} can be written by "
        "everybody, so others could decide what runs here; first: use a folder that only you can write to"
    )
    until(lambda: why in daemon.said(), "the log says why")
    house.down(daemon)


def test_the_present_folder_comes_first_and_stays_the_one_of_the_start(house: House, tmp_path: Path) -> None:
    (tmp_path / "colorsys.py").write_text("")  # A name of the standard library.
    tasks = TASKS.replace("return queue.__file__", "import colorsys; return colorsys.__file__")
    (tmp_path / "tasks_of_mine.py").write_text(f"import os\nos.chdir('/')\n{tasks}")
    daemon = up_in(house, tmp_path, "--app", "tasks_of_mine:hf")
    assert house.enqueue("where").result(PATIENCE_S) == str(tmp_path / "colorsys.py")
    assert house.enqueue("where_in_a_process").result(PATIENCE_S) == str(tmp_path / "colorsys.py")
    house.down(daemon)


def test_a_worker_is_not_started_while_others_could_change_its_program(house: House, tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "tasks.py").write_text(TASKS)
    daemon = house.up("--app", f"{folder}/tasks.py")
    first = house.worker()
    assert house.enqueue("where").result(PATIENCE_S)
    folder.chmod(0o777)
    os.kill(first.pid, 9)
    why = f"was not started: {folder} can be written by everybody, so others could decide what runs here; first: chmod"
    until(lambda: f"worker app-1 {why}" in daemon.said(), "the log says why")
    until(lambda: why in doctor(house), "the doctor says it too")
    assert house.occupant("app-1") is None
    assert "worker_not_started" in daemon.events()
    folder.chmod(0o755)
    assert house.enqueue("where").result(PATIENCE_S)
    house.down(daemon)


def doctor(house: House) -> str:
    """What `holdfast doctor` prints."""
    asked = house.run("doctor")
    asked.wait()
    return asked.said()
