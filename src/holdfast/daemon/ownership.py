"""Checks whether another user could change what a daemon runs: its home, its settings, the files of its apps."""

from __future__ import annotations

import errno
import grp
import importlib.util
import os
import pwd
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.core.ownership import ROOT_UID, Exposure, Ownership, exposure
from holdfast.wire.home import Home

MOST_LINKS = 40


def refuse_exposed(home: Home, settings: Path | None = None, apps: Sequence[str] = ()) -> None:
    """HoldfastError says what another user could change, and how to prevent it."""
    for found in exposures(home, settings, apps):
        raise HoldfastError(str(found))


def exposures(home: Home, settings: Path | None = None, apps: Sequence[str] = ()) -> Iterator[Exposure]:
    """What another user could change, each once."""
    told: set[Exposure] = set()
    files = [file for app in apps if (file := _file_of(app)) is not None]
    for path in (home.folder, *([] if settings is None else [settings]), *files):
        try:
            found = _exposure_of(path)
        except OSError as error:
            raise HoldfastError(f"{path} cannot be examined ({error.strerror})") from error
        if found is not None and found not in told:
            told.add(found)
            yield found


def _exposure_of(path: Path) -> Exposure | None:
    user = os.geteuid()
    for step in _steps(str(path.absolute())):
        thing = _ownership(step, user)
        above = _folders_above(step, user)
        if (found := exposure(thing, above, user)) is not None:
            return found
    return None


def _steps(path: str) -> list[str]:
    """Every link on the way to a file, and the file itself. A user that can replace a link decides where it leads."""
    links: list[str] = []
    at, rest = "/", path.split("/")[::-1]
    while rest:
        part = rest.pop()
        if part in ("", "."):
            continue
        inner = os.path.dirname(at) if part == ".." else os.path.join(at, part)
        if not os.path.islink(inner):
            at = inner
            continue
        links.append(inner)
        if len(links) > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = os.readlink(inner)
        at = "/" if target.startswith("/") else at
        rest += target.split("/")[::-1]
    return [*links, at]


def _folders_above(path: str, user: int) -> Iterator[Ownership]:
    while path != "/":
        path = os.path.dirname(path)
        if (found := _ownership(path, user)) is not None:
            yield found


def _ownership(path: str, user: int) -> Ownership | None:
    """The ownership of a file. None if there is no such file."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Ownership(
        path,
        found.st_uid,
        _name_of(found.st_uid),
        stat.S_IMODE(found.st_mode),
        _shared_group(found.st_gid, user) if found.st_mode & stat.S_IWGRP else None,
        stat.S_ISLNK(found.st_mode),
    )


def _name_of(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _shared_group(gid: int, user: int) -> str | None:
    """The name of a group that has other members than the user and root."""
    everybody = pwd.getpwall()
    ours = {entry.pw_name for entry in everybody if entry.pw_uid in (user, ROOT_UID)}
    try:
        group = grp.getgrgid(gid)
        name, members = group.gr_name, set(group.gr_mem)
    except KeyError:
        name, members = str(gid), set()
    members |= {entry.pw_name for entry in everybody if entry.pw_gid == gid}
    return name if members - ours else None


def _file_of(app: str) -> Path | None:
    """The file that a worker loads an app from. None if that is not known. Nothing is imported."""
    where = app.partition(":")[0]
    if where.endswith(".py"):
        return Path(where)
    folders: Iterable[str] | None = [*_present_folder(), *sys.path]  # A worker looks there first.
    spec, names = None, where.split(".")
    for number in range(1, len(names) + 1):
        if folders is None:
            return None
        name = ".".join(names[:number])
        spec = PathFinder.find_spec(name, list(folders)) or (_installed(name) if number == 1 else None)
        folders = None if spec is None else spec.submodule_search_locations
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _present_folder() -> list[str]:
    try:
        return [os.getcwd()]
    except OSError:
        return []  # It was removed.


def _installed(name: str) -> importlib.machinery.ModuleSpec | None:
    """The file of a module that a finder of its own knows, such as that of an editable install."""
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
