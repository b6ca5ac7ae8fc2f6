"""A module of tasks, loaded anew for each test on a database of its own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def loaded_anew(name: str) -> Iterator[Any]:
    """The module `name`. At the end its `hf` is stopped, and its database has to be sound."""
    sys.modules.pop(name, None)
    module = importlib.import_module(name)
    yield module
    module.hf.stop(short=0, grace=30)
    found = module.hf.doctor()
    module.hf.close()
    sys.modules.pop(name, None)
    assert found == []
