"""An engine that is somewhere else: scripts run in the daemon, by the call of the same name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from holdfast.core.errors import HoldfastError
from holdfast.store.engine import AwaitableCalls, Changes, Listener, announce, is_urgent
from holdfast.store.forks import forget_after_fork
from holdfast.store.machine import boot_id, node_id
from holdfast.store.statements import Dialect
from holdfast.wire.calls import BY_SCRIPT, PROTOCOL, Call, Hello
from holdfast.wire.home import Address
from holdfast.wire.http import quoted
from holdfast.wire.peer import LONGEST_PAUSE_S, Peer
from holdfast.wire.transport import Transport

if TYPE_CHECKING:
    from holdfast.wire.courier import Courier

T = TypeVar("T")

THREADS = 8
FIRST_RECONNECT_S = 0.05
GREETING = b": hello"


class RemoteEngine(AwaitableCalls):
    """A daemon, used like an engine. Only what has a call can run."""

    dialect = Dialect.SQLITE

    def __init__(self, address: Address) -> None:
        self.address = address
        self._listeners: list[Listener] = []
        self._hello: Hello | None = None
        self._courier: Courier | None = None
        self._following: threading.Thread | None = None
        self._start_fresh()
        forget_after_fork(self)

    @property
    def is_open(self) -> bool:
        return True

    def open(self) -> None:
        """Make sure that a daemon answers that speaks our language."""
        self._peer.is_given_up = False
        hello = msgspec.json.decode(self.transport.call("GET", f"/v1/hello?protocol={PROTOCOL}"), type=Hello)
        if hello.protocol != PROTOCOL:
            raise HoldfastError(
                f"the daemon at {self.address} is version {hello.version} and speaks protocol {hello.protocol}, this "
                f"program speaks {PROTOCOL}; bring both to the same version"
            )
        self._hello = hello

    @property
    def node(self) -> str:
        """The machine of the daemon for all who are on it; any other has an id beside its locks."""
        said = self._said()
        is_there = self.address.socket is not None or said.boot_id == boot_id()
        return said.node_id if is_there else node_id(self.locks)

    @property
    def is_shared(self) -> bool:
        """Whether other machines may share the database of this daemon."""
        return self._said().dialect == Dialect.POSTGRES

    @property
    def locks(self) -> Path:
        """Where the daemon looks for the life locks of its workers; elsewhere than on its machine, any folder does."""
        return self._folder("locks")

    @property
    def files(self) -> Path:
        """Where the logs and artifacts of jobs are."""
        return self._folder("files")

    @property
    def lease(self) -> float:
        """How many seconds a worker of this daemon may be silent."""
        return self._said().lease_ms / 1000

    @property
    def stuck(self) -> float:
        """How many seconds a run may take no notice of being asked to stop."""
        return self._said().stuck_ms / 1000

    @property
    def is_gone(self) -> bool:
        """Whether it is certain that no daemon lives there now."""
        return self._peer.is_there() is False

    def give_up(self) -> None:
        """Wait for it no longer: calls that do not reach it fail at once, until the next `open` finds it."""
        self._peer.is_given_up = True

    def submit(self, script: Callable[..., T], *args: Any, **kw: Any) -> Future[T]:
        if is_urgent(script):
            return self._urgent_threads.submit(self._call, script, args, kw)
        # The call belongs to the trace of whoever makes it, in whichever thread it travels.
        return self._threads.submit(copy_context().run, self._call, script, args, kw)

    def run(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self._call(script, args, kw)  # type: ignore[no-any-return]

    def query(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self._call(script, args, kw)  # type: ignore[no-any-return]

    def ask(self, procedure: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self._call(procedure, args, kw)  # type: ignore[no-any-return]

    async def write(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        import asyncio

        courier = self._courier
        if courier is None or courier.loop is not asyncio.get_running_loop():
            return await asyncio.wrap_future(self.submit(script, *args, **kw))
        errand = _errand(script, args, kw)
        answer = await courier.call(
            errand.call.method, errand.path, errand.body, again=errand.again, is_repeatable=errand.is_repeatable
        )
        return errand.call.decoder.decode(answer)  # type: ignore[no-any-return]

    async def read(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return await self.write(script, *args, **kw)

    def open_line(self, listener: Listener) -> Callable[[], None]:
        """From now on the calls of this event loop travel on the loop itself, and `listener` is told there."""
        import asyncio

        from holdfast.wire.courier import Courier

        self._peer.come_inside()
        courier = self._courier = Courier(self._peer)
        following = asyncio.create_task(self._follow_on(courier, listener), name="holdfast-changes")

        def leave() -> None:
            following.cancel()
            courier.close()
            if self._courier is courier:
                self._courier = None

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
        self._courier = None
        self._hello = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(THREADS, "holdfast-call")
        # Neither a heartbeat nor an exchange waits for its turn behind the calls of users.
        self._urgent_threads = ThreadPoolExecutor(2, "holdfast-urgent")
        self._following = None

    def _said(self) -> Hello:
        if self._hello is None:
            self.open()
        assert self._hello is not None
        return self._hello

    def _folder(self, name: str) -> Path:
        told = Path(getattr(self._said(), name))
        if self.address.socket is not None:
            return told
        # Each user has a folder of his own, or the first one would keep all others out.
        from holdfast.store.temporary import own_folder  # Who uses the socket need not wait for it.

        return own_folder("holdfast-remote") / name

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        errand = _errand(function, args, kw)
        answer = self.transport.call(
            errand.call.method, errand.path, errand.body, again=errand.again, is_repeatable=errand.is_repeatable
        )
        return errand.call.decoder.decode(answer)

    def _follow(self) -> None:
        """Hear what changes in the daemon; whoever may have missed something is told to look for himself."""
        closing, transport, pause = self._closing, self.transport, FIRST_RECONNECT_S
        while not (closing.is_set() or self._is_unheard()):
            with suppress(HoldfastError, msgspec.DecodeError):
                for line in transport.lines("/v1/changes"):
                    if closing.is_set() or self._is_unheard():
                        return
                    pause = FIRST_RECONNECT_S
                    if line.startswith(GREETING):
                        self.open()  # It may be another one, with other settings.
                    changes = _heard(line)
                    if changes is not None:
                        self._announce(changes)
            closing.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _is_unheard(self) -> bool:
        """Whether nobody listens any more; the next one who does begins to follow anew."""
        with self._lock:
            if self._listeners:
                return False
            self._following = None
            return True

    async def _follow_on(self, courier: Courier, listener: Listener) -> None:
        """As `_follow`, on the event loop of a worker."""
        import asyncio

        pause = FIRST_RECONNECT_S
        while True:
            with suppress(HoldfastError, msgspec.DecodeError):
                async with aclosing(courier.lines("/v1/changes")) as lines:
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


class Errand(msgspec.Struct, frozen=True):
    """A call as it is sent."""

    call: Call
    path: str
    body: bytes | None
    again: bytes | None
    is_repeatable: bool


def _errand(function: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> Errand:
    call = BY_SCRIPT.get(function)
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
    return Errand(call, path, body, again, _is_repeatable(call, values))


def _heard(line: bytes) -> Changes | None:
    """What a line of the stream tells; who has just begun to listen may have missed something."""
    if line.startswith(b"data: "):
        return msgspec.json.decode(line[6:], type=Changes)
    return Changes(unknown=True) if line.startswith(GREETING) else None


def _is_repeatable(call: Call, values: dict[str, Any]) -> bool:
    """Whether doing it twice is the same as once. Ids are made by the caller, so that most calls are."""
    if call.name == "exchange":
        # Jobs may have been handed out that nobody knows of here: the worker asks again, and lists what it holds.
        return False
    if call.name in ("retry_group", "redeliver", "send_test", "add_user", "rotate_token"):
        # What was made anew may have failed again meanwhile, and what was sent may have arrived; a token is told once.
        return False
    if call.name == "bulk":
        return values.get("action") != "retry" or bool(values.get("dry_run"))
    return call.name != "retry_job" or values.get("new_id") is not None
