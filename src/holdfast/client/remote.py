"""A client of the daemon that only asks and tells: the lighter sibling of `Holdfast`, for the command line."""

from __future__ import annotations

import msgspec

from holdfast.client.operations import Operations
from holdfast.client.store_access import StoreAccess
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import new_uuid
from holdfast.wire.home import find_daemon
from holdfast.wire.remote import RemoteEngine
from holdfast.wire.status import DaemonStatus


class Client(Operations):
    """Everything of `Holdfast` but tasks and running them."""

    def __init__(self) -> None:
        self.engine = RemoteEngine(find_daemon())
        self._access = StoreAccess(self.engine, SystemClock(), new_uuid)

    def daemon(self) -> DaemonStatus:
        """Who the daemon is, and how the workers are that it keeps."""
        return msgspec.json.decode(self.engine.transport.call("GET", "/v1/daemon"), type=DaemonStatus)
