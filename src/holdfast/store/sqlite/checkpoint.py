"""When and how the writer moves the write-ahead log into the database, so that it cannot grow without bound.

All processes share one log. A process counts its length when it commits, whichever process filled it.
"""

from __future__ import annotations

import time

import apsw

CHECKPOINT_PAGES = 2_000
TRUNCATE_PAGES = 8_000
PATIENT_PAGES = 16_000  # 64 MiB: worth waiting until the slowest reader is done
PATIENT_TRIES = 25
AGAIN_S = 5.0


class Checkpoints:
    """Follows the length of the log. Lives on the writer's thread."""

    def __init__(self) -> None:
        self._pages = 0
        self._at = CHECKPOINT_PAGES
        self._tried_at = 0.0

    def adopt(self, connection: apsw.Connection) -> None:
        """Follow this connection from now on."""
        connection.set_wal_hook(self._note_length)
        connection.pragma("journal_size_limit", TRUNCATE_PAGES * connection.pragma("page_size"))

    @property
    def is_due(self) -> bool:
        """Whether the log has grown enough, or is very long and the last try was a while ago."""
        is_overdue = self._pages >= PATIENT_PAGES and time.monotonic() - self._tried_at > AGAIN_S
        return self._pages >= self._at or is_overdue

    def run(self, connection: apsw.Connection) -> None:
        """Move the log into the database. The caller holds the write lock. BusyError: a reader needs old pages."""
        pages, has_grown = self._pages, self._pages >= self._at
        # If it fails, it is tried again when the log has grown some more.
        self._at = pages + max(CHECKPOINT_PAGES, pages // 4)
        self._tried_at = time.monotonic()
        if pages < TRUNCATE_PAGES:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            return
        # Many short tries: a long one would go on waiting for the slot of a reader that a newer reader has taken since.
        for tries_left in reversed(range(PATIENT_TRIES if has_grown and pages >= PATIENT_PAGES else 1)):
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                break
            except apsw.BusyError:
                if not tries_left:
                    raise
        self._pages, self._at = 0, CHECKPOINT_PAGES

    def _note_length(self, connection: apsw.Connection, database: str, pages: int) -> int:
        if pages < self._pages:
            # It began anew at its start.
            self._at = CHECKPOINT_PAGES
        self._pages = pages
        return apsw.SQLITE_OK
