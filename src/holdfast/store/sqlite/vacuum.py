"""Write a file anew, without gaps, while other programs use it.

SQLite's own VACUUM keeps all others from writing from its beginning to its end, and can no longer be stopped in its
second half. So it is done in two parts. First a copy without gaps is made beside the file, which keeps no one waiting.
If a program writes meanwhile, the copy is outdated and thrown away. Then the copy is written back in one transaction,
some pages at a time. If another program wants to write, the transaction is given up.
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
from holdfast.store.maintenance import Disturbed, Vacuumed
from holdfast.store.sqlite.connection import connect
from holdfast.store.sqlite.write_lock import WriteLock

LEFTOVER = ".vacuum"  # the copy has the name of the file, and this at its end
STEPS_BETWEEN_LOOKS = 2_000
PAGES_AT_ONCE = 64
PAGES_TO_SYNC = 512
BYTES_TO_SYNC = 1 << 20
MARGIN_BYTES = 64 << 20


def vacuumed(path: str, write_lock: WriteLock, should_stop: Callable[[], bool]) -> Vacuumed:
    """Write the file anew, and return its sizes. Disturbed: another program wrote or wanted to; nothing has changed."""
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
            _put_back(path, copy, write_lock, must_stop)
            return Vacuumed(before, _bytes(watch))
    finally:
        remove_leftover(path)


def remove_leftover(path: str) -> None:
    """Remove the copy, and what SQLite keeps beside it. A killed process may have left it."""
    for tail in ("", "-journal"):
        Path(f"{path}{LEFTOVER}{tail}").unlink(missing_ok=True)


def _make_copy(path: str, copy: Path, must_stop: Callable[[], bool]) -> None:
    # Made by us, so that no other user can read it.
    with (
        open(copy, "xb", opener=for_owner_alone) as file,
        closing(connect(path, writable=True, durability="full")) as connection,
    ):
        synced = 0

        def is_over() -> bool:
            nonlocal synced
            size = os.fstat(file.fileno()).st_size
            if size - synced > BYTES_TO_SYNC:
                # Otherwise the commits of other programs would wait until the disk has written all of it.
                os.fsync(file.fileno())
                synced = size
            return must_stop()

        if not connection.pragma("auto_vacuum"):
            # From now on, free pages can be given back without writing all of it anew.
            connection.pragma("auto_vacuum", "INCREMENTAL")
        # For the copy alone: after a crash it is not used.
        connection.pragma("synchronous", "OFF")
        connection.set_progress_handler(is_over, STEPS_BETWEEN_LOOKS)
        try:
            connection.execute("VACUUM INTO ?", (str(copy),))
        except apsw.InterruptError:
            raise _disturbed(path) from None


def _put_back(path: str, copy: Path, write_lock: WriteLock, must_stop: Callable[[], bool]) -> None:
    with (
        closing(connect(str(copy), writable=False, durability="full")) as source,
        closing(connect(path, writable=True, durability="full")) as target,
    ):
        # Without waiting: the holder of the lock may wait for a fork, which waits for us.
        with write_lock.at_once() as is_ours:
            if not is_ours:
                raise _disturbed(path)
            try:
                _copy_back(path, source, target, write_lock, must_stop)
            except apsw.BusyError:
                # A program that does not use the lock.
                raise _disturbed(path) from None
        # Without the lock, so that others can write meanwhile. Now, so that they need not do it themselves.
        target.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)


def _copy_back(
    path: str, source: apsw.Connection, target: apsw.Connection, write_lock: WriteLock, must_stop: Callable[[], bool]
) -> None:
    with _written_log(path) as log, target.backup("main", source, "main") as backup:
        # The first page takes the lock of SQLite. Then no one can write, and a write since the copy was made shows.
        # The other pages come after the check for that, however few they are.
        backup.step(1)
        unsynced = 0
        while not backup.done:
            if write_lock.is_wanted or must_stop():
                raise _disturbed(path)
            backup.step(PAGES_AT_ONCE)
            unsynced += PAGES_AT_ONCE
            if unsynced >= PAGES_TO_SYNC or backup.remaining <= PAGES_AT_ONCE:
                # Little by little, so that the commit is short.
                os.fsync(log)
                unsynced = 0


@contextmanager
def _written_log(path: str) -> Iterator[int]:
    """The file of the write-ahead log, for `fsync`."""
    handle = os.open(f"{path}-wal", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _bytes(connection: apsw.Connection) -> int:
    return int(connection.pragma("page_count") * connection.pragma("page_size"))


def _check_room(path: str, live: int) -> None:
    """Refuse if there is no room for the copy and for the log of its way back."""
    needed, free = 2 * live + MARGIN_BYTES, shutil.disk_usage(os.path.dirname(path)).free
    if free < needed:
        raise StoreFull(
            f"{path} cannot be written anew: that takes {needed >> 20} MiB of the disk for a while, and {free >> 20} "
            "MiB are free"
        )


def _disturbed(path: str) -> Disturbed:
    return Disturbed(f"somebody wanted to write to {path}, and came first; nothing was changed")
