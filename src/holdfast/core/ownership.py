"""Whether another user could change a file or folder that decides what runs here."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from msgspec import Struct

ROOT_UID = 0
BY_GROUP, BY_ALL, STICKY = 0o020, 0o002, 0o1000


class Ownership(Struct, frozen=True):
    """Who a file or folder belongs to, and who may write to it.

    `shared_group` names its group, if the group has other members than the user and root. The mode of a link means
    nothing.
    """

    path: str
    uid: int
    owner: str
    mode: int
    shared_group: str | None = None
    is_link: bool = False


class Exposure(Struct, frozen=True):
    """What another user could change, how, and the command that prevents it."""

    path: str
    how: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path} {self.how}, so others could decide what runs here; first: {self.remedy}"


def exposure(thing: Ownership | None, above: Iterable[Ownership], user: int) -> Exposure | None:
    """How another user could change a thing: itself, or a folder above it, up to the first that others cannot write.

    `above` has the nearest folder first. A thing that is None is not there yet.
    """
    if thing is not None and (found := _exposure(thing, user, may_be_sticky=False)) is not None:
        return found
    for folder in above:
        if (found := _exposure(folder, user, may_be_sticky=True)) is not None:
            return found
        if not folder.mode & (BY_GROUP | BY_ALL):
            return None
    return None


def _exposure(found: Ownership, user: int, *, may_be_sticky: bool) -> Exposure | None:
    name = shlex.quote(found.path)
    if found.uid not in (user, ROOT_UID):
        return Exposure(found.path, f"belongs to {found.owner}", f"chown -h {user} {name} && chmod go-w {name}")
    # In a sticky folder, a user can only replace their own files.
    if found.is_link or (may_be_sticky and found.mode & STICKY):
        return None
    if found.mode & BY_ALL:
        return Exposure(found.path, "can be written by everybody", f"chmod go-w {name}")
    if found.mode & BY_GROUP and found.shared_group is not None:
        how = f"can be written by group {found.shared_group}, which has other members"
        return Exposure(found.path, how, f"chmod g-w {name}")
    return None
