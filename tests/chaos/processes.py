"""Real processes that a test starts, watches, stops and kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from holdfast.runtime.sessions.processes import look_at

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
# Between two looks, of which the first ones come soon and the later ones leave the processors to whom they wait for.
FIRST_LOOK_S = 0.005
LAST_LOOK_S = 0.05
NEVER_STARTED = -1


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
    patience, pause = time.monotonic() + PATIENCE_S, FIRST_LOOK_S
    while not (found := condition()):
        if time.monotonic() > patience:
            raise AssertionError(f"it has not come true in {PATIENCE_S:.0f} s that {what}")
        time.sleep(pause)
        pause = min(pause * 1.2, LAST_LOOK_S)
    return found


class KnownProcess(NamedTuple):
    """A process by its pid and its start time: whoever gets its pid after it is somebody else."""

    pid: int
    started_at: int

    @classmethod
    def of(cls, pid: int) -> Self:
        """The process that has this pid now. Ask while it lives; if nobody has it, the process has ended."""
        seen = look_at(pid)
        return cls(pid, NEVER_STARTED if seen is None else seen.started_at)

    @classmethod
    def read(cls, text: str) -> Self:
        """A process that was written down with `str`."""
        pid, _, started_at = text.partition(".")
        return cls(int(pid), int(started_at))

    def __str__(self) -> str:
        return f"{self.pid}.{self.started_at}"

    @property
    def is_alive(self) -> bool:
        """Whether it lives; one that is dead but not yet buried does not."""
        seen = look_at(self.pid)
        return seen is not None and seen.is_alive and seen.started_at == self.started_at

    def send(self, number: int) -> bool:
        """Send a signal. False if it has ended; whoever has its pid by then does not get it."""
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(self.pid)
            try:
                if self.is_alive:
                    signal.pidfd_send_signal(handle, number)
                    return True
            finally:
                os.close(handle)
        return False


def kill(*processes: KnownProcess) -> None:
    """SIGKILL to all of them; returns when the kernel has let go of each."""
    for process in processes:
        process.send(signal.SIGKILL)
    until(lambda: not any(process.is_alive for process in processes), f"{processes} have died")
