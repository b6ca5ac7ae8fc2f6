"""This process as a session: its life lock, its row, its heartbeat."""

from __future__ import annotations

import secrets
from pathlib import Path

from holdfast.core.access import SECRET_BYTES
from holdfast.core.job import SessionId
from holdfast.runtime.clock import Clock
from holdfast.runtime.node import boot_id, node_name, own_tokens, process_id
from holdfast.store.engine import Engine
from holdfast.store.locks import LifeLock
from holdfast.store.scripts import sessions
from holdfast.store.scripts.sessions import NewSession, Offer
from holdfast.store.scripts.tokens import TokenSetting

# What stands in the lock file of a session whose process is not the daemon's to end.
GUEST = "guest"


class Session:
    """One life of a process that claims jobs. The lock comes before the row, and goes after it.

    `is_guest`: the process belongs to somebody who does other things with it; nobody ends it because it stands still.
    `tokens` is what somebody decided that the machine has; otherwise it is what the machine looks like.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        session_id: SessionId,
        kind: str = "embedded",
        *,
        is_guest: bool = False,
        tokens: TokenSetting | None = None,
    ) -> None:
        self.id = session_id
        self.secret = secrets.token_urlsafe(SECRET_BYTES)
        self._is_guest = is_guest
        self._engine = engine
        self._clock = clock
        self._kind = kind
        self._tokens = tokens or TokenSetting(tokens=own_tokens())
        self._lock: LifeLock | None = None

    async def open(self, offer: Offer | None) -> None:
        """Begin: from here on the runs of this session are its own until the kernel says it is dead."""
        path = lock_folder(self._engine) / self.id
        self._lock = LifeLock(path)
        if self._is_guest:
            path.write_text(GUEST)
        node = self._engine.node
        row = NewSession(
            self.id, self._kind, node, boot_id(), process_id(), str(path), self._tokens, node_name(), self.secret
        )
        try:
            await self._engine.write(sessions.open_session, row, offer, self._clock.now())
        except BaseException:
            self._lock.release()
            raise

    async def announce_stop(self) -> None:
        """From here on nothing that is left open counts as a crash."""
        if self._lock is None:
            return
        await self._engine.write(sessions.note_stop_request, self.id, self._clock.now())

    def abandon(self) -> None:
        """Others have settled this session: its lock means nothing any more."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    async def close(self) -> bool:
        """End in order. False while a run is still open: then the lock stays until the process is gone."""
        if self._lock is None:
            return True
        if not await self._engine.write(sessions.close_session, self.id, "success", self._clock.now(), self.secret):
            open_ones = await self._engine.read(sessions.running_sessions)
            # A run that ended at the last moment may have closed it already.
            if any(session.id == self.id for session in open_ones):
                return False
        self._lock.release()
        return True


def lock_folder(engine: Engine) -> Path:
    """Where the life locks of the sessions of this database are."""
    return engine.locks / "sessions"
