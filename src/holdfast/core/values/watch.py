"""Watches: what has changed, when to look, and how many jobs are too many.

It reads no files. The caller says what it saw, as texts that differ when the file differs.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Set
from enum import StrEnum

from msgspec import Struct

from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.rules import limits
from holdfast.core.values.subject import FIELD

DEBOUNCE_MS = 100  # well above the pause between two reports of the system's watcher
MAX_WAIT_MS = 1_000
MAX_JOBS = 100
RECONCILE_S = 30.0
WINDOW_S = 10.0
MOST_PATHS_BYTES = 64 << 10  # of paths in a payload

FOLDER_FIELDS = frozenset(
    {"watch", "repo", "root", "path", "relative", "change", "bulk", "paths_changed", "paths", "truncated"},
)
PATHS = "paths"  # the one field that is a list
GIT_FIELDS = frozenset({"watch", "repo", "root", "path", "event", "branch", "head", "old_head", "bulk", "moves"})

_UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class WatchKind(StrEnum):
    """What is watched: the files of a folder, or the HEAD of a git repository."""

    FOLDER = "folder"
    GIT = "git"


class Change(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


class SeenFile(Struct, frozen=True, gc=False):
    """What is at a path now. The fingerprint is None if nothing is there."""

    path: str
    fingerprint: str | None


class FileChange(Struct, frozen=True, gc=False):
    """A path where something else is than was remembered."""

    path: str
    fingerprint: str | None
    change: Change


class Burst(Struct):
    """Changes that come close together, as times of a monotonic clock in seconds."""

    first: float
    last: float

    def due(self, debounce_ms: Millis, max_wait_ms: Millis) -> float:
        """When to look: once it is quiet, but at the latest when the first change has waited for `max_wait_ms`."""
        return min(self.last + debounce_ms / 1000, self.first + max_wait_ms / 1000)

    def waited(self, now: float, debounce_ms: Millis) -> float:
        """How long the last change has waited, without the part of the debounce above the usual one."""
        return max(0.0, now - self.last - max(0, debounce_ms - DEBOUNCE_MS) / 1000)


class Budget:
    """How many jobs a watch made lately. After `max_jobs` within the window, one job tells the rest."""

    def __init__(self) -> None:
        self._made: deque[tuple[float, int]] = deque()

    def is_bulk(self, count: int, max_jobs: int, now: float) -> bool:
        """Whether so many more are too many."""
        while self._made and self._made[0][0] <= now - WINDOW_S:
            self._made.popleft()
        return count + sum(made for _, made in self._made) > max_jobs

    def note(self, count: int, now: float) -> None:
        """Count jobs that were made."""
        if count:
            self._made.append((now, count))


class Settling:
    """Files that still change: what was last seen of each, and since when, as times in seconds."""

    def __init__(self, settle_ms: Millis) -> None:
        self._settle_s = settle_ms / 1000
        self._seen: dict[str, tuple[str | None, float]] = {}

    def sort(self, changes: Iterable[FileChange], now: float) -> tuple[list[FileChange], dict[str, float]]:
        """The changes that have stopped, or are deletions; and by path, when to look at the others again."""
        ready, due = [], {}
        for change in changes:
            mark, since = self._seen.get(change.path, (None, now))
            since = since if mark == change.fingerprint else now
            if change.fingerprint is None or now >= since + self._settle_s:
                self._seen.pop(change.path, None)
                ready.append(change)
            else:
                self._seen[change.path] = (change.fingerprint, since)
                due[change.path] = since + self._settle_s
        return ready, due

    def keep(self, there: Collection[str]) -> None:
        """Forget files that are not there any more."""
        self._seen = {path: seen for path, seen in self._seen.items() if path in there}


def differences(known: Mapping[str, str], seen: Iterable[SeenFile]) -> list[FileChange]:
    """What differs from what was remembered, in the order of the paths."""
    found = []
    for item in seen:
        before = known.get(item.path)
        if item.fingerprint == before:
            continue
        there = Change.ADDED if before is None else Change.MODIFIED
        found.append(FileChange(item.path, item.fingerprint, Change.DELETED if item.fingerprint is None else there))
    return sorted(found, key=lambda change: change.path)


def check_fields(what: str, template: str, kind: str, without: Set[str] = frozenset()) -> None:
    """Refuse a template with a `{name}` that a watch of this kind does not know, or that may not be there."""
    known = (GIT_FIELDS if kind == WatchKind.GIT else FOLDER_FIELDS) - without
    for match in FIELD.finditer(template):
        if match.group() in ("{", "}"):
            raise InvalidInput(
                f"{what} {limits.shown(template)} has a brace that names nothing: write {{name}}, or "
                f"{{{{ and }}}} for a brace"
            )
        if match.group(1) in without and kind == WatchKind.FOLDER:
            raise InvalidInput(
                f"{what} {limits.shown(template)} names {match.group(1)!r}, which is a list: it stands alone, "
                "in the payload"
            )
        if match.group(1) is not None and match.group(1) not in known:
            raise InvalidInput(
                f"{what} {limits.shown(template)} names {match.group(1)!r}; a {kind} watch knows "
                f"{', '.join(sorted(known))}"
            )


def speakable(text: str) -> str:
    """A name as text that can be stored and shown: bytes that are no UTF-8 and control characters as `\\xff`."""

    def escape(match: re.Match[str]) -> str:
        number = ord(match.group())
        return f"\\x{number - 0xDC00 if number >= 0xDC80 else number:02x}"

    return _UNSPEAKABLE.sub(escape, text)


def below(root: str, relative: str) -> str:
    """The absolute path of something in a folder."""
    return f"{root}/{relative}" if relative else root
