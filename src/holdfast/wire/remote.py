"""An engine in another process: scripts run in the daemon, by the call of the same name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.decoding import decode
from holdfast.store.engine import AwaitableCalls, Changes, Listener, announce
from holdfast.store.forks import forget_after_fork
from holdfast.store.machine import boot_id, node_id
from holdfast.store.statements import Dialect
from holdfast.store.topics import UNKNOWN
from holdfast.wire.calls import PROTOCOL, ApiCall, Hello, call_of
from holdfast.wire.home import Address, Home
from holdfast.wire.http import quoted
from holdfast.wire.left_hello import left_at_home
from holdfast.wire.peer import LONGEST_PAUSE_S, Peer
from holdfast.wire.special_calls import CHANGES
from holdfast.wire.told_changes import ToldChanges
from holdfast.wire.transport import Transport

if TYPE_CHECKING:
    from holdfast.store.maintenance import DatabaseMaintenance
    from holdfast.wire.async_transport import AsyncTransport

T = TypeVar("T")

THREADS = 8
FIRST_RECONNECT_S = 0.05
GREETING = b": hello"
LONGEST_QUERY = 4_000


class RemoteEngine(AwaitableCalls):
    """A daemon, used like an engine. Only what has a call can run."""

    dialect = Dialect.SQLITE

    def __init__(self, address: Address) -> None:
        self.address = address
        self._listeners: list[Listener] = []
        self._hello: Hello | None = None
        self._async_transport: AsyncTransport | None = None
        self._following: threading.Thread | None = None
        self._start_fresh()
        forget_after_fork(self)

    @property
    def daemon(self) -> Self:
        return self

    @property
    def title(self) -> str:
        return f"daemon at {self.address}"

    @property
    def identity(self) -> str:
        return str(self.address)

    def maintenance(self) -> DatabaseMaintenance:
        raise InvalidInput("the database of a daemon is looked after by the daemon")

    @property
    def is_open(self) -> bool:
        return True

    def open(self) -> None:
        """Check that a daemon answers, and speaks our protocol."""
        self._peer.is_given_up = False
        hello = decode(self.transport.call("GET", f"/v1/hello?protocol={PROTOCOL}"), Hello)
        if hello.protocol != PROTOCOL:
            raise HoldfastError(
                f"the daemon at {self.address} is version {hello.version} and speaks protocol {hello.protocol}, this "
                f"program speaks {PROTOCOL}; bring both to the same version"
            )
        self._hello = hello

    @property
    def node(self) -> str:
        """The id of the machine of the daemon, if this program is on it. Another machine has an id beside its locks."""
        said = self._said()
        is_there = self.address.socket is not None or said.boot_id == boot_id()
        return said.node_id if is_there else node_id(self.locks)

    @property
    def is_shared(self) -> bool:
        return self._said().dialect == Dialect.POSTGRES

    @property
    def locks(self) -> Path:
        """The folder where the daemon looks for the life locks of its workers. On another machine, any folder."""
        return self._folder("locks")

    @property
    def files(self) -> Path:
        """Where the logs and artifacts of jobs are."""
        return self._folder("files")

    @property
    def lease(self) -> float:
        return self._said().lease_ms / 1000

    @property
    def stuck(self) -> float:
        return self._said().stuck_ms / 1000

    @property
    def home(self) -> Path | None:
        return None if self.address.socket is None else Path(self.address.socket).parent

    @property
    def is_gone(self) -> bool:
        return self._peer.is_there() is False

    def give_up(self) -> None:
        self._peer.is_given_up = True

    def submit(self, script: Callable[..., T], *args: Any, **kw: Any) -> Future[T]:
        call = call_of(script)
        if call is not None and call.is_urgent:
            return self._urgent_threads.submit(self._call, script, args, kw)
        # The call belongs to the trace of its caller, whatever thread sends it.
        return self._threads.submit(copy_context().run, self._call, script, args, kw)

    def run(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self._call(script, args, kw)  # type: ignore[no-any-return]

    def query(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self._call(script, args, kw)  # type: ignore[no-any-return]

    def ask(self, procedure: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self._call(procedure, args, kw)  # type: ignore[no-any-return]

    async def write(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        import asyncio

        transport = self._async_transport
        if transport is None or transport.loop is not asyncio.get_running_loop():
            return await asyncio.wrap_future(self.submit(script, *args, **kw))
        encoded = _encoded(script, args, kw)
        answer = await transport.call(
            encoded.call.method, encoded.path, encoded.body, again=encoded.again, is_repeatable=encoded.is_repeatable
        )
        return encoded.call.decoder.decode(answer)  # type: ignore[no-any-return]

    async def read(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return await self.write(script, *args, **kw)

    def open_line(self, listener: Listener, tasks: Collection[str]) -> Callable[[], None]:
        import asyncio

        from holdfast.wire.async_transport import AsyncTransport

        self._peer.come_inside()
        transport = self._async_transport = AsyncTransport(self._peer)
        following = asyncio.create_task(
            self._follow_on(transport, listener, changes_path(tasks)), name="holdfast-changes"
        )

        def leave() -> None:
            following.cancel()
            transport.close()
            if self._async_transport is transport:
                self._async_transport = None

        return leave

    def listen(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)
        with self._lock:
            if self._following is None:
                self._following = threading.Thread(target=self._follow, name="holdfast-changes", daemon=True)
                self._following.start()

        def leave() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return leave

    def check(self) -> list[str]:
        """Nothing is checked from here: `ask(examine)` has the daemon look."""
        return []

    def close(self) -> None:
        self._closing.set()
        for threads in (self._threads, self._urgent_threads):
            threads.shutdown(wait=True)
        self.transport.close()
        self._start_fresh()

    def forget(self) -> object:
        inherited = (self._threads, self._urgent_threads, self.transport, self._following)
        self._listeners = []
        self._start_fresh()
        return inherited

    def _start_fresh(self) -> None:
        self._peer = Peer(self.address)
        self.transport = Transport(self._peer)
        self._async_transport = None
        self._hello = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(THREADS, "holdfast-call")
        # A heartbeat or an exchange does not wait behind the calls of users.
        self._urgent_threads = ThreadPoolExecutor(2, "holdfast-urgent")
        self._following = None

    def _said(self) -> Hello:
        if self._hello is None and self.address.lock is not None:
            self._hello = left_at_home(Home(Path(self.address.lock).parent))
        if self._hello is None:
            self.open()
        assert self._hello is not None
        return self._hello

    def _folder(self, name: str) -> Path:
        told = Path(getattr(self._said(), name))
        if self.address.socket is not None:
            return told
        # Each user has a folder of their own, or the first one would keep all others out.
        from holdfast.store.temporary import own_folder  # Callers by the socket need not import it.

        return own_folder("holdfast-remote") / name

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        encoded = _encoded(function, args, kw)
        answer = self.transport.call(
            encoded.call.method, encoded.path, encoded.body, again=encoded.again, is_repeatable=encoded.is_repeatable
        )
        return encoded.call.decoder.decode(answer)

    def _follow(self) -> None:
        """Pass on what changes in the daemon. After a gap, the listeners are told that something may have changed."""
        closing, transport, pause = self._closing, self.transport, FIRST_RECONNECT_S
        while not (closing.is_set() or self._is_unheard()):
            with suppress(HoldfastError, msgspec.DecodeError):
                for line in transport.lines(CHANGES.path):
                    if closing.is_set() or self._is_unheard():
                        return
                    pause = FIRST_RECONNECT_S
                    if line.startswith(GREETING):
                        self.open()  # It may be another daemon, with other settings.
                    changes = _heard(line)
                    if changes is not None:
                        self._announce(changes)
            closing.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _is_unheard(self) -> bool:
        """Whether there is no listener left. The next `listen` starts another thread."""
        with self._lock:
            if self._listeners:
                return False
            self._following = None
            return True

    async def _follow_on(self, transport: AsyncTransport, listener: Listener, path: str) -> None:
        """As `_follow`, on the event loop of a worker."""
        import asyncio

        pause = FIRST_RECONNECT_S
        while True:
            with suppress(HoldfastError, msgspec.DecodeError):
                async with aclosing(transport.lines(path)) as lines:
                    async for line in lines:
                        pause = FIRST_RECONNECT_S
                        if line.startswith(GREETING):
                            await asyncio.to_thread(self.open)
                        changes = _heard(line)
                        if changes is not None:
                            announce(changes, [listener])
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _announce(self, changes: Changes) -> None:
        announce(changes, self._listeners)


class EncodedCall(msgspec.Struct, frozen=True):
    """A call as it is sent. `again` is the body of a repeated call, if that has one of its own."""

    call: ApiCall
    path: str
    body: bytes | None
    again: bytes | None
    is_repeatable: bool


def _encoded(function: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> EncodedCall:
    call = call_of(function)
    if call is None:
        raise HoldfastError(f"the daemon has no call for {function.__name__}; open the database itself for that")
    values = call.values(args, kw)
    path = call.path.format(**{name: quoted(values.pop(name)) for name in call.in_path})
    body = again = None
    if call.has_body:
        body = msgspec.json.encode(values)
        if call.marks_repeats:
            again = msgspec.json.encode(values | {"repeated": True})
    elif values:
        path += "?" + "&".join(f"{name}={quoted(value)}" for name, value in values.items() if value is not None)
    return EncodedCall(call, path, body, again, call.is_repeatable(values))


def changes_path(tasks: Collection[str]) -> str:
    """Where a worker of these tasks reads changes. If they are too many for an address, it reads all."""
    query = "&".join(f"tasks={quoted(task)}" for task in sorted(tasks))
    return f"{CHANGES.path}?{query}" if 0 < len(query) <= LONGEST_QUERY else CHANGES.path


def _heard(line: bytes) -> Changes | None:
    """The changes that a line of the stream tells. With its greeting, something may have been missed before."""
    if line.startswith(b"data: "):
        return ToldChanges.read(line[6:])
    return Changes(topics={UNKNOWN}) if line.startswith(GREETING) else None
