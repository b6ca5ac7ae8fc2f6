"""A folder of this user in the system's folder for temporary files, which all users share."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from holdfast.core.errors import StoreUnavailable
from holdfast.private_files import make_private_folder
from holdfast.store.forks import occupancy

_INSTEAD = "set TMPDIR to a folder of your own"


def own_folder(name: str) -> Path:
    """The folder of this user with this name, made if it is missing.

    Any user may make a folder of any name there. StoreUnavailable: it is not ours, or others can write to it.
    """
    with occupancy:  # A fork waits. Python holds a lock while it looks for the folder, and a child would keep it.
        folder = Path(tempfile.gettempdir()) / f"{name}-{os.getuid()}"
    try:
        make_private_folder(folder)
        found = folder.lstat()
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be made ({error.strerror}); {_INSTEAD}") from error
    if not stat.S_ISDIR(found.st_mode):
        raise StoreUnavailable(f"{folder} is not a folder; remove it, or {_INSTEAD}")
    if found.st_uid != os.geteuid():
        raise StoreUnavailable(f"{folder} belongs to another user (uid {found.st_uid}); remove it, or {_INSTEAD}")
    if found.st_mode & stat.S_IWOTH:
        raise StoreUnavailable(f"{folder} can be written by everybody; first: chmod 700 {folder}, or {_INSTEAD}")
    return folder
