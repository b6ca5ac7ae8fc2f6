"""Looks at the files of a watched folder: what is there, and its fingerprints.

A link counts as a file and is never followed. So nothing outside the folder is read, and there is no endless circle.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable

from holdfast.core.computed_once import computed_once
from holdfast.core.values.glob import matcher
from holdfast.core.values.watch import speakable
from holdfast.runtime.planner.ignoring import Ignoring


class FolderGone(Exception):
    """The watched folder is not there, or is no folder. The text says it to people."""


class Tree:
    """A folder and the rules for what matters in it. Paths are relative to it.

    Matching is work for a thread. `interrupt` is called during it, and may raise to end it.
    """

    def __init__(
        self,
        root: str,
        globs: Iterable[str],
        ignores: Iterable[str],
        respects_gitignore: bool,
        interrupt: Callable[[], object] = lambda: None,
    ) -> None:
        self.root = root
        self._globs = globs
        self._ignores = ignores
        self._respects_gitignore = respects_gitignore
        self._interrupt = interrupt

    @computed_once
    def ignoring(self) -> Ignoring:
        """What is ignored."""
        return Ignoring(self.root, self._ignores, self._respects_gitignore, self._interrupt)

    @computed_once
    def matters(self) -> Callable[[str], bool]:
        """Whether the globs mean a path."""
        return matcher(self._globs)

    def begin_anew(self) -> None:
        """Read the files of rules again when they are needed."""
        self.ignoring.forget()

    def check(self) -> None:
        """FolderGone, if the folder is not there."""
        try:
            mode = os.stat(self.root).st_mode
        except FileNotFoundError:
            raise FolderGone("the folder is not there") from None
        except OSError as error:
            raise FolderGone(f"the folder cannot be looked at: {error.strerror}") from None
        if not stat.S_ISDIR(mode):
            raise FolderGone("this is not a folder")

    def wants(self, relative: str) -> bool:
        """Whether a file at this path matters."""
        return self.matters(speakable(relative)) and not self.ignoring.ignores_path(relative, False)

    def absolute(self, relative: str) -> str:
        """The absolute path."""
        return os.path.join(self.root, relative) if relative else self.root

    def relative(self, absolute: str) -> str | None:
        """The path relative to the folder. None if it is elsewhere. The folder itself has an empty path."""
        if absolute == self.root:
            return ""
        before = self.root if self.root.endswith("/") else f"{self.root}/"
        return absolute.removeprefix(before) if absolute.startswith(before) else None

    def goes_through_a_link(self, relative: str) -> bool:
        """Whether a folder on the way to the path is a link."""
        parts = relative.split("/")[:-1]
        return any(os.path.islink(self.absolute("/".join(parts[:depth]))) for depth in range(1, len(parts) + 1))


class Scan:
    """A walk over a part of a tree, in slices. Files are named by their speakable path, folders by their real one."""

    def __init__(self, tree: Tree, start: str = "") -> None:
        self.files: dict[str, str] = {}
        self.folders: set[str] = set()
        self.unreadable: list[str] = []
        self._tree = tree
        self._todo = [start]

    def step(self, entries: int) -> bool:
        """Look at some more entries. Return whether all is done."""
        if not self.folders:
            self._tree.check()
        seen = 0
        while self._todo and seen < entries:
            seen += self._look_into(self._todo.pop())
        return not self._todo

    def knows(self, path: str) -> bool:
        """Whether the walk knows what is at a path, or that nothing is."""
        return not any(not hidden or path == hidden or path.startswith(f"{hidden}/") for hidden in self.unreadable)

    def _look_into(self, folder: str) -> int:
        try:
            with os.scandir(self._tree.absolute(folder)) as entries:
                found = list(entries)
        except (FileNotFoundError, NotADirectoryError):
            if not folder:
                raise FolderGone("the folder is not there") from None
            return 1  # The folder is gone meanwhile, with all that was in it.
        except OSError:
            self.unreadable.append(speakable(folder))
            return 1
        self.folders.add(self._tree.absolute(folder))
        for entry in found:
            self._take(f"{folder}/{entry.name}" if folder else entry.name, entry)
        return len(found) + 1

    def _take(self, relative: str, entry: os.DirEntry[str]) -> None:
        if entry.is_dir(follow_symlinks=False):
            if not self._tree.ignoring.ignores(relative, True):
                self._todo.append(relative)
            return
        name = speakable(relative)
        if not self._tree.matters(name) or self._tree.ignoring.ignores(relative, False):
            return
        mark = fingerprint(entry.path)
        if mark is not None:
            self.files[name] = mark


def fingerprint(path: str) -> str | None:
    """A text that differs when the file differs. None if there is no file."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return f"link:{speakable(os.readlink(path))}"
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ino}"
