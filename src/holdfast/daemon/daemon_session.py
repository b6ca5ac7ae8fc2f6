"""The session of the daemon. If others took it for dead, it opens another one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from holdfast.core.errors import HoldfastError
from holdfast.core.job import SessionId
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.telemetry import RaisedError
from holdfast.runtime.clock import Clock
from holdfast.runtime.sessions.heartbeat import Heartbeat
from holdfast.runtime.sessions.session import Session
from holdfast.store.engine import Engine, new_uuid

TRY_AGAIN_S = 1.0

log = logging.getLogger("holdfast.daemon")


class DaemonSession:
    """A session with its heartbeat. A daemon that stood still for too long opens a new session."""

    def __init__(self, engine: Engine, clock: Clock, every: float, tokens: TokenSetting | None = None) -> None:
        self._engine = engine
        self._clock = clock
        self._every = every
        self._tokens = tokens
        self._renewing: asyncio.Task[None] | None = None
        self._renewed: Callable[[SessionId], None] = lambda _: None
        self._session = self._new_session()
        self._heartbeat = self._new_heartbeat()

    @property
    def id(self) -> SessionId:
        """The session."""
        return self._session.id

    def on_renewed(self, tell: Callable[[SessionId], None]) -> None:
        """Have `tell` called with the id of every new session."""
        self._renewed = tell

    async def start(self) -> None:
        """Begin."""
        await self._session.open(None)
        self._heartbeat.start()

    async def stop(self, error: RaisedError | None = None) -> None:
        """Close the session, with the exception that ended the daemon."""
        if self._renewing is not None:
            self._renewing.cancel()
        await self._heartbeat.stop()
        try:
            await self._session.close(error)
        except HoldfastError as trouble:
            said = "the daemon's session could not be closed, it is settled when this process is gone"
            log.warning("%s: %s", said, trouble)

    def _new_session(self) -> Session:
        return Session(self._engine, self._clock, new_uuid(), "daemon", tokens=self._tokens)

    def _new_heartbeat(self) -> Heartbeat:
        return Heartbeat(
            self._engine, self._clock, self._session.id, self._lost, lambda: self._every, self._session.secret
        )

    def _lost(self) -> None:
        self._renewing = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        log.error("others took this daemon for dead; it goes on under a new name", extra={"event": "daemon_lost"})
        old, self._session = self._session, self._new_session()
        await self._heartbeat.stop()
        self._heartbeat = self._new_heartbeat()
        old.abandon()
        while True:
            try:
                await self.start()
                break
            except (HoldfastError, OSError) as error:
                log.error("it cannot: %s; trying again", error)
                await asyncio.sleep(TRY_AGAIN_S)
        self._renewed(self.id)
