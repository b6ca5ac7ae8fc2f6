"""Finds the `Holdfast` of an app: `package.module:name`, or `path/to/file.py:name`.

Modules are looked for first in the present folder, or in that of the file, unless another user could add some there.
"""

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
from holdfast.hosting.task_host import TaskHost
from holdfast.runtime.exposed_paths import Examiner

PACKAGE = str(Path(__file__).parents[1])

log = logging.getLogger("holdfast.worker")


def load(name: str) -> TaskHost[Any]:
    """Import the app. InvalidInput says what is wrong with its name, or with its code."""
    where, _, attribute = name.partition(":")
    file = Path(where) if where.endswith(".py") else None
    if file is not None and not file.is_file():
        raise InvalidInput(f"app {where!r}: there is no such file")
    if file is None and not all(part.isidentifier() for part in where.split(".")):
        raise InvalidInput(f"app {name!r} is not valid: give package.module or path/to/file.py, and :NAME if not hf")
    left_out = _search_first(file)
    try:
        module = importlib.import_module(where) if file is None else _from_file(file)
    except (Exception, SystemExit) as error:
        hint = f"; {left_out}" if left_out is not None and isinstance(error, ModuleNotFoundError) else ""
        if file is None and isinstance(error, ModuleNotFoundError) and f"{where}.".startswith(f"{error.name}."):
            raise InvalidInput(f"app {where!r}: {error}{hint}") from error
        log.exception("app %r cannot be loaded", name)
        said = f"{type(error).__name__}: {error}{_place(error)}{hint}"
        raise InvalidInput(f"app {name!r} cannot be loaded: {said}") from error
    found = getattr(module, attribute or "hf", None)
    if not isinstance(found, TaskHost):
        raise InvalidInput(f"app {name!r}: {where} has no Holdfast called {attribute or 'hf'!r}; name it {where}:NAME")
    return found


def _place(error: BaseException) -> str:
    """The last line of the user's code on the way to the error, if its own text does not say it."""
    if isinstance(error, SyntaxError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not frame.filename.startswith(("<", PACKAGE))]
    last = users[-1] if users else frames[-1]
    return f" ({last.filename}, line {last.lineno})"


def _search_first(file: Path | None) -> str | None:
    """Look for modules first in the folder of a file, or in the present one. Return why not, if that is left out."""
    try:
        folder = Path.cwd() if file is None else file.parent.absolute()
        exposure = Examiner().exposure_of(folder)
    except OSError as error:  # It was removed.
        return f"the present folder is not searched ({error.strerror})"
    if exposure is None:
        sys.path.insert(0, str(folder))
        return None
    said = f"{folder} is not searched: {exposure}"
    log.warning("modules in %s", said)
    return said


def _from_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
