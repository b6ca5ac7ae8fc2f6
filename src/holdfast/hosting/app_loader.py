"""Finds the `Holdfast` of an app: `package.module:name`, or `path/to/file.py:name`."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from holdfast.core.errors import InvalidInput
from holdfast.hosting.app import App

log = logging.getLogger("holdfast.worker")


def load(name: str) -> App[Any]:
    """Import the app. InvalidInput says what is wrong with its name, or with its code."""
    where, _, attribute = name.partition(":")
    try:
        module = _from_file(Path(where)) if where.endswith(".py") else _from_path(where)
    except InvalidInput:
        raise
    except (Exception, SystemExit) as error:
        log.exception("app %r cannot be loaded", name)
        raise InvalidInput(f"app {name!r} cannot be loaded: {type(error).__name__}: {error}{_place(error)}") from error
    found = getattr(module, attribute or "hf", None)
    if not isinstance(found, App):
        raise InvalidInput(f"app {name!r}: {where} has no Holdfast called {attribute or 'hf'!r}; name it {where}:NAME")
    return found


def _place(error: BaseException) -> str:
    """The line of the user's code that raised the error."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return f" ({last.filename}, line {last.lineno})"


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InvalidInput(f"app {str(path)!r}: there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.absolute()))
    spec.loader.exec_module(module)
    return module


def _from_path(name: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InvalidInput(f"app {name!r}: {error}") from error
