"""The places for workers that a daemon keeps filled. The worker in a place holds its lock."""

from __future__ import annotations

import itertools
import logging
import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import Conflict
from holdfast.decoding import decode
from holdfast.observe.redact import redacted_text
from holdfast.private_files import for_owner_alone, make_private_folder
from holdfast.store.locks import LifeLock, is_held_by, is_locked
from holdfast.version import VERSION
from holdfast.wire.home import LOOKS_S, Home

# The exit code of a worker that wants to be replaced.
REPLACE_ME = 75
# The words of the workers that run no code of users.
SYSTEM_WORDS = ("--system",)
WORKSPACES_WORDS = ("--workspaces",)
MOST_WORDS = 1_000

log = logging.getLogger("holdfast.worker")


class WorkerPlace(Struct, frozen=True):
    """A worker that should always be there: its name, and the words after `holdfast worker`."""

    name: str
    words: tuple[str, ...]


class Occupant(Struct, frozen=True):
    """The worker in a place, as the lock file says."""

    pid: int
    words: tuple[str, ...]
    version: str = "before 0.5.0"


def lock_of(home: Home, name: str) -> Path:
    """The lock that the worker in a place holds."""
    return home.folder / "workers" / f"{name}.lock"


def take(home: Home, place: WorkerPlace) -> LifeLock:
    """Take the lock of a place, and write into it who has it."""
    path = lock_of(home, place.name)
    try:
        lock = LifeLock(path, LOOKS_S)
    except BlockingIOError:
        raise Conflict(f"place {place.name!r} has a worker already") from None
    try:
        _note(path, msgspec.json.encode(Occupant(os.getpid(), place.words, VERSION)))
    except OSError as error:
        # The daemon that starts a worker knows it anyway, and jobs can run while nothing can be written.
        log.warning("it cannot be noted who is in place %s: %s", place.name, error)
    return lock


def _note(path: Path, text: bytes) -> None:
    """Write over the text of a predecessor: on a full disk, there is room for that."""
    with path.open("r+b", buffering=0) as file:
        file.write(text)
        file.truncate(len(text))


def occupant(home: Home, name: str) -> Occupant | None:
    """The worker in a place, if there is one and it has written who it is."""
    path = lock_of(home, name)
    if not is_locked(str(path)):
        return None
    try:
        found = decode(path.read_bytes(), Occupant)
    except (OSError, msgspec.DecodeError):
        return None  # It has only just begun.
    # The text may be of its predecessor, and the pid may belong to another process by now.
    return found if is_held_by(str(path), found.pid) else None


def occupied(home: Home) -> set[str]:
    """The names of the places that have a worker."""
    locks = lock_of(home, "any").parent.glob("*.lock")
    return {path.stem for path in locks if is_locked(str(path))}


def leave_words(home: Home, name: str, said: str) -> None:
    """Write why the worker in a place ends, in one line, for the daemon."""
    # A missing folder or a full disk must not hide what went wrong.
    line = redacted_text(" ".join(said.split()))[:MOST_WORDS]
    with suppress(OSError):
        make_private_folder(_words(home, name).parent)
        with open(_words(home, name), "w", encoding="utf-8", errors="backslashreplace", opener=for_owner_alone) as file:
            file.write(line)


def last_words(home: Home, name: str) -> str | None:
    """Why the last worker in a place ended, if it could write that."""
    try:
        return _words(home, name).read_text(encoding="utf-8", errors="replace") or None
    except OSError:
        return None


def forget_words(home: Home, name: str) -> None:
    """Remove the last words in a place, before the next worker starts."""
    with suppress(OSError):
        _words(home, name).unlink(missing_ok=True)


def _words(home: Home, name: str) -> Path:
    return lock_of(home, name).with_suffix(".said")


def app_words(apps: tuple[str, ...]) -> tuple[str, ...]:
    """The words of the command line that give a worker its code."""
    return tuple(word for app in apps for word in ("--app", app))


def apps_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """The apps that these words of a command line name."""
    return tuple(app for word, app in itertools.pairwise(words) if word == "--app")
