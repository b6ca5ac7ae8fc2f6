"""Reads from the file system whether another user could change a file or folder."""

from __future__ import annotations

import errno
import functools
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from holdfast.core.machine import ownership
from holdfast.core.machine.ownership import ROOT_UID, Exposure, Ownership

MOST_LINKS = 40
# The owner of all that belongs to nobody known here: in a container without root, to root.
OVERFLOW_UID = Path("/proc/sys/kernel/overflowuid")


class Examiner:
    """Examines paths, one after the other. What it has read of a folder counts for all that lie in it."""

    def __init__(self) -> None:
        self._user = os.geteuid()
        self._ownerships: dict[str, Ownership | None] = {}
        self._groups: dict[int, str | None] = {}

    def exposure_of(self, path: Path) -> Exposure | None:
        """How another user could change what is at a path, or put something else there."""
        for step in self._steps(str(path.absolute())):
            above = (found for folder in _folders_above(step) if (found := self._ownership(folder)) is not None)
            exposed = ownership.exposure(self._ownership(step), above, self._user, _roots())
            if exposed is not None:
                return exposed
        return None

    def _steps(self, path: str) -> list[str]:
        """Every link on the way to a file, and the file itself. Who can replace a link decides where it leads."""
        links: list[str] = []
        at, rest = "/", path.split("/")[::-1]
        while rest:
            part = rest.pop()
            if part in ("", "."):
                continue
            inner = os.path.dirname(at) if part == ".." else os.path.join(at, part)
            found = self._ownership(inner)
            if found is None or not found.is_link:
                at = inner
                continue
            links.append(inner)
            if len(links) > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = os.readlink(inner)
            at = "/" if target.startswith("/") else at
            rest += target.split("/")[::-1]
        return [*links, at]

    def _ownership(self, path: str) -> Ownership | None:
        """The ownership of a file. None if there is no such file."""
        if path not in self._ownerships:
            self._ownerships[path] = self._read(path)
        return self._ownerships[path]

    def _read(self, path: str) -> Ownership | None:
        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Ownership(
            path,
            found.st_uid,
            _name_of(found.st_uid),
            stat.S_IMODE(found.st_mode),
            self._shared_group(found.st_gid) if found.st_mode & stat.S_IWGRP else None,
            stat.S_ISLNK(found.st_mode),
        )

    def _shared_group(self, gid: int) -> str | None:
        if gid not in self._groups:
            self._groups[gid] = _shared_group(gid, self._user)
        return self._groups[gid]


def _folders_above(path: str) -> Iterator[str]:
    while path != "/":
        path = os.path.dirname(path)
        yield path


@functools.cache
def _roots() -> tuple[int, ...]:
    """The ids of root. A container that does not know root shows what belongs to root, such as `/`, by another id."""
    owner = os.lstat("/").st_uid
    try:
        is_nobody = owner == int(OVERFLOW_UID.read_text())
    except (OSError, ValueError):
        is_nobody = False
    return (ROOT_UID, owner) if is_nobody else (ROOT_UID,)


@functools.lru_cache(maxsize=100)
def _name_of(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _shared_group(gid: int, user: int) -> str | None:
    """The name of a group that has other members than the user and root."""
    everybody = pwd.getpwall()
    ours = {entry.pw_name for entry in everybody if entry.pw_uid in (user, *_roots())}
    try:
        group = grp.getgrgid(gid)
        name, members = group.gr_name, set(group.gr_mem)
    except KeyError:
        name, members = str(gid), set()
    members |= {entry.pw_name for entry in everybody if entry.pw_gid == gid}
    return name if members - ours else None
