"""Who settles what dead processes hold, for as long as somebody in this program waits for it."""

from __future__ import annotations

import logging
import threading

from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import HoldfastError
from holdfast.core.job import SessionId
from holdfast.runtime.judge import Judge
from holdfast.runtime.node import boot_id
from holdfast.runtime.recovery import Recovery
from holdfast.runtime.session import lock_folder
from holdfast.store.statements import Dialect
from holdfast.wire.remote import RemoteEngine

LOOK_S = 1.0

log = logging.getLogger("holdfast.client")


class Undertaker:
    """While somebody waits: settles what dead processes hold. Without a daemon, nobody else may be there to do it."""

    def __init__(self, access: StoreAccess, own: SessionId) -> None:
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        if isinstance(access.engine, RemoteEngine):
            return  # That is the daemon's business.
        engine = access.engine
        locks = lock_folder(engine) if engine.dialect is Dialect.SQLITE else None
        self._recovery = Recovery(engine, access.clock, Judge(boot_id(), lambda: engine.node, locks=locks), own)
        self._thread = threading.Thread(target=self._work, name="holdfast-undertaker", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look at nobody any more."""
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
