"""Watches: rules by which changes on the disk become jobs. What changed, when it is time to look, how much is too much.

Knows nothing of files: whoever looks at the disk says what he saw, as texts that differ when the thing differs.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Set
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.errors import InvalidInput
from holdfast.core.glob import LONGEST_GLOB, MOST_GLOBS, check_glob
from holdfast.core.job import Millis
from holdfast.core.limits import (
    MAX_PRIORITY,
    MAX_SUBJECT,
    check_duration,
    check_int,
    check_label,
    check_name,
    check_payload,
    shown,
)
from holdfast.core.reserved import refuse_reserved
from holdfast.core.retry import RetryPolicy
from holdfast.core.subject import FIELD
from holdfast.core.tokens import NO_TOKENS, Tokens

DEBOUNCE_MS = 100  # well above the pace at which the system's watcher reports, or its steps would pass for quiet
MAX_WAIT_MS = 1_000
MAX_JOBS = 100
RECONCILE_S = 30.0
WINDOW_S = 10.0
LONGEST_PATH = 4_096
MOST_CHANGED = 10_000  # so many files a job is about at most
MOST_PATHS_BYTES = 64 << 10  # of them in a payload

FOLDER_FIELDS = frozenset(
    {"watch", "repo", "root", "path", "relative", "change", "bulk", "paths_changed", "paths", "truncated"},
)
PATHS = "paths"  # the one field that is a list
GIT_FIELDS = frozenset({"watch", "repo", "root", "path", "event", "branch", "head", "old_head", "bulk", "moves"})

_UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class WatchKind(StrEnum):
    """What is watched: the files of a folder, or where a git repository stands."""

    FOLDER = "folder"
    GIT = "git"


class Change(StrEnum):
    """What became of a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


