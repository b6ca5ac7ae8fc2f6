"""The status of a daemon, as it tells it itself."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis


class PlaceStatus(Struct, frozen=True):
    """A worker that the daemon keeps: its process, how often it was started again, and whether that helps.

    `last_end` is how the process before ended, `last_words` is why, if it could say so.
    """

    name: str
    pid: int | None
    restarts: int
    is_crash_looping: bool
    last_end: str | None
    last_words: str | None = None

    @property
    def end(self) -> str:
        """How the process before ended, and why."""
        return f"{self.last_end}: {self.last_words}" if self.last_words else self.last_end or "has not ended yet"


class DaemonStatus(Struct, frozen=True, kw_only=True):
    """What the daemon is, where its files are, and how its workers are. `store` is a path, or where the server is.

    `trouble` is what keeps it from writing there, in words. `is_pressure_off`: its machine is never under pressure.
    `clock_off_ms` is how far the clock of its machine is ahead of that of its server; `clock_doubt` is why it does
    nothing by that clock for now. `lost_notifications` is why it does not hear what others commit, and
    `unreadable_notifications` what was sent to it that cannot be read.
    """

    version: str
    pid: int
    node: str
    started_at: Millis
    home: str
    socket: str
    tcp: str | None
    store: str
    dialect: str
    settings: str | None
    workers: list[PlaceStatus]
    trouble: str | None = None
    is_pressure_off: bool = False
    clock_off_ms: Millis = 0
    clock_doubt: str | None = None
    lost_notifications: str | None = None
    unreadable_notifications: str | None = None
