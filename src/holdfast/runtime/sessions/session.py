"""This process as a session: its life lock, its row, its heartbeat."""

from __future__ import annotations

import secrets
from pathlib import Path

from holdfast.core.access import SECRET_BYTES
from holdfast.core.job import SessionId
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.messages.telemetry import RaisedError
from holdfast.runtime.clock import Clock
from holdfast.runtime.node import boot_id, node_name, own_tokens, process_id
from holdfast.store.engine import Engine
from holdfast.store.locks import LifeLock
from holdfast.store.scripts.sessions import sessions

# The contents of the lock file of a session whose process the daemon must not end.
GUEST = "guest"


class Session:
    """One life of a process that claims jobs. The lock is taken before the row is made, and outlives it.

    `is_guest`: the process does other things too, so it is not ended if it hangs. `tokens` are the tokens that were set
    for the machine. Without them, they are found out.
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
        """Open the session. From here on its runs are its own, until the kernel shows that it is dead."""
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
        """Note that it stops. From here on, open runs do not count as a crash."""
        if self._lock is None:
            return
        await self._engine.write(sessions.note_stop_request, self.id, self._clock.now())

    def abandon(self) -> None:
        """Release the lock of a session that others have settled."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    async def close(self, error: RaisedError | None = None) -> bool:
        """Close the session, with the exception that ended it.

        False while a run is open: then the lock stays until the process is gone.
        """
        if self._lock is None:
            return True
        status = "success" if error is None else "error"
        now = self._clock.now()
        if not await self._engine.write(sessions.close_session, self.id, status, now, self.secret, error):
            open_ones = await self._engine.read(sessions.running_sessions)
            # It may have been closed already, by a run that ended at the last moment.
            if any(session.id == self.id for session in open_ones):
                return False
        self._lock.release()
        return True


def lock_folder(engine: Engine) -> Path:
    """Where the life locks of the sessions of this database are."""
    return engine.locks / "sessions"
