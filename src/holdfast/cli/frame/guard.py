"""The process between `holdfast direct` and its command. It ends the command with its reservation.

Run as `python -P -m holdfast.cli.frame.guard LIFE COMMAND…`, in the terminal and the process group of its parent. LIFE
is a pipe: each byte is a signal for the command, 0 says that its time is over. If the pipe ends, the parent is gone,
and so is the reservation: everything that came from the command has to go at once.
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

from holdfast.cli.frame.failures import NOT_EXECUTABLE, NOT_FOUND, say

GRACE_S, LAST_GRACE_S = 5.0, 0.5
LOOK_S = 0.02
TIME_OVER = 0
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# Signals of the terminal are for the command. The guard has to outlive it.
FOR_THE_COMMAND = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Run the command until it ends, or the pipe does. Exit with its exit code."""
    life, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(life, False)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    for number in FOR_THE_COMMAND:
        # Not ignored, because the command would inherit that.
        signal.signal(number, lambda number, frame: None)
    # A process that loses its parent becomes our child, so that it can be ended.
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        child = subprocess.Popen(command, preexec_fn=_die_with_parent)
    except FileNotFoundError:
        say(f"holdfast: {command[0]}: there is no such command")
        sys.exit(NOT_FOUND)
    except OSError as error:
        say(f"holdfast: {command[0]}: {error.strerror}")
        sys.exit(NOT_EXECUTABLE)
    code = _follow(child.pid, life, woken)
    os._exit(128 - code if code < 0 else code)


def _follow(child: int, life: int, woken: int) -> int:
    while True:
        code = _reaped(child)
        if code is not None:
            return code
        ready, _, _ = select.select([life, woken], [], [])
        if woken in ready:
            os.read(woken, 1 << 10)
        if life in ready:
            signals = os.read(life, 1 << 10)
            if not signals or TIME_OVER in signals:
                return _end_all(child, GRACE_S if signals else LAST_GRACE_S)
            for number in signals:
                with suppress(ProcessLookupError):
                    os.kill(child, number)


def _reaped(child: int) -> int | None:
    """Reap dead processes. Return how the command ended, if it has."""
    code = None
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                code = os.waitstatus_to_exitcode(found[1])
    return code


def _end_all(child: int, grace: float) -> int:
    """End all processes: SIGTERM, a grace, SIGKILL."""
    import psutil

    code: int | None = None
    told: set[psutil.Process] = set()
    out_of_reach: set[psutil.Process] = set()
    until = time.monotonic() + grace
    while True:
        code = found if (found := _reaped(child)) is not None else code
        left = set(psutil.Process().children(recursive=True)) - out_of_reach
        if not left:
            return -signal.SIGTERM if code is None else code
        for process in left:
            try:
                if time.monotonic() >= until:
                    process.kill()
                elif process not in told:
                    # To each of them once: to some programs a second SIGTERM means to hurry.
                    told.add(process)
                    process.terminate()
                    process.resume()
            except psutil.AccessDenied:
                out_of_reach.add(process)  # It belongs to another user now.
            except psutil.NoSuchProcess:
                pass
        time.sleep(LOOK_S)


def _die_with_parent() -> None:
    """Have the kernel end the command if the guard is killed."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            _libc.prctl(option, value, 0, 0, 0)


_libc = ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main()
