"""Whether the process of a session lives. On this machine that is known by its lock, on another by its heartbeat."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from holdfast.core.job import SessionId
from holdfast.core.messages.sessions import SessionRow
from holdfast.store.locks import is_locked

LEASE_S = 30.0
BEATS = 3  # in a lease
LONGEST_LOOK_S = 5.0
# Within this time, workers of an earlier daemon find the next one.
RECONNECT_S = 15.0


class LifeVerdict(StrEnum):
    """What is known of a session."""

    ALIVE = "alive"
    UNSURE = "unsure"
    HUNG = "hung"
    GONE = "gone"
    REBOOTED = "rebooted"


class Sighting(Struct):
    """How long the heartbeat of a session has not changed. `pulse` is the judge's own at the first look."""

    heartbeat: int
    still_for: float
    seen_at: float
    pulse: int
    patience: float


class Judge:
    """Judges by what it has seen itself, and never by the wall clocks of others. `node` is the id of its own machine.

    `locks` is the folder of the locks of all sessions, if all are on this machine. It is a path of this process: in a
    container, another process may know the same folder by another path.
    """

    def __init__(self, boot_id: str, node: Callable[[], str], *, locks: Path | None, lease: float = LEASE_S) -> None:
        self._boot_id = boot_id
        self._node = node
        self._locks = locks
        self._lease = lease
        self._sightings: dict[SessionId, Sighting] = {}
        self._rounds = 0

    def look(self, session: SessionRow, monotonic: float, pulse: int = 0) -> LifeVerdict:
        """Judge one session. `pulse` counts the judge's own heartbeats, which shows whether any can be stored."""
        same_boot = session.boot_id == self._boot_id
        for path in self._locks_of(session, same_boot):
            locked = is_locked(path)
            if locked:
                return self._of_living(session, monotonic, pulse)
            if locked is not None:
                return LifeVerdict.GONE if same_boot else LifeVerdict.REBOOTED
        return self._by_heartbeat(session, monotonic, same_boot)

    def _locks_of(self, session: SessionRow, same_boot: bool) -> list[str]:
        """Where this process may find the lock of a session."""
        paths = [] if self._locks is None else [str(self._locks / session.id)]
        if same_boot and session.lock_path is not None:
            # A worker that calls by TCP has it elsewhere.
            paths.append(session.lock_path)
        return paths

    def forget(self, known: set[SessionId]) -> None:
        """Begin a round of looks, and forget sessions that have ended."""
        self._rounds += 1
        self._sightings = {id_: seen for id_, seen in self._sightings.items() if id_ in known}

    def _of_living(self, session: SessionRow, monotonic: float, pulse: int) -> LifeVerdict:
        """A living worker hangs if it is silent for too long while heartbeats can be stored. Other programs may be."""
        if session.kind != "worker":
            return LifeVerdict.ALIVE
        seen = self._see(session, monotonic, pulse)
        is_hung = seen.still_for >= seen.patience and pulse - seen.pulse >= BEATS - 1
        return LifeVerdict.HUNG if is_hung else LifeVerdict.ALIVE

    def _by_heartbeat(self, session: SessionRow, monotonic: float, same_boot: bool) -> LifeVerdict:
        seen = self._see(session, monotonic, 0)
        if seen.still_for < seen.patience:
            return LifeVerdict.UNSURE
        return LifeVerdict.REBOOTED if session.node_id == self._node() and not same_boot else LifeVerdict.GONE

    def _see(self, session: SessionRow, monotonic: float, pulse: int) -> Sighting:
        seen = self._sightings.get(session.id)
        if seen is None or seen.heartbeat != session.heartbeat or pulse < seen.pulse:
            # A session that is there at the first look may have to find this daemon first.
            is_from_before = seen is None and self._rounds <= 1
            patience = max(self._lease, RECONNECT_S) if is_from_before else self._lease
            seen = self._sightings[session.id] = Sighting(session.heartbeat, 0.0, monotonic, pulse, patience)
            return seen
        # The time in which the judge itself was suspended must not count as silence of the other.
        seen.still_for += min(max(monotonic - seen.seen_at, 0.0), LONGEST_LOOK_S)
        seen.seen_at = monotonic
        return seen
