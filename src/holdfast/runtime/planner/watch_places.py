"""Whether the place of a watch is there, and can be watched."""

from __future__ import annotations

import os

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.values.watch import WatchKind
from holdfast.core.watching.new_watch import NewWatch
from holdfast.runtime.planner.repository import NoRepository, Repository
from holdfast.runtime.planner.tree import FolderGone


def check_place(watch: NewWatch) -> None:
    """Refuse a place that can never be watched so: a file, or a folder that is no git repository."""
    path = watch.path
    if not os.path.exists(path):
        return
    if not os.path.isdir(path):
        folder, name = os.path.split(path)
        raise InvalidInput(
            f"path {limits.shown(path)} is not valid: it is not a folder; watch {limits.shown(folder)} with "
            f"the glob {limits.shown(name)}"
        )
    if watch.kind == WatchKind.GIT:
        try:
            Repository(path).folders()
        except NoRepository:
            raise InvalidInput(
                f"path {limits.shown(path)} is not a git repository; give its topmost folder, or watch the "
                "files of the folder"
            ) from None
        except FolderGone:
            pass  # It cannot be read now. The watch says so itself.


def absent(kind: str, path: str) -> str | None:
    """The message about a place that is not there yet."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        what = "repository" if kind == WatchKind.GIT else "folder"
        return f"the {what} {path} is not there yet; it is watched once it appears"
    except (OSError, ValueError):
        return None
    return None
