"""Start a process that is stored before it does anything. `launch.py` is the side of the process.

1. `Gated` starts the launcher in a session of its own; it waits.
2. Its pid and start time are stored.
3. `open` sends the program through the gate.

If the worker is killed between two of these steps, nothing runs that is not stored: the gate ends with its owner.
"""

from __future__ import annotations

import errno
import marshal
import os
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.core.job import RunId
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.runtime.sessions import processes
from holdfast.runtime.sessions.processes import RUN_VARIABLE, ProcessGroup
from holdfast.tasks.program import Program
from holdfast.workers.process.launch import LENGTH

# Without these, a Python that was built against libraries in odd places does not start.
LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
OUR_FAULT = (errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.EIO)

NO_FOLDER = "ERR_NO_FOLDER"

_LAUNCHER = str(Path(__file__).with_name("launch.py"))


def encoded(program: Program) -> bytes:
    """The bytes for the gate."""
    limits = {}
    if program.memory_mb is not None:
        limits["RLIMIT_AS"] = program.memory_mb << 20
    if program.cpu_s is not None:
        limits["RLIMIT_CPU"] = program.cpu_s
    text = marshal.dumps({"argv": list(program.argv), "env": dict(program.env), "cwd": program.cwd, "limits": limits})
    return len(text).to_bytes(LENGTH) + text


class PipeEnd:
    """One end of a pipe. It is closed once, as its number may soon belong to another file."""

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        """Its number, for a selector."""
        return self._number

    def close(self) -> None:
        """Close it. Twice is harmless."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1


def pipe(reader: ExitStack, writer: ExitStack) -> tuple[PipeEnd, PipeEnd]:
    """A pipe whose ends are closed with the stacks of their owners."""
    ends = [PipeEnd(number) for number in os.pipe()]
    reader.callback(ends[0].close)
    writer.callback(ends[1].close)
    return ends[0], ends[1]


class Gated:
    """A process that waits at its gate. `failure` says why it did not start.

    `output` is what it will write, unless that goes to a file that is given.
    """

    def __init__(
        self,
        run_id: RunId,
        stdin: int = subprocess.DEVNULL,
        pass_fds: tuple[int, ...] = (),
        output: int | None = None,
    ) -> None:
        if not sys.executable:
            raise InvalidInput("this program does not know its own Python (sys.executable), and cannot start processes")
        with ExitStack() as ours, ExitStack() as theirs:
            gate, self._gate = pipe(theirs, ours)
            self.output, written = pipe(ours, theirs)
            self.failure, failure = pipe(ours, theirs)
            env = {RUN_VARIABLE: run_id} | {name: os.environ[name] for name in LIBRARY_PATHS if name in os.environ}
            # -I and -S: nothing of the user's environment or packages is used before the gate.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _LAUNCHER, *map(str, (os.getpid(), gate.fileno(), failure.fileno()))],
                stdin=stdin,
                stdout=written.fileno() if output is None else output,
                stderr=written.fileno() if output is None else output,
                env=env,
                pass_fds=(gate.fileno(), failure.fileno(), *pass_fds),
                start_new_session=True,
            )
            self._closing = ours.pop_all()
        self._status: int | None = None
        seen = processes.look_at(self._process.pid)
        assert seen is not None, "a child that nobody has waited for is there"
        self.group = ProcessGroup(seen.pid, seen.started_at, run_id)

    def open(self, program: Program) -> None:
        """Let the program begin."""
        text = encoded(program)
        with suppress(BrokenPipeError):  # It was killed while it waited, as its exit status says.
            while text:
                text = text[os.write(self._gate.fileno(), text) :]
        self._gate.close()

    @property
    def status(self) -> int | None:
        """How it ended: a code, or a negative signal number. None while it lives.

        It is reaped only by `close`. Until then its pid and its group belong to no other process.
        """
        if self._status is None:
            with suppress(ChildProcessError):
                self._status = _look(self._process.pid)
                return self._status
            # Other code in this program waits for every child, or has the kernel reap them.
            self._status = UNKNOWN
        return self._status

    def close(self) -> None:
        """Reap it if it has ended, and close the pipes. A gate that was not opened never will be."""
        self._closing.close()
        if self.status is not None:
            with suppress(ChildProcessError):
                os.waitpid(self._process.pid, os.WNOHANG)
            self._process.returncode = self._status


def _look(pid: int) -> int | None:
    if hasattr(os, "waitid"):
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


UNKNOWN = 1 << 16
"""The exit status of a process whose real status other code has taken."""


def why_not_started(said: bytes, program: Program) -> Failure:
    """The failure for what the launcher wrote. It says what to do."""
    step, number, text = (*said.decode("utf-8", "replace").split(" ", 2), "", "")[:3]
    code = int(number) if number.isdigit() else 0
    kind = FailureKind.INFRA if code in OUR_FAULT else FailureKind.PERMANENT
    name = program.argv[0]
    reason = os.strerror(code) if code else text
    match step:
        case "program" if code in (errno.ENOENT, errno.ENOTDIR):
            message = f"there is no command {name!r} (or the interpreter in its first line is missing)"
            return Failure(kind, "ERR_COMMAND_NOT_FOUND", message)
        case "program":
            return Failure(kind, "ERR_COMMAND_NOT_STARTED", f"command {name!r} cannot be started: {reason}")
        case "folder":
            return Failure(kind, NO_FOLDER, f"folder {program.cwd!r} cannot be used: {reason}")
    return Failure(FailureKind.INFRA, "ERR_NOT_STARTED", f"it could not be started: {reason}")