class NewWatch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A watch to be stored. Without a task it makes no jobs and only emits events; an empty payload means the usual.

    `debounce_ms`: how long it must be quiet before a look; `max_wait_ms`: how long changes wait at most, however
    constant their stream is. None leaves it to the daemon's settings, and what concerns its jobs to their task.
    `settle_ms`: how long a file must have stopped changing.
    """

    id: str
    name: str
    path: str
    task: str | None = None
    kind: str = WatchKind.FOLDER.value
    globs: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    gitignore: bool = True
    queue: str | None = None
    payload: str = "{}"
    subject: str | None = None
    tenant: str | None = None
    priority: int | None = None
    debounce_ms: Millis | None = None
    max_wait_ms: Millis | None = None
    max_jobs: int = MAX_JOBS
    initial: bool = False
    settle_ms: Millis | None = None
    timeout_ms: Millis | None = None
    policy: RetryPolicy | None = None
    tokens: Tokens = NO_TOKENS


class Seen(Struct, frozen=True, gc=False):
    """What is at a path now; the fingerprint is None where nothing is."""

    path: str
    fingerprint: str | None


class FileChange(Struct, frozen=True, gc=False):
    """A path at which something else is than was remembered."""

    path: str
    fingerprint: str | None
    change: Change


class Burst(Struct):
    """Changes that come close together, as times of a monotonic clock in seconds."""

    first: float
    last: float

    def due(self, debounce_ms: Millis, max_wait_ms: Millis) -> float:
        """When to look: once it is quiet, and at the latest when the first change has waited long enough."""
        return min(self.last + debounce_ms / 1000, self.first + max_wait_ms / 1000)

    def waited(self, now: float, debounce_ms: Millis) -> float:
        """How long the last change has waited, without what the watch was told to wait beyond the usual debounce."""
        return max(0.0, now - self.last - max(0, debounce_ms - DEBOUNCE_MS) / 1000)


class Budget:
    """How many jobs a watch made of late. More than `max_jobs` within the window, and the rest is told in one job."""

    def __init__(self) -> None:
        self._made: deque[tuple[float, int]] = deque()

    def is_bulk(self, count: int, max_jobs: int, now: float) -> bool:
        """Whether so many more are too many."""
        while self._made and self._made[0][0] <= now - WINDOW_S:
            self._made.popleft()
        return count + sum(made for _, made in self._made) > max_jobs

    def note(self, count: int, now: float) -> None:
        """So many were made."""
        if count:
            self._made.append((now, count))


class Settling:
    """Files that have not stopped changing: what was last seen of each, and since when, as times in seconds."""

    def __init__(self, settle_ms: Millis) -> None:
        self._settle_s = settle_ms / 1000
        self._seen: dict[str, tuple[str | None, float]] = {}

    def sort(self, changes: Iterable[FileChange], now: float) -> tuple[list[FileChange], dict[str, float]]:
        """Those that have stopped, or are gone; and by path, when to look at the others again."""
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
        """Forget what is not there any more."""
        self._seen = {path: seen for path, seen in self._seen.items() if path in there}


def differences(known: Mapping[str, str], seen: Iterable[Seen]) -> list[FileChange]:
    """What differs from what was remembered, in the order of the paths."""
    found = []
    for item in seen:
        before = known.get(item.path)
        if item.fingerprint == before:
            continue
        there = Change.ADDED if before is None else Change.MODIFIED
        found.append(FileChange(item.path, item.fingerprint, Change.DELETED if item.fingerprint is None else there))
    return sorted(found, key=lambda change: change.path)


def check_watch(watch: NewWatch) -> NewWatch:
    """Refuse a watch that cannot work, with what is wrong about it."""
    check_name("watch", watch.name)
    path = check_label("path", watch.path, LONGEST_PATH)
    if path == "/":
        raise InvalidInput("path '/' is not valid: watch a folder, not the whole disk")
    if not path.startswith("/") or {".", "..", ""} & set(path[1:].split("/")):
        raise InvalidInput(f"path {shown(path)} is not valid: give an absolute path without . and ..")
    if watch.kind not in tuple(WatchKind):
        raise InvalidInput(f"kind {shown(watch.kind)} is not valid: use 'folder' or 'git'")
    if watch.task is not None:
        check_name("task", watch.task)
    if watch.queue is not None:
        check_name("queue", watch.queue)
    refuse_reserved(watch.task, watch.queue)
    for what, patterns in (("globs", watch.globs), ("ignores", watch.ignores)):
        if len(patterns) > MOST_GLOBS:
            raise InvalidInput(f"a watch of {len(patterns)} {what} is not valid: use at most {MOST_GLOBS}")
    for glob in watch.globs:
        check_glob(glob)
    for ignore in watch.ignores:
        check_label("ignore", ignore, LONGEST_GLOB)
    if watch.kind == WatchKind.GIT and (watch.globs or watch.ignores):
        raise InvalidInput("a watch of a git repository has no globs or ignores; watch the folder for changes of files")
    check_fields("subject", watch.subject or "", watch.kind, without={PATHS})
    if watch.subject is not None:
        check_label("subject", watch.subject, MAX_SUBJECT)
    if watch.tenant is not None:
        check_label("tenant", watch.tenant)
    if watch.priority is not None:
        check_int("priority", watch.priority, -MAX_PRIORITY, MAX_PRIORITY)
    check_int("max_jobs", watch.max_jobs, 1, 10_000)
    for what in ("debounce", "max_wait", "settle", "timeout"):
        value = getattr(watch, f"{what}_ms")
        if value is not None:
            check_duration(what, value)
    if watch.kind == WatchKind.GIT and watch.settle_ms:
        raise InvalidInput("a watch of a git repository has no settle: it looks at commits, not at files")
    _check_payload(watch)
    return watch


def _check_payload(watch: NewWatch) -> None:
    encoded = watch.payload.encode("utf-8", "surrogatepass")
    check_payload(encoded, "the payload of the watch")
    try:
        template = msgspec.json.decode(encoded, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"payload {shown(watch.payload)} is not valid: use a JSON object ({error})") from None
    texts = list(_texts(template))
    for text in texts:
        check_fields("payload", text, watch.kind, without=set() if text == f"{{{PATHS}}}" else {PATHS})
    if texts.count(f"{{{PATHS}}}") > 1:
        raise InvalidInput(f"payload {shown(watch.payload)} names 'paths' twice; the list may be long, so name it once")


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def check_fields(what: str, template: str, kind: str, without: Set[str] = frozenset()) -> None:
    """Every `{name}` of a template is something that a watch of this kind knows, and that may stand there."""
    known = (GIT_FIELDS if kind == WatchKind.GIT else FOLDER_FIELDS) - without
    for match in FIELD.finditer(template):
        if match.group() in ("{", "}"):
            raise InvalidInput(
                f"{what} {shown(template)} has a brace that names nothing: write {{name}}, or {{{{ and }}}} for a brace"
            )
        if match.group(1) in without and kind == WatchKind.FOLDER:
            raise InvalidInput(
                f"{what} {shown(template)} names {match.group(1)!r}, which is a list: it stands alone, in the payload"
            )
        if match.group(1) is not None and match.group(1) not in known:
            raise InvalidInput(
                f"{what} {shown(template)} names {match.group(1)!r}; a {kind} watch knows {', '.join(sorted(known))}"
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
