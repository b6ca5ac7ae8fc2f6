"""Checks whether another user could change what a daemon runs: its home, its settings, the code of its apps."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.core.machine.ownership import Exposure
from holdfast.runtime.exposed_paths import Examiner
from holdfast.wire.home import Home

MOST_FOLDERS = 50_000


def refuse_exposed(home: Home, settings: Path | None = None, apps: Sequence[str] = ()) -> None:
    """HoldfastError says what another user could change, and how to prevent it."""
    for found in exposures(home, settings, apps):
        raise HoldfastError(str(found))


def exposures(home: Home, settings: Path | None = None, apps: Sequence[str] = ()) -> Iterator[Exposure]:
    """What another user could change, each once."""
    told: set[Exposure] = set()
    examiner = Examiner()
    for path in _paths(home, settings, apps, examiner):
        found = _examine(path, examiner)
        if found is not None and found not in told:
            told.add(found)
            yield found


def _paths(home: Home, settings: Path | None, apps: Sequence[str], examiner: Examiner) -> Iterator[Path]:
    """The files and folders that decide what runs."""
    yield home.folder
    if settings is not None:
        yield settings
    if apps:
        yield from _folders_of_python()
    for app in apps:
        yield from _code_of(app, examiner)


def _examine(path: Path, examiner: Examiner) -> Exposure | None:
    try:
        return examiner.exposure_of(path)
    except OSError as error:
        raise HoldfastError(f"{path} cannot be examined ({error.strerror})") from error


def _folders_of_python() -> Iterator[Path]:
    """The folders that PYTHONPATH names, in which a worker looks for every module. An empty name is the present one."""
    if named := os.environ.get("PYTHONPATH"):
        yield from map(Path, named.split(os.pathsep))


def _code_of(app: str, examiner: Examiner) -> Iterator[Path]:
    """The file that a worker loads an app from, and the folders of its package. Nothing if that is not known.

    Nothing is imported.
    """
    where = app.partition(":")[0]
    if where.endswith(".py"):
        yield Path(where)
        return
    package, *inner = where.split(".")
    spec = PathFinder.find_spec(package, [*_present_folder(examiner), *sys.path]) or _installed(package)
    yield from _packages_in(package, _folders_of(spec))
    for name in inner:
        # Alone, not behind the name of its package: that would have to be imported.
        spec = PathFinder.find_spec(name, _folders_of(spec))
    if spec is not None and spec.has_location and spec.origin:
        yield Path(spec.origin)


def _folders_of(package: ModuleSpec | None) -> list[str]:
    return [] if package is None else list(package.submodule_search_locations or ())


def _packages_in(package: str, folders: Iterable[str]) -> Iterator[Path]:
    """These folders, and all below them that can hold modules: whoever may write there can add or replace one."""
    waiting, count = list(folders), 0
    while waiting:
        folder = waiting.pop()
        yield Path(folder)
        count += 1
        if count > MOST_FOLDERS:
            raise HoldfastError(
                f"package {package!r} has more than {MOST_FOLDERS} folders below it, too many to examine; move what is "
                "no code out of it"
            )
        # What cannot be listed, Python cannot list either.
        with suppress(OSError), os.scandir(folder) as entries:
            waiting += [entry.path for entry in entries if entry.name.isidentifier() and _is_folder(entry)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _present_folder(examiner: Examiner) -> list[str]:
    """The present folder, if a worker looks there too."""
    try:
        folder = os.getcwd()
    except OSError:
        return []  # It was removed.
    return [] if _examine(Path(folder), examiner) is not None else [folder]


def _installed(name: str) -> ModuleSpec | None:
    """The file of a module that a finder of its own knows, such as that of an editable install."""
    try:
        return importlib.util.find_spec(name)
    except Exception:  # A finder may be anybody's code.
        return None
