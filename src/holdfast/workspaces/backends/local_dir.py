"""Homes in a folder of this machine.

The folder of all homes has a marker file. Without it, nobody knows whether a home is gone: the disk may not be mounted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from holdfast.core.job import RunId
from holdfast.private_files import OWNER_ONLY_FOLDER, make_private, make_private_folder
from holdfast.store.removal import remove_folder
from holdfast.workspaces.backends.protocols import BackendFailed, HomeNames, HomesMissing, SeenHome

MARKER = ".holdfast-homes"


class LocalDir:
    """The homes in one folder, each a folder in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def observe(self, homes: Mapping[str, HomeNames]) -> dict[str, SeenHome]:
        """What is there of these homes. Without the marker nothing is known, unless there never was a home."""
        found = self._folders()
        if found is None:
            if any(names.volume is not None for names in homes.values()):
                return {}
            found = set()
        return {workspace_id: _seen(names, found) for workspace_id, names in homes.items()}

    def create(self, names: HomeNames, run_id: RunId, *, is_first: bool) -> tuple[str, str]:
        """Make a new, empty home of this try."""
        volume = f"{names.key}-{run_id}"
        try:
            if is_first:
                self._begin()
            self._check_marker()
            path = self.folder / volume
            with suppress(FileExistsError):  # A repeat of this try.
                path.mkdir(OWNER_ONLY_FOLDER)
            _sync(path)
            _sync(self.folder)
        except OSError as error:
            raise BackendFailed(f"the home {self.folder / volume} cannot be made: {error.strerror}") from error
        return volume, str(path)

    def path(self, volume: str) -> str:
        """Where a home is."""
        return str(self.folder / volume)

    def discard(self, volume: str) -> None:
        """Remove one folder, as far as that can be done."""
        with suppress(OSError):
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _remove(volume, folder, lambda: None)
            finally:
                os.close(folder)

    def delete(self, names: HomeNames, check: Callable[[], None]) -> None:
        """Remove every folder of a workspace."""
        if names.volume is None and not self.folder.exists():
            return  # There never was a home.
        self._check_marker()
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise HomesMissing(f"the folder {self.folder} cannot be opened: {error.strerror}") from error
        try:
            for name in sorted(self._folders() or ()):
                if name.startswith(f"{names.key}-"):
                    _remove(name, folder, check)
            os.fsync(folder)
        except OSError as error:
            raise BackendFailed(f"a home in {self.folder} cannot be removed: {error}") from error
        finally:
            os.close(folder)

    def _begin(self) -> None:
        """Make the folder of all homes. One that has homes without a marker is another one."""
        make_private_folder(self.folder)
        marker = self.folder / MARKER
        if not marker.exists():
            with suppress(FileExistsError):
                make_private(marker)
            _sync(self.folder)

    def _check_marker(self) -> None:
        if not (self.folder / MARKER).exists():
            raise HomesMissing(
                f"the folder of all homes, {self.folder}, is not there or has no file {MARKER}; is its disk mounted?"
            )

    def _folders(self) -> set[str] | None:
        """The names of what is in the folder. None without the marker."""
        try:
            found = set(os.listdir(self.folder))
        except OSError:
            return None
        return found if MARKER in found else None


def _seen(names: HomeNames, found: set[str]) -> SeenHome:
    own = {name for name in found if name.startswith(f"{names.key}-")}
    return SeenHome(names.volume in own, bool(own - {names.volume}))


def _remove(name: str, folder: int, check: Callable[[], None]) -> None:
    def is_asked_to_stop() -> bool:
        try:
            check()
        except BaseException:  # It is raised below, when nothing is half done.
            return True
        return False

    with suppress(FileNotFoundError):
        try:
            if not remove_folder(name, folder, is_asked_to_stop):
                check()
        except NotADirectoryError:
            os.unlink(name, dir_fd=folder)


def _sync(path: Path) -> None:
    """Have a folder on the disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
