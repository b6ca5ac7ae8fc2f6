"""The session of a reservation. It lives for as long as this program holds the reservation."""

from __future__ import annotations

import logging
import secrets
import threading
from time import monotonic

from holdfast.core.access import SECRET_BYTES
from holdfast.core.errors import HoldfastError
from holdfast.core.job import Millis
from holdfast.core.messages.sessions import NewSession
from holdfast.hosting.engine_access import EngineAccess
from holdfast.runtime.node import boot_id, node_name, process_id
from holdfast.runtime.sessions.heartbeat import BEAT_S
from holdfast.runtime.sessions.session import lock_folder
from holdfast.store.locks import LifeLock
from holdfast.store.script_names import sessions

SHORTEST_S = 0.01

log = logging.getLogger("holdfast.client")


class ReservationSession:
    """A session without a worker. Once it is gone, other processes end what it had reserved."""

    def __init__(self, access: EngineAccess) -> None:
        self._access = access
        self.session_id = access.new_id()
        access.engine.open()
        path = lock_folder(access.engine) / self.session_id
        self._lock = LifeLock(path)
        node = access.engine.node
        self._secret = secrets.token_urlsafe(SECRET_BYTES)
        row = NewSession(
            self.session_id,
            "embedded",
            node,
            boot_id(),
            process_id(),
            str(path),
            host=node_name(),
            secret=self._secret,
        )
        try:
            access.write(sessions.open_session, row, None, access.now())
        except BaseException:
            self._lock.release()
            raise
        self.is_alive = True
        self._expiry: tuple[Millis, str] | None = None
        self._stirred = threading.Event()
        self._heart = threading.Thread(target=self._live, name="holdfast-reservation", daemon=True)
        self._heart.start()

    def tell_at(self, moment: Millis, text: str) -> None:
        """Warn with this text at a moment."""
        self._expiry = (moment, text)
        self._stirred.set()

    def tell(self) -> None:
        """Warn now, if that has not been done."""
        expiry, self._expiry = self._expiry, None
        if expiry is not None:
            log.warning("%s; jobs may start there again", expiry[1])

    def end(self) -> None:
        """Close the session."""
        self.is_alive = False
        self._stirred.set()
        self._heart.join()
        try:
            self._access.write(sessions.close_session, self.session_id, "success", self._access.now(), self._secret)
        finally:
            self._lock.release()

    def _live(self) -> None:
        next_beat = monotonic() + BEAT_S
        while self.is_alive:
            self._stirred.wait(max(SHORTEST_S, min(next_beat - monotonic(), self._until_expiry())))
            self._stirred.clear()
            if self._expiry is not None and self._access.now() >= self._expiry[0]:
                self.tell()
            if self.is_alive and monotonic() >= next_beat:
                next_beat = monotonic() + BEAT_S
                self._beat()

    def _until_expiry(self) -> float:
        return BEAT_S if self._expiry is None else (self._expiry[0] - self._access.now()) / 1000

    def _beat(self) -> None:
        try:
            if not self._access.write(sessions.beat, self.session_id, self._access.now(), self._secret):
                log.warning("others took this program for dead; its reservation has ended")
                self.is_alive = False
        except HoldfastError as error:
            log.warning("the reservation could not be kept alive: %s; trying again", error)
