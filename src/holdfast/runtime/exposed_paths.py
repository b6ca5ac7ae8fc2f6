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

from holdfast.core.ownership import ROOT_UID, Exposure, Ownership, exposure

MOST_LINKS = 40
# The owner of all that belongs to nobody known here: in a container without root, to root.
OVERFLOW_UID = Path("/proc/sys/kernel/overflowuid")


def exposure_of(path: Path) -> Exposure | None:
    """How another user could change what is at a path, or put something else there."""
    user = os.geteuid()
    for step in _steps(str(path.absolute())):
        thing = _ownership(step, user)
        above = _folders_above(step, user)
        if (found := exposure(thing, above, user, _roots())) is not None:
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


@functools.cache
def _roots() -> tuple[int, ...]:
    """The ids of root. A container that does not know root shows what belongs to root, such as `/`, by another id."""
    owner = os.lstat("/").st_uid
    try:
        is_nobody = owner == int(OVERFLOW_UID.read_text())
    except (OSError, ValueError):
        is_nobody = False
    return (ROOT_UID, owner) if is_nobody else (ROOT_UID,)


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
