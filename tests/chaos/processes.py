"""Real processes that a test starts, watches, stops and kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
LOOK_S = 0.005


class Program:
    """A child process that runs one of the modules below `programs`; what it says goes to a file."""

    def __init__(self, log: Path, name: str, *args: object, inside: tuple[str, ...] = ()) -> None:
        command = [*inside, sys.executable, "-m", f"tests.chaos.programs.{name}", *map(str, args)]
        self.name = name
        self._log = log
        with log.open("ab") as said:
            # A session of its own: a test that is interrupted by hand still cleans up by itself.
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, start_new_session=True)

    @property
    def pid(self) -> int:
        """The process, as this pid namespace numbers it."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    @property
    def is_frozen(self) -> bool:
        """Whether it is stopped, as by SIGSTOP."""
        stat = Path(f"/proc/{self.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def said(self) -> str:
        """All that it wrote."""
        return self._log.read_text(errors="replace")

    def send(self, number: int) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait until the kernel has let go of it."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """SIGSTOP; returns when it stands still."""
        self.send(signal.SIGSTOP)
        until(lambda: self.is_frozen, f"{self.name} stands still")

    def thaw(self) -> None:
        """SIGCONT."""
        self.send(signal.SIGCONT)

    def wait(self) -> int:
        """The exit code."""
        try:
            return self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} has not ended; it said:\n{self.said()}") from None

    def end_well(self) -> None:
        """Wait until it ends, with exit code 0."""
        code = self.wait()
        assert code == 0, f"{self.name} ended with {code}; it said:\n{self.said()}"


def until(condition: Callable[[], T], what: str) -> T:
    """Wait until another process has made `condition` true; returns what it found."""
    patience = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        if time.monotonic() > patience:
            raise AssertionError(f"it has not come true in {PATIENCE_S:.0f} s that {what}")
        time.sleep(LOOK_S)
    return found


def is_alive(pid: int) -> bool:
    """Whether a process that is not our child lives."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
