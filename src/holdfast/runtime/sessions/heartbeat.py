"""The heartbeat of a session. It notices if another process has settled the session as dead."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core.job import SessionId
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import LONGEST_PAUSE_S, Loop
from holdfast.store.engine import Engine
from holdfast.store.scripts.sessions import sessions

BEAT_S = 10.0


class Heartbeat(Loop):
    """One beat every ten seconds, or as often as the lease asks for."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        session_id: SessionId,
        on_lost: Callable[[], None],
        every: Callable[[], float] = lambda: BEAT_S,
        secret: str | None = None,
    ) -> None:
        super().__init__(clock)
        self._engine = engine
        self._session_id = session_id
        self._on_lost = on_lost
        self._every = every
        self._secret = secret

    @property
    def longest_pause(self) -> float:
        """The time between two beats. After a failure of the store, a session that is later is taken for hung."""
        return min(LONGEST_PAUSE_S, self._every())

    async def tick(self) -> float | None:
        if not await self._engine.write(sessions.beat, self._session_id, self.clock.now(), self._secret):
            self._on_lost()
            return None
        return self._every()
