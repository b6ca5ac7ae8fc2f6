"""Is a session's process alive? On this machine a fact, on another a patient guess; never wrong about the living."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from holdfast.core.job import SessionId
from holdfast.store.locks import is_locked
from holdfast.store.scripts.sessions import SessionRow

LEASE_S = 30.0
BEATS = 3  # in a lease
LONGEST_LOOK_S = 5.0
# After this time, whoever spoke with an earlier daemon has found the next one.
RECONNECT_S = 15.0


class Verdict(StrEnum):
    """What the judge knows."""

    ALIVE = "alive"
    UNSURE = "unsure"
    HUNG = "hung"
    GONE = "gone"
    REBOOTED = "rebooted"


class Sighting(Struct):
    """How long a session's heartbeat has been seen standing still; `pulse` is the judge's own at the first sight."""

    heartbeat: int
    still_for: float
    seen_at: float
    pulse: int
    patience: float


class Judge:
    """Keeps what it has seen itself; wall clocks of others are never compared. `node` tells the id of its own machine.

    `locks` is the folder that holds the locks of all sessions, where they are all on this machine. It is found by this
    process's own path: another one may have the same folder under another name, in a container say.
    """

    def __init__(self, boot_id: str, node: Callable[[], str], *, locks: Path | None, lease: float = LEASE_S) -> None:
        self._boot_id = boot_id
        self._node = node
        self._locks = locks
        self._lease = lease
        self._sightings: dict[SessionId, Sighting] = {}
        self._rounds = 0

    def look(self, session: SessionRow, monotonic: float, pulse: int = 0) -> Verdict:
        """Judge one session. `pulse` counts the judge's own heartbeats, and with that whether any can be stored."""
        same_boot = session.boot_id == self._boot_id
        for path in self._locks_of(session, same_boot):
            locked = is_locked(path)
            if locked:
                return self._of_living(session, monotonic, pulse)
            if locked is not None:
                return Verdict.GONE if same_boot else Verdict.REBOOTED
        return self._by_heartbeat(session, monotonic, same_boot)

    def _locks_of(self, session: SessionRow, same_boot: bool) -> list[str]:
        """Where this process may find the lock of a session."""
        paths = [] if self._locks is None else [str(self._locks / session.id)]
        if same_boot and session.lock_path is not None:
            # A worker that came by TCP holds it elsewhere.
            paths.append(session.lock_path)
        return paths

    def forget(self, known: set[SessionId]) -> None:
        """Begin a round of looks; sightings of sessions that have ended are dropped."""
        self._rounds += 1
        self._sightings = {id_: seen for id_, seen in self._sightings.items() if id_ in known}

    def _of_living(self, session: SessionRow, monotonic: float, pulse: int) -> Verdict:
        """A worker does nothing but work: one that is silent while others are heard hangs. Other programs may stop."""
        if session.kind != "worker":
            return Verdict.ALIVE
        seen = self._see(session, monotonic, pulse)
        is_hung = seen.still_for >= seen.patience and pulse - seen.pulse >= BEATS - 1
        return Verdict.HUNG if is_hung else Verdict.ALIVE

    def _by_heartbeat(self, session: SessionRow, monotonic: float, same_boot: bool) -> Verdict:
        seen = self._see(session, monotonic, 0)
        if seen.still_for < seen.patience:
            return Verdict.UNSURE
        return Verdict.REBOOTED if session.node_id == self._node() and not same_boot else Verdict.GONE

    def _see(self, session: SessionRow, monotonic: float, pulse: int) -> Sighting:
        seen = self._sightings.get(session.id)
        if seen is None or seen.heartbeat != session.heartbeat or pulse < seen.pulse:
            # Who is there already at the first look may have to find its way here first.
            is_from_before = seen is None and self._rounds <= 1
            patience = max(self._lease, RECONNECT_S) if is_from_before else self._lease
            seen = self._sightings[session.id] = Sighting(session.heartbeat, 0.0, monotonic, pulse, patience)
            return seen
        # A judge that was itself stopped or suspended must not count that time as the other one's silence.
        seen.still_for += min(max(monotonic - seen.seen_at, 0.0), LONGEST_LOOK_S)
        seen.seen_at = monotonic
        return seen
