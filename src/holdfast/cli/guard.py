"""Stands between `holdfast direct` and its command, so that the command ends when its reservation does.

Run as `python -P -m holdfast.cli.guard LIFE COMMAND…`, in the terminal and the process group of its parent. LIFE is a
pipe: each byte is a signal for the command, 0 says that its time is over. If the pipe ends, the parent is gone, and so
is the reservation: everything that came from the command has to go at once.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

from holdfast.cli.failing import NOT_EXECUTABLE, NOT_FOUND, say

GRACE_S, LAST_GRACE_S = 5.0, 0.5
LOOK_S = 0.02
TIME_OVER = 0
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# What the terminal sends to everybody in it is for the command. Its guard outlives it.
FOR_THE_COMMAND = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Run the command to its end, or to that of the pipe; its exit code."""
    life, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(life, False)
    heard, rung = os.pipe()
    os.set_blocking(rung, False)
    signal.set_wakeup_fd(rung, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    for number in FOR_THE_COMMAND:
        # Not ignored: the command would go on ignoring them.
        signal.signal(number, lambda number, frame: None)
    # Whoever loses his parent becomes our child, and so stays within reach.
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        child = subprocess.Popen(command, preexec_fn=_die_with_parent)
    except FileNotFoundError:
        say(f"holdfast: {command[0]}: there is no such command")
        sys.exit(NOT_FOUND)
    except OSError as error:
        say(f"holdfast: {command[0]}: {error.strerror}")
        sys.exit(NOT_EXECUTABLE)
    code = _follow(child.pid, life, heard)
    os._exit(128 - code if code < 0 else code)


def _follow(child: int, life: int, heard: int) -> int:
    while True:
        code = _buried(child)
        if code is not None:
            return code
        ready, _, _ = select.select([life, heard], [], [])
        if heard in ready:
            os.read(heard, 1 << 10)
        if life in ready:
            signals = os.read(life, 1 << 10)
            if not signals or TIME_OVER in signals:
                return _end_all(child, GRACE_S if signals else LAST_GRACE_S)
            for number in signals:
                with suppress(ProcessLookupError):
                    os.kill(child, number)


def _buried(child: int) -> int | None:
    """Bury whoever has died; how the command ended, if it has."""
    code = None
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                code = os.waitstatus_to_exitcode(found[1])
    return code


def _end_all(child: int, grace: float) -> int:
    """SIGTERM to everybody, a grace, SIGKILL."""
    import psutil

    code: int | None = None
    told: set[psutil.Process] = set()
    out_of_reach: set[psutil.Process] = set()
    until = time.monotonic() + grace
    while True:
        code = found if (found := _buried(child)) is not None else code
        left = set(psutil.Process().children(recursive=True)) - out_of_reach
        if not left:
            return -signal.SIGTERM if code is None else code
        for process in left:
            try:
                if time.monotonic() >= until:
                    process.kill()
                elif process not in told:
                    # To each of them once: there are programs that a second SIGTERM tells to hurry.
                    told.add(process)
                    process.terminate()
                    process.resume()
            except psutil.AccessDenied:
                out_of_reach.add(process)  # It has become another user's.
            except psutil.NoSuchProcess:
                pass
        time.sleep(LOOK_S)


def _die_with_parent() -> None:
    """If even the guard is killed, the command goes with it."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            _libc.prctl(option, value, 0, 0, 0)


_libc = ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main()
