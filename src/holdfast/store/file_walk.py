"""Finds the files below a folder, however deep and many they are.

A walk by recursion has a frame and a descriptor for each level, so that a chain of folders ends it. This one has a list
of the folders that are still to be read, and only the one that it reads is open. One that is not inside the folder that
was read last is opened anew from the top, without following a link. The steps are bounded: each entry is one, and so is
each folder on the way to another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class FileWalk:
    """The files below an open folder, in no order. After the walk `is_cut` tells whether something was not read.

    Only names that `may_be_named` allows count, also for folders, and paths of at most `longest_path` characters. A
    folder that is too deep for them is not read. One that cannot be read, or is not there any more, has no files.
    """

    def __init__(self, top: int, may_be_named: Callable[[str], bool], longest_path: int, most_steps: int) -> None:
        self.is_cut = False
        self._top = top
        self._may_be_named = may_be_named
        self._longest_path = longest_path
        self._steps_left = most_steps
        self._todo: list[tuple[int, str]] = []  # the depth and the name of each folder; the next one is the last
        self._path: list[str] = []  # of the folder that is read

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Each file: its path, and its size."""
        folder = _open_below(self._top, ["."])
        try:
            yield from self._files_in(folder)
            while self._todo and self._steps_left > 0:
                try:
                    folder = self._next_folder(folder)
                    yield from self._files_in(folder)
                except OSError:
                    continue
        finally:
            os.close(folder)
        self.is_cut |= bool(self._todo)

    def _next_folder(self, folder: int) -> int:
        """Open the next folder. The one that was open is closed then."""
        depth, name = self._todo.pop()
        is_inside = depth == len(self._path)
        del self._path[depth:]
        self._path.append(name)
        parts = [name] if is_inside else self._path
        self._steps_left -= len(parts)
        opened = _open_below(folder if is_inside else self._top, parts)
        os.close(folder)
        return opened

    def _files_in(self, folder: int) -> Iterator[tuple[str, int]]:
        before = "".join(f"{part}/" for part in self._path)
        with os.scandir(folder) as entries:
            for entry in entries:
                if self._steps_left <= 0:
                    self.is_cut = True
                    return
                self._steps_left -= 1
                if not self._may_be_named(entry.name):
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                if len(before) + len(entry.name) + (len("/x") if is_folder else 0) > self._longest_path:
                    self.is_cut = True
                elif is_folder:
                    self._todo.append((len(self._path), entry.name))
                elif (size := _size(entry)) is not None:
                    yield before + entry.name, size


def open_folder(path: str | os.PathLike[str], parts: Sequence[str]) -> int:
    """Open a folder below the one at `path`, without following a link from there on."""
    top = os.open(path, FOLDER)
    try:
        return _open_below(top, parts)
    finally:
        os.close(top)


@contextmanager
def opened_folder(path: str | os.PathLike[str], parts: Sequence[str]) -> Iterator[int]:
    """The same, and close it."""
    folder = open_folder(path, parts)
    try:
        yield folder
    finally:
        os.close(folder)


def _open_below(top: int, parts: Sequence[str]) -> int:
    folder = os.open(parts[0], FOLDER | os.O_NOFOLLOW, dir_fd=top)
    for part in parts[1:]:
        try:
            inner = os.open(part, FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _size(entry: os.DirEntry[str]) -> int | None:
    """The size of a file. None if it is something else, or not there any more."""
    try:
        return entry.stat(follow_symlinks=False).st_size if entry.is_file(follow_symlinks=False) else None
    except OSError:
        return None
