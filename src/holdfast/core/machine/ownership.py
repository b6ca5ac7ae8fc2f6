"""Whether another user could change a file or folder that decides what runs here."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable

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


def exposure(
    thing: Ownership | None, above: Iterable[Ownership], user: int, roots: Collection[int] = (ROOT_UID,)
) -> Exposure | None:
    """How another user could change a thing: itself, or any folder above it, whose owner could rename what is in it.

    `above` has the nearest folder first. A thing that is None is not there yet. `roots` are the ids of root.
    """
    trusted = {user, *roots}
    if thing is not None and (found := _exposure(thing, user, trusted, may_be_sticky=False)) is not None:
        return found
    exposures = (_exposure(folder, user, trusted, may_be_sticky=True) for folder in above)
    return next((found for found in exposures if found is not None), None)


def _exposure(found: Ownership, user: int, trusted: Collection[int], *, may_be_sticky: bool) -> Exposure | None:
    name = shlex.quote(found.path)
    if found.uid not in trusted:
        return Exposure(found.path, f"belongs to {found.owner}", f"chown -h {user} {name} && chmod go-w {name}")
    # In a sticky folder, a user can only replace their own files.
    if found.is_link or (may_be_sticky and found.mode & STICKY):
        return None
    # A sticky folder is meant for many users, like /tmp.
    elsewhere = "use a folder that only you can write to" if found.mode & STICKY else None
    if found.mode & BY_ALL:
        return Exposure(found.path, "can be written by everybody", elsewhere or f"chmod go-w {name}")
    if found.mode & BY_GROUP and found.shared_group is not None:
        how = f"can be written by group {found.shared_group}, which has other members"
        return Exposure(found.path, how, elsewhere or f"chmod g-w {name}")
    return None
