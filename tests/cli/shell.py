"""`holdfast` as a person calls it: its words in, what it prints and its exit code out.

Most commands run in a fork of a process that has `holdfast` loaded. Those in a terminal, those that are begun and left
to the test, and those that ask for it, are the installed program.
"""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from holdfast.wire.home import HOME, Home
from tests.chaos.processes import PATIENCE_S, ROOT
from tests.warm import Order, surroundings, warm_process

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
APP = str(Path(__file__).with_name("app.py"))
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")


class Said(msgspec.Struct, frozen=True):
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON that it printed."""
        return msgspec.json.decode(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines that it printed."""
        return self.out.splitlines()


def _written(file: IO[bytes]) -> str:
    file.seek(0)
    return io.TextIOWrapper(io.BytesIO(file.read()), "utf-8").read()


class Shell:
    """Commands for one home."""

    def __init__(self, home: Home) -> None:
        self.home = home

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Of a person whose shell sets nothing special."""
        own = {name: value for name, value in surroundings().items() if name not in ("NO_COLOR", "COLUMNS", "TERM")}
        return {**own, "TERM": "xterm", HOME: str(self.home.folder), **(more or {})}

    def __call__(self, *words: object, env: Mapping[str, str] | None = None, stdin: str | None = None) -> Said:
        """Run a command to its end."""
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write((stdin or "").encode())
            given.seek(0)
            command = warm_process().begin(Order([*map(str, words)], self.environment(env)), given, out, err)
            try:
                code = command.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                command.kill()
                command.wait()
                said = f"it printed {_written(out)[-2000:]!r} and {_written(err)[-2000:]!r}"
                raise AssertionError(f"{words} has not ended in {PATIENCE_S:.0f} s; {said}") from None
            return Said(code, _written(out), _written(err))

    def installed(self, *words: object, env: Mapping[str, str] | None = None) -> Said:
        """The same with the installed program, in a process that nobody has prepared."""
        done = subprocess.run(
            [HOLDFAST, *map(str, words)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env=self.environment(env),
            cwd=ROOT,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def ok(self, *words: object, env: Mapping[str, str] | None = None, stdin: str | None = None) -> Said:
        """Run a command that must end well."""
        said = self(*words, env=env, stdin=stdin)
        assert said.code == 0, said
        return said

    def number(self, *words: object) -> int:
        """Run a command that prints the number of a job."""
        return int(self.ok(*words).out)

    def start(self, *words: object) -> subprocess.Popen[str]:
        """Begin a command, and leave it to the test."""
        return subprocess.Popen(
            [HOLDFAST, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(),
            cwd=ROOT,
        )

    def terminal(self, *words: object, env: Mapping[str, str] | None = None) -> Terminal:
        """Begin a command in a terminal."""
        return Terminal([HOLDFAST, *map(str, words)], self.environment(env))


class Terminal:
    """A command in a terminal of its own, 80 columns wide."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._screen, theirs = pty.openpty()
        # Not by `pty.fork`: between fork and exec a child of many threads may wait for ever for a lock of one of them.
        self._child = subprocess.Popen(
            ["setsid", "--ctty", *command], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        self.raw = ""
        self.resize(80, 24)

    @property
    def text(self) -> str:
        """What it printed, without colours."""
        return _ESCAPE.sub("", self.raw).replace("\r\n", "\n")

    def resize(self, columns: int, rows: int) -> None:
        """Make it wider or narrower."""
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._screen, keys.encode())

    def wait_for(self, text: str) -> None:
        """Until it has printed this."""
        self._read(lambda: text in self.text, f"{text!r} comes")

    def end(self) -> int:
        """Until it has ended; its exit code."""
        self._read(lambda: False, "it ends", until_closed=True)
        os.close(self._screen)
        return self._child.wait()

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.type("\x03")

    def _read(self, is_enough: Any, what: str, *, until_closed: bool = False) -> None:
        until = time.monotonic() + PATIENCE_S
        while not is_enough():
            if time.monotonic() > until:
                self._child.kill()
                raise AssertionError(f"waited too long until {what}; it printed {self.raw[-2000:]!r}")
            if not select.select([self._screen], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(self._screen, 65_536)
            except OSError:  # Linux says so when nobody has the terminal open any more.
                piece = b""
            if not piece:
                assert until_closed, f"it ended before {what}; it printed {self.raw[-2000:]!r}"
                return
            self.raw += piece.decode("utf-8", "replace")
