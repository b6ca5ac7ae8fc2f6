"""Which files of a folder nobody wants to hear of: what git ignores there, what editors leave, what the rule says."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Written in the language of .gitignore; a rule takes one back with "!".
USUAL = ("*~", ".*.sw?", "4913", ".#*", "#*#", ".DS_Store", "*.kate-swp", ".goutputstream-*")
GITIGNORE = ".gitignore"


class Ignoring:
    """The rules for one folder. Files of rules are read when they are needed, and again after `forget`.

    A rule of the watch has the last word over those of files, and a file deeper down over one further up.
    """

    def __init__(self, root: str, own: Iterable[str], respects_gitignore: bool) -> None:
        self._root = root
        self._own = _spec([*USUAL, *own])
        self._respects = respects_gitignore
        self._files: dict[str, GitIgnoreSpec | None] = {}
        self._above: list[tuple[str, GitIgnoreSpec]] | None = None

    def forget(self) -> None:
        """Read the files with rules anew."""
        self._files.clear()
        self._above = None

    def ignores(self, relative: str, is_folder: bool) -> bool:
        """Whether something is ignored, in a folder that is not."""
        if relative == ".git" or relative.endswith("/.git"):
            return True
        named = f"{relative}/" if is_folder else relative
        verdict = self._own.check_file(named).include
        if verdict is None and self._respects:
            verdict = self._by_files(named)
        return bool(verdict)

    def ignores_path(self, relative: str, is_folder: bool) -> bool:
        """Whether something is ignored, or a folder that it is in."""
        parts = relative.split("/")
        parents = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        return any(self.ignores(parent, True) for parent in parents) or self.ignores(relative, is_folder)

    def _by_files(self, named: str) -> bool | None:
        parts = named.rstrip("/").split("/")
        for depth in range(len(parts) - 1, -1, -1):
            folder = "/".join(parts[:depth])
            spec = self._of(os.path.join(self._root, folder) if folder else self._root)
            inside = named[len(folder) + 1 :] if folder else named
            verdict = None if spec is None else spec.check_file(inside).include
            if verdict is not None:
                return verdict
        if self._above is None:
            self._above = self._found_above()
        for prefix, spec in self._above:
            verdict = spec.check_file(prefix + named).include
            if verdict is not None:
                return verdict
        return None

    def _of(self, folder: str) -> GitIgnoreSpec | None:
        if folder not in self._files:
            self._files[folder] = _read(os.path.join(folder, GITIGNORE))
        return self._files[folder]

    def _found_above(self) -> list[tuple[str, GitIgnoreSpec]]:
        """The rules of the repository that the folder is in, from near to far, and those that are not in its files."""
        found, folder, prefix = [], self._root, ""
        while True:
            git = os.path.join(folder, ".git")
            if prefix and (spec := self._of(folder)) is not None:
                found.append((prefix, spec))
            if os.path.lexists(git):
                spec = _read(os.path.join(git, "info", "exclude"))
                return found if spec is None else [*found, (prefix, spec)]
            parent = os.path.dirname(folder)
            if parent == folder:
                return []  # There is no repository, so the files further up are about something else.
            prefix = f"{os.path.basename(folder)}/{prefix}"
            folder = parent


def _read(path: str) -> GitIgnoreSpec | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(1 << 20).splitlines()
    except OSError:
        return None
    return _spec(lines)


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    # Imported by those who watch something; others need not wait for it.
    from pathspec import GitIgnoreSpec

    good = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error):
            continue  # git, too, takes no notice of a line that it cannot read.
        good.append(line)
    return GitIgnoreSpec.from_lines(good)
