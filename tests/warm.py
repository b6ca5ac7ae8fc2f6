"""`holdfast` in a process that has imported it already: one waits with everything loaded, and forks for each command.

A command has a process of its own, as it has in a shell: its words, its environment, its session, its three files, its
locks and its exit code. Only the start of Python and the imports are left out, which are nine tenths of a short
command's time. What the kernel shows of it is not its own: its environment and its words in `/proc`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import pkgutil
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import IO, NoReturn

import msgspec

from holdfast.wire.home import HOME
from tests.chaos.processes import ROOT

LOADED = ("holdfast.cli", "holdfast.client", "holdfast.wire", "holdfast.daemon", "holdfast.store.sqlite")
LARGEST = 1 << 17
NUMBER = struct.Struct("q")


class Order(msgspec.Struct, frozen=True):
    """What a command is called with."""

    words: list[str]
    environment: dict[str, str]


class WarmCommand:
    """A command that was begun, as whoever began it sees it: much of what `Popen` can, for a child of another."""

    def __init__(self, told: int) -> None:
        self._told = told
        self._status: int | None = None
        self.pid = self._next()
        # Whatever comes to have its pid later, a signal is for this process alone.
        try:
            self._process: int | None = os.pidfd_open(self.pid)
        except ProcessLookupError:  # It has ended, and nobody needs to be told anything.
            self._process = None

    def poll(self) -> int | None:
        """The exit code if it has ended, as a negative number if a signal killed it."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended. `TimeoutExpired` if that takes longer."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self._process is not None and self.poll() is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        if self._status is None and self._is_told(timeout):
            self._status = os.waitstatus_to_exitcode(self._next())
            os.close(self._told)
            if self._process is not None:
                os.close(self._process)
                self._process = None
        return self._status

    def _is_told(self, timeout: float | None) -> bool:
        waiting = select.poll()
        waiting.register(self._told, select.POLLIN)
        return bool(waiting.poll(None if timeout is None else timeout * 1000))

    def _next(self) -> int:
        said = os.read(self._told, NUMBER.size)
        assert said, "the process that forks has ended"
        return int(NUMBER.unpack(said)[0])


class WarmProcess:
    """The process that forks, as those see it who call commands. It ends with them."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.warm", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=ROOT,
                # Without a home, so that nobody takes it for a process of the home that is cleared.
                env={name: value for name, value in environment.items() if name != HOME},
                start_new_session=True,
            )

    def begin(self, order: Order, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> WarmCommand:
        """Begin a command, in a session of its own."""
        told, tell = os.pipe()
        files = [*(file.fileno() for file in (stdin, stdout, stderr)), tell]
        socket.send_fds(self._line, [msgspec.json.encode(order)], files)
        os.close(tell)
        return WarmCommand(told)

    def close(self) -> None:
        """Let it go, whoever else has a copy of the line."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        self._process.wait()


@cache
def warm_process() -> WarmProcess:
    """The process that forks, of this test run."""
    made = WarmProcess(surroundings())
    atexit.register(made.close)
    return made


def surroundings() -> dict[str, str]:
    """The environment for programs that a test starts. Each finds the bytecode of those before it.

    Somebody who wants none of it means this process; a program would compile all of its code anew at every start. One
    that crashes says where.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONFAULTHANDLER": "1"}


def serve(line: socket.socket) -> None:
    """Fork for each order, until nobody is there to order. Say the pid of each, and later how it ended."""
    for name in _modules():
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # A fork then shares all of this for as long as it lives.
    with selectors.DefaultSelector() as waiting:
        waiting.register(line, selectors.EVENT_READ)
        while True:
            for found, _ in waiting.select():
                if found.data is not None:
                    pid, tell = found.data
                    waiting.unregister(found.fd)
                    os.close(found.fd)
                    _tell(tell, os.waitpid(pid, 0)[1])
                    os.close(tell)
                elif not _obey(line, waiting):
                    return


def _obey(line: socket.socket, waiting: selectors.BaseSelector) -> bool:
    """Fork for the next order; False if there are no more."""
    said, files, _, _ = socket.recv_fds(line, LARGEST, 4)
    if not said:
        return False
    *files, tell = files
    pid = os.fork()
    if pid == 0:
        for key in waiting.get_map().values():
            os.close(key.fd)
            if key.data is not None:
                os.close(key.data[1])
        waiting.close()
        os.close(tell)
        line.detach()
        _become(msgspec.json.decode(said, type=Order), files)
    for file in files:
        os.close(file)
    waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, tell))
    _tell(tell, pid)
    return True


def _tell(tell: int, number: int) -> None:
    with suppress(BrokenPipeError):  # Whoever began it does not want to know.
        os.write(tell, NUMBER.pack(number))


def _modules() -> Iterator[str]:
    for package in LOADED:
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if module.name != "__main__":
                yield f"{package}.{module.name}"


def _become(order: Order, files: list[int]) -> NoReturn:
    """Be the command, and end with it."""
    from holdfast.cli.app import main

    code: object = 1
    try:
        os.setsid()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(order.environment)
        time.tzset()
        sys.argv = ["holdfast", *order.words]
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        # What the end of a process waits for and writes; the rest of it is of no use to anybody.
        threading._shutdown()  # type: ignore[attr-defined]
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
