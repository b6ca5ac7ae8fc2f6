"""A script that is named and not imported is imported before its transaction begins, so that nobody waits for that."""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

import pytest

from holdfast.store import script_names
from holdfast.store.engine import Engine
from holdfast.store.script_names import Script

MODULE = "tests.store.late_script"


@pytest.fixture
def script() -> Script:
    """One that nobody has imported."""
    sys.modules.pop(MODULE, None)
    return Script(MODULE, "where_imported")


def test_the_caller_imports_what_it_writes_with(engine: Engine, script: Script) -> None:
    assert engine.submit(script).result() == threading.current_thread().name


def test_a_file_that_is_no_script_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = script_names._folders()
    copy = shutil.copytree(Path(script_names.__file__).parent, tmp_path / "store", ignore=shutil.ignore_patterns("sql"))
    for stray in (".DS_Store", "notes.txt", "jobs/enqueue.py~", "jobs/.#enqueue.py", "jobs/enqueue 2.py"):
        (copy / "scripts" / stray).touch()
    monkeypatch.setattr(script_names, "__file__", str(copy / "script_names.py"))
    assert script_names._folders.__wrapped__() == found
