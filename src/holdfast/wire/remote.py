"""An engine that is somewhere else: scripts run in the daemon, by the call of the same name."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from holdfast.core.errors import HoldfastError
from holdfast.store.engine import AwaitableCalls, Changes, Listener, announce
from holdfast.store.forks import forget_after_fork
from holdfast.store.statements import Dialect
from holdfast.wire.calls import BY_SCRIPT, PROTOCOL, Call, Hello
from holdfast.wire.home import Address
from holdfast.wire.transport import LONGEST_PAUSE_S, Transport, quoted

T = TypeVar("T")

THREADS = 8
FIRST_RECONNECT_S = 0.05


class RemoteEngine(AwaitableCalls):
    """A daemon, used like an engine. Only what has a call can run."""

    dialect = Dialect.SQLITE

    def __init__(self, address: Address) -> None:
        self.address = address
        self._listeners: list[Listener] = []
        self._hello: Hello | None = None
        self._following: threading.Thread | None = None
        self._start_fresh()
        forget_after_fork(self)

    @property
    def is_open(self) -> bool:
        return True

    def open(self) -> None:
        """Make sure that a daemon answers that speaks our language."""
        hello = msgspec.json.decode(self.transport.call("GET", "/v1/hello"), type=Hello)
        if hello.protocol != PROTOCOL:
            raise HoldfastError(
                f"the daemon at {self.address} is version {hello.version} and speaks protocol {hello.protocol}, this "
                f"program speaks {PROTOCOL}; bring both to the same version"
            )
        self._hello = hello

    @property
    def locks(self) -> Path:
        """Where the daemon looks for the life locks of its workers; elsewhere than on its machine, any folder does."""
        return self._folder("locks")

    @property
    def files(self) -> Path:
        """Where the logs and artifacts of jobs are."""
        return self._folder("files")

    def submit(self, script: Callable[..., T], *args: Any, **kw: Any) -> Future[T]:
        return self._threads.submit(self._call, script, args, kw)

    def run(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self._call(script, args, kw)  # type: ignore[no-any-return]

    def query(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self._call(script, args, kw)  # type: ignore[no-any-return]

    def ask(self, procedure: Callable[..., T], *args: Any, **kw: Any) -> T:
        return self._call(procedure, args, kw)  # type: ignore[no-any-return]

    async def read(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        return await asyncio.wrap_future(self.submit(script, *args, **kw))

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
        self._threads.shutdown(wait=True)
        self.transport.close()
        self._start_fresh()

    def forget(self) -> object:
        inherited = (self._threads, self.transport, self._following)
        self._listeners = []
        self._start_fresh()
        return inherited

    def _start_fresh(self) -> None:
        self.transport = Transport(self.address)
        self._hello = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(THREADS, "holdfast-call")
        self._following = None

    def _folder(self, name: str) -> Path:
        if self._hello is None:
            self.open()
        told = Path(getattr(self._hello, name))
        return told if self.address.socket is not None else Path(tempfile.gettempdir()) / "holdfast-remote" / name

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        call = BY_SCRIPT.get(function)
        if call is None:
            raise HoldfastError(f"the daemon has no call for {function.__name__}; open the database itself for that")
        values = call.values(args, kw)
        path = call.path.format(**{name: quoted(values.pop(name)) for name in call.in_path})
        body = again = None
        if call.method != "GET":
            body = msgspec.json.encode(values)
            if call.marks_repeats:
                again = msgspec.json.encode(values | {"repeated": True})
        elif values:
            path += "?" + "&".join(f"{name}={quoted(value)}" for name, value in values.items() if value is not None)
        answer = self.transport.call(call.method, path, body, again=again, is_repeatable=_is_repeatable(call, values))
        return call.decoder.decode(answer)

    def _follow(self) -> None:
        """Hear what changes in the daemon; whoever may have missed something is told to look for himself."""
        closing, transport, pause = self._closing, self.transport, FIRST_RECONNECT_S
        while not closing.is_set():
            with suppress(HoldfastError, msgspec.DecodeError):
                for line in transport.lines("/v1/changes"):
                    if closing.is_set():
                        return
                    if line.startswith(b"data: "):
                        self._announce(msgspec.json.decode(line[6:], type=Changes))
                    elif line.startswith(b": hello"):
                        pause = FIRST_RECONNECT_S
                        self._announce(Changes(unknown=True))
            closing.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _announce(self, changes: Changes) -> None:
        announce(changes, self._listeners)


def _is_repeatable(call: Call, values: dict[str, Any]) -> bool:
    """Whether doing it twice is the same as once. Ids are made by the caller, so that most calls are."""
    if call.name == "bulk":
        return values.get("action") != "retry"
    return call.name != "retry_job" or values.get("new_id") is not None
