"""Removes a folder with all that is in it, however deep it is.

Every folder inside is moved to the top, under a new name, before it is emptied. So nothing is ever more than two levels
deep: there is no recursion, no path that is too long, and two folders are open at a time. Links are removed and never
followed. A mount point cannot be moved, so what is mounted there stays.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import suppress

from holdfast.private_files import OWNER_ONLY_FOLDER
from holdfast.store.file_walk import FOLDER

# A folder is read again after things were removed from it, as some file systems pass over others meanwhile.
_MOST_READINGS = 10


def remove_folder(name: str, parent: int, should_stop: Callable[[], bool]) -> bool:
    """Remove a folder of an open one. Return whether it is gone: not if it should stop before.

    OSError tells the first thing that could not be removed. What could be is gone all the same.
    """
    top = _open_own(name, parent)
    try:
        before = os.fstat(top)
        emptying = _Emptying(top, should_stop)
        try:
            is_done = emptying.work()
        finally:
            # So that what is left still counts as old.
            with suppress(OSError):
                os.utime(top, ns=(before.st_atime_ns, before.st_mtime_ns))
    finally:
        os.close(top)
    if emptying.problem is not None:
        raise emptying.problem
    if is_done:
        os.rmdir(name, dir_fd=parent)
    return is_done


class _Emptying:
    """Empties the folder `top`. `problem` is the first thing that could not be removed."""

    def __init__(self, top: int, should_stop: Callable[[], bool]) -> None:
        self.problem: OSError | None = None
        self._top = top
        self._should_stop = should_stop
        self._prefix = f".removed-{secrets.token_hex(8)}-"
        # Moved folders are numbered, so that their names take no memory.
        self._moved = 0

    def work(self) -> bool:
        """Remove all that can be removed. False: it stopped before."""
        self._empty(self._top)
        number = 0
        while number < self._moved:
            if self._should_stop():
                return False
            self._remove_moved(f"{self._prefix}{number}")
            number += 1
        return True

    def _remove_moved(self, name: str) -> None:
        try:
            folder = _open_own(name, self._top)
            try:
                self._empty(folder)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=self._top)
        except OSError as error:
            self._note(error)

    def _empty(self, folder: int) -> None:
        """Remove the files of a folder, and move its folders to the top."""
        for _ in range(_MOST_READINGS):
            if not self._read_and_empty(folder):
                return

    def _read_and_empty(self, folder: int) -> bool:
        """Return whether anything could be removed."""
        has_changed = False
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(self._prefix):
                    continue
                try:
                    if entry.is_dir(follow_symlinks=False):
                        self._move(entry.name, folder)
                    else:
                        os.unlink(entry.name, dir_fd=folder)
                    has_changed = True
                except FileNotFoundError:
                    continue
                except OSError as error:
                    self._note(error)
        return has_changed

    def _move(self, name: str, folder: int) -> None:
        new_name = f"{self._prefix}{self._moved}"
        try:
            os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=self._top)
        except PermissionError:
            # Who moves a folder writes into it, too: what is above it changes.
            _allow_all(name, folder)
            os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=self._top)
        self._moved += 1

    def _note(self, error: OSError) -> None:
        self.problem = self.problem or error


def _open_own(name: str, parent: int) -> int:
    """Open a folder and give its owner, who we are, all rights for it: a job may have taken them."""
    try:
        folder = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    except PermissionError:
        _allow_all(name, parent)
        folder = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    if stat.S_IMODE(os.fstat(folder).st_mode) & OWNER_ONLY_FOLDER != OWNER_ONLY_FOLDER:
        # If it is not ours, what is in it may be removed all the same, or the error is told there.
        with suppress(OSError):
            os.fchmod(folder, OWNER_ONLY_FOLDER)
    return folder


def _allow_all(name: str, parent: int) -> None:
    """Give the owner of a folder all rights for it. A link is not followed."""
    if sys.platform != "linux":
        os.chmod(name, OWNER_ONLY_FOLDER, dir_fd=parent, follow_symlinks=False)
        return
    folder = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        # A descriptor of this kind is only good for a way through /proc.
        os.chmod(f"/proc/self/fd/{folder}", OWNER_ONLY_FOLDER)
    finally:
        os.close(folder)
