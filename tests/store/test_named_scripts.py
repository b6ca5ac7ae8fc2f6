"""A script that is named and not imported is imported before its transaction begins, so that nobody waits for that."""

from __future__ import annotations

import sys
import threading

import pytest

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
