"""Settle what dead processes hold, while a caller in this program waits for it."""

from __future__ import annotations

import logging
import threading

from holdfast.core.errors import HoldfastError
from holdfast.core.job import SessionId
from holdfast.hosting.engine_access import EngineAccess
from holdfast.runtime.node import boot_id
from holdfast.runtime.sessions.judge import Judge
from holdfast.runtime.sessions.recovery import Recovery
from holdfast.runtime.sessions.session import lock_folder

LOOK_S = 1.0

log = logging.getLogger("holdfast.recovery")


class RecoveryThread:
    """Settles what dead processes hold, from its making until `end`. Without a daemon, no other process may do it."""

    def __init__(self, access: EngineAccess, own: SessionId) -> None:
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        if access.engine.is_remote:
            return  # The daemon does it.
        engine = access.engine
        locks = None if engine.is_shared else lock_folder(engine)
        self._recovery = Recovery(engine, access.clock, Judge(boot_id(), lambda: engine.node, locks=locks), own)
        self._thread = threading.Thread(target=self._work, name="holdfast-recovery", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the thread, and wait for its end."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        import asyncio

        while True:
            try:
                asyncio.run(self._recovery.tick())
            except HoldfastError as error:
                log.warning("whether others are gone could not be seen: %s; trying again", error)
            if self._over.wait(LOOK_S):
                return
