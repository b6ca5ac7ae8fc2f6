"""`holdfast` in a process that has imported it already: one waits with everything loaded, and forks for each command.

A command has a process of its own, as it has in a shell: its words, its environment, its folder, its three files, its
locks and its exit code. Only the start of Python and the imports are left out, which are nine tenths of its time.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from typing import IO, NoReturn

import msgspec

from holdfast.wire.home import HOME
from tests.chaos.processes import PATIENCE_S, ROOT
from tests.daemon.house import surroundings

LOADED = ("holdfast.cli", "holdfast.client", "holdfast.wire")
LARGEST = 1 << 17


class Order(msgspec.Struct, frozen=True):
    """What a command is called with."""

    words: list[str]
    environment: dict[str, str]


class TooSlow(Exception):
    """A command that had not ended in time; it is killed."""


class WarmProcess:
    """The process that forks, as those see it who call commands. It ends with them."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Without a home, so that nobody takes it for a process of the home that is cleared.
        environment = {name: value for name, value in surroundings().items() if name != HOME}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.warm", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=ROOT,
                env=environment,
                start_new_session=True,
            )
        self._line.settimeout(PATIENCE_S)

    def call(self, order: Order, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> int:
        """Run a command to its end; its exit code, as a negative number if a signal killed it."""
        files = [file.fileno() for file in (stdin, stdout, stderr)]
        socket.send_fds(self._line, [msgspec.json.encode(order)], files)
        pid = self._answer()
        try:
            return os.waitstatus_to_exitcode(self._answer())
        except TimeoutError:
            os.kill(pid, 9)
            self._answer()
            raise TooSlow from None

    def close(self) -> None:
        """Let it go."""
        self._line.close()
        self._process.wait(PATIENCE_S)

    def _answer(self) -> int:
        said = self._line.recv(LARGEST)
        assert said, f"the process that forks has ended with {self._process.wait()}"
        return int(said)


def serve(line: socket.socket) -> None:
    """Fork for each order, one after the other, until nobody is there to order."""
    for name in _modules():
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # A fork then shares all of this for as long as it lives.
    while True:
        said, files, _, _ = socket.recv_fds(line, LARGEST, 3)
        if not said:
            return
        pid = os.fork()
        if pid == 0:
            line.close()
            _become(msgspec.json.decode(said, type=Order), files)
        for file in files:
            os.close(file)
        line.send(b"%d" % pid)
        line.send(b"%d" % os.waitpid(pid, 0)[1])


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
        for thread in threading.enumerate():
            if thread is not threading.main_thread() and not thread.daemon:
                thread.join()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
