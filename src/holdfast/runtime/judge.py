"""Is a session's process alive? On this machine a fact, on another a patient guess; never wrong about the living."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from holdfast.core.job import SessionId
from holdfast.store.locks import is_locked
from holdfast.store.scripts.sessions import SessionRow

LEASE_S = 30.0
LONGEST_LOOK_S = 5.0


class Verdict(StrEnum):
    """What the judge knows."""

    ALIVE = "alive"
    UNSURE = "unsure"
    GONE = "gone"
    REBOOTED = "rebooted"


class Sighting(Struct):
    """How long a session's heartbeat has been seen standing still."""

    heartbeat: int
    still_for: float
    seen_at: float


class Judge:
    """Keeps what it has seen itself; wall clocks of others are never compared.

    `locks` is the folder that holds the locks of all sessions, where they are all on this machine. It is found by this
    process's own path: another one may have the same folder under another name, in a container say.
    """

    def __init__(self, boot_id: str, node: str, *, locks: Path | None, lease: float = LEASE_S) -> None:
        self._boot_id = boot_id
        self._node = node
        self._locks = locks
        self._lease = lease
        self._sightings: dict[SessionId, Sighting] = {}

    def look(self, session: SessionRow, monotonic: float) -> Verdict:
        """Judge one session."""
        same_boot = session.boot_id == self._boot_id
        path = self.lock_of(session)
        if path is not None and (same_boot or self._locks is not None):
            locked = is_locked(path)
            if locked is not None:
                return Verdict.ALIVE if locked else Verdict.GONE if same_boot else Verdict.REBOOTED
        return self._by_heartbeat(session, monotonic, same_boot)

    def lock_of(self, session: SessionRow) -> str | None:
        """Where this process finds the lock of a session."""
        return session.lock_path if self._locks is None else str(self._locks / session.id)

    def forget(self, known: set[SessionId]) -> None:
        """Drop the sightings of sessions that have ended."""
        self._sightings = {id_: seen for id_, seen in self._sightings.items() if id_ in known}

    def _by_heartbeat(self, session: SessionRow, monotonic: float, same_boot: bool) -> Verdict:
        seen = self._sightings.get(session.id)
        if seen is None or seen.heartbeat != session.heartbeat:
            self._sightings[session.id] = Sighting(session.heartbeat, 0.0, monotonic)
            return Verdict.UNSURE
        # A judge that was itself stopped or suspended must not count that time as the other one's silence.
        seen.still_for += min(max(monotonic - seen.seen_at, 0.0), LONGEST_LOOK_S)
        seen.seen_at = monotonic
        if seen.still_for < self._lease:
            return Verdict.UNSURE
        return Verdict.REBOOTED if session.node == self._node and not same_boot else Verdict.GONE
