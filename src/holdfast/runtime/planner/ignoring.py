"""Which files of a folder are ignored: what git ignores, what editors leave, and what the watch says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from hashlib import sha256

from holdfast.core.watching import ignore_rules
from holdfast.core.watching.ignore_rules import MOST_BYTES, MOST_RULES, IgnoreRules
from holdfast.runtime.planner import regular_files

# As in a .gitignore. A watch can take one back with "!".
USUAL = ("*~", ".*.sw?", "4913", ".#*", r"\#*#", ".DS_Store", "*.kate-swp", ".goutputstream-*")
GITIGNORE = ".gitignore"


class Ignoring:
    """The rules for one folder. Files of rules are read when they are needed, and again after `forget`.

    Rules of the watch come before those of files, and files deeper down before those further up. A hostile file of
    rules may take long, so `interrupt` is called between rules, and may raise to end it.

    All files together have a budget of rules, and those with the same bytes are parsed once. Which rules a folder has
    is known only as long as paths in it are asked for. `cut` has the files that were too long, `without_room` those
    that the budget had no room for.
    """

    def __init__(
        self, root: str, own: Iterable[str], respects_gitignore: bool, interrupt: Callable[[], object] = lambda: None
    ) -> None:
        self._root = root
        self._own = IgnoreRules(map(ignore_rules.by_bytes, (*USUAL, *own)))
        self._respects = respects_gitignore
        self._interrupt = interrupt
        self.forget()

    def forget(self) -> None:
        """Read the files of rules again."""
        self._files: dict[str, IgnoreRules | None] = {}
        self._nearest = self._root
        self._above: list[tuple[str, IgnoreRules]] | None = None
        self._parsed: dict[bytes, IgnoreRules] = {}
        self._room = MOST_RULES
        self.cut: dict[str, None] = {}
        self.without_room: dict[str, None] = {}

    def ignores(self, relative: str, is_folder: bool) -> bool:
        """Whether a file or folder is ignored, given that its folder is not."""
        self._go_to(relative)
        return self._ignores(relative, is_folder)

    def ignores_path(self, relative: str, is_folder: bool) -> bool:
        """Whether a file or folder is ignored, or a folder that it is in."""
        self._go_to(relative)
        parts = relative.split("/")
        parents = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        return any(self._ignores(parent, True) for parent in parents) or self._ignores(relative, is_folder)

    def _go_to(self, relative: str) -> None:
        """Forget the rules of folders that this path is not in."""
        nearest = os.path.dirname(os.path.join(self._root, relative))
        if nearest != self._nearest:
            self._nearest = nearest
            inside = f"{nearest}/"
            self._files = {
                folder: rules for folder, rules in self._files.items() if inside.startswith(f"{folder.rstrip('/')}/")
            }

    def _ignores(self, relative: str, is_folder: bool) -> bool:
        if relative == ".git" or relative.endswith("/.git"):
            return True
        path = ignore_rules.by_bytes(relative)
        verdict = self._own.verdict(path, is_folder, self._interrupt)
        if verdict is None and self._respects:
            verdict = self._by_files(relative, path, is_folder)
        return bool(verdict)

    def _by_files(self, relative: str, path: str, is_folder: bool) -> bool | None:
        """What the files of rules say, the nearest first."""
        folder = relative
        while folder:
            folder = folder.rpartition("/")[0]
            rules = self._of(os.path.join(self._root, folder) if folder else self._root)
            if rules is not None:
                inside = path[len(ignore_rules.by_bytes(folder)) + 1 :] if folder else path
                verdict = rules.verdict(inside, is_folder, self._interrupt)
                if verdict is not None:
                    return verdict
        if self._above is None:
            self._above = self._found_above()
        for prefix, rules in self._above:
            verdict = rules.verdict(prefix + path, is_folder, self._interrupt)
            if verdict is not None:
                return verdict
        return None

    def _of(self, folder: str) -> IgnoreRules | None:
        if folder not in self._files:
            # As git, it does not follow a link, which could lead anywhere.
            self._files[folder] = self._read(os.path.join(folder, GITIGNORE), os.O_NOFOLLOW)
        return self._files[folder]

    def _found_above(self) -> list[tuple[str, IgnoreRules]]:
        """The rules above the folder in its repository, the nearest first, and those of the repository itself."""
        found, folder, prefix = [], self._root, ""
        while True:
            git = os.path.join(folder, ".git")
            if prefix and (rules := self._of(folder)) is not None:
                found.append((ignore_rules.by_bytes(prefix), rules))
            if os.path.lexists(git):
                rules = self._read(os.path.join(git, "info", "exclude"))
                return found if rules is None else [*found, (ignore_rules.by_bytes(prefix), rules)]
            parent = os.path.dirname(folder)
            if parent == folder:
                return []  # There is no repository, so files further up do not matter.
            prefix = f"{os.path.basename(folder)}/{prefix}"
            folder = parent

    def _read(self, path: str, flags: int = 0) -> IgnoreRules | None:
        try:
            data = regular_files.read_regular(path, MOST_BYTES + 1, flags=flags)
        except OSError:
            return None
        if data is None:
            return None
        rules = self._parse(data)
        if rules.is_cut:
            self.cut[path] = None
        if rules.has_no_room:
            self.without_room[path] = None
        return rules

    def _parse(self, data: bytes) -> IgnoreRules:
        digest = sha256(data).digest()
        rules = self._parsed.get(digest)
        if rules is None:
            rules = ignore_rules.rules_of_file(data, self._room)
            self._room -= rules.count
            if rules.count:
                self._parsed[digest] = rules
        return rules
