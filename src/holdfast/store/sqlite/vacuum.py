"""Writes a file anew, without gaps, while others may come at any moment.

SQLite's own VACUUM keeps all others from writing from its beginning to its end, and can no longer be stopped in its
second half. So it is done in two parts. A copy without gaps is made beside the file, which keeps nobody from anything;
if somebody writes meanwhile, it is outdated and thrown away. Then the copy goes back into the file as one transaction,
some pages at a time, and after each of them it gives way to whoever wants to write.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from holdfast.core.errors import StoreFull
from holdfast.private_files import for_owner_alone
from holdfast.store.forks import occupancy
from holdfast.store.sqlite.connection import connect
from holdfast.store.sqlite.turnstile import Turnstile
from holdfast.store.tending import Disturbed, Vacuumed

LEFTOVER = ".vacuum"  # behind the name of the file: the copy, as long as there is one
STEPS_BETWEEN_LOOKS = 2_000
PAGES_AT_ONCE = 64
PAGES_TO_SYNC = 512
BYTES_TO_SYNC = 1 << 20
MARGIN_BYTES = 64 << 20


def vacuumed(path: str, turnstile: Turnstile, should_stop: Callable[[], bool]) -> Vacuumed:
    """The sizes before and after. Disturbed: somebody wrote or wanted to; all is as it was."""
    copy = Path(f"{path}{LEFTOVER}")
    remove_leftover(path)
    try:
        with occupancy, closing(connect(path, writable=False, durability="full")) as watch:
            before = _bytes(watch)
            _check_room(path, before - watch.pragma("freelist_count") * watch.pragma("page_size"))
            version = watch.pragma("data_version")

            def must_stop() -> bool:
                return should_stop() or occupancy.is_wanted or watch.pragma("data_version") != version

            _make_copy(path, copy, must_stop)
            _put_back(path, copy, turnstile, must_stop)
            return Vacuumed(before, _bytes(watch))
    finally:
        remove_leftover(path)


def remove_leftover(path: str) -> None:
    """Remove the copy, and what SQLite keeps beside it. Somebody who was killed may have left it."""
    for tail in ("", "-journal"):
        Path(f"{path}{LEFTOVER}{tail}").unlink(missing_ok=True)


def _make_copy(path: str, copy: Path, must_stop: Callable[[], bool]) -> None:
    # Made by us, so that nobody else can read what is in it.
    with (
        open(copy, "xb", opener=for_owner_alone) as file,
        closing(connect(path, writable=True, durability="full")) as connection,
    ):
        synced = 0

        def is_over() -> bool:
            nonlocal synced
            size = os.fstat(file.fileno()).st_size
            if size - synced > BYTES_TO_SYNC:
                # The commits of others must not have to wait until the disk has taken all of it.
                os.fsync(file.fileno())
                synced = size
            return must_stop()

        if not connection.pragma("auto_vacuum"):
            # From now on, free pages can be given back without writing all of it anew.
            connection.pragma("auto_vacuum", "INCREMENTAL")
        # For the copy alone: after a crash nobody looks at it.
        connection.pragma("synchronous", "OFF")
        connection.set_progress_handler(is_over, STEPS_BETWEEN_LOOKS)
        try:
            connection.execute("VACUUM INTO ?", (str(copy),))
        except apsw.InterruptError:
            raise _disturbed(path) from None


def _put_back(path: str, copy: Path, turnstile: Turnstile, must_stop: Callable[[], bool]) -> None:
    with (
        closing(connect(str(copy), writable=False, durability="full")) as source,
        closing(connect(path, writable=True, durability="full")) as target,
    ):
        # Not waited for: whoever has the turn writes, and may have to wait for a fork, which waits for us.
        with turnstile.at_once() as is_ours:
            if not is_ours:
                raise _disturbed(path)
            try:
                _copy_back(path, source, target, turnstile, must_stop)
            except apsw.BusyError:
                # A program that knows nothing of turns.
                raise _disturbed(path) from None
        # Without the turn, so that others can write meanwhile; at once, so that they need not do it themselves.
        target.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)


def _copy_back(
    path: str, source: apsw.Connection, target: apsw.Connection, turnstile: Turnstile, must_stop: Callable[[], bool]
) -> None:
    with _written_log(path) as log, target.backup("main", source, "main") as backup:
        # One page takes the lock: from there on nobody can write, and who wrote since the copy was made shows.
        # The rest must not come before that look, however little it is.
        backup.step(1)
        unsynced = 0
        while not backup.done:
            if turnstile.is_wanted or must_stop():
                raise _disturbed(path)
            backup.step(PAGES_AT_ONCE)
            unsynced += PAGES_AT_ONCE
            if unsynced >= PAGES_TO_SYNC or backup.remaining <= PAGES_AT_ONCE:
                # Little by little, so that the commit does not have to wait for all of it.
                os.fsync(log)
                unsynced = 0


@contextmanager
def _written_log(path: str) -> Iterator[int]:
    """The write-ahead log, to have it written to the disk."""
    handle = os.open(f"{path}-wal", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _bytes(connection: apsw.Connection) -> int:
    return int(connection.pragma("page_count") * connection.pragma("page_size"))


def _check_room(path: str, live: int) -> None:
    """The copy needs room, and so does the way back."""
    needed, free = 2 * live + MARGIN_BYTES, shutil.disk_usage(os.path.dirname(path)).free
    if free < needed:
        raise StoreFull(
            f"{path} cannot be written anew: that takes {needed >> 20} MiB of the disk for a while, and {free >> 20} "
            "MiB are free"
        )


def _disturbed(path: str) -> Disturbed:
    return Disturbed(f"somebody wanted to write to {path}, and came first; nothing was changed")
