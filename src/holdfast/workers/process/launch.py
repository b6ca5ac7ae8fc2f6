"""The start of a process for a run: it waits at a gate, and then becomes the program.

Run as `python -I -S launch.py PARENT GATE FAILURE`, with nothing of Holdfast imported. GATE is a pipe that brings the
program once the process was stored. If it ends before, nothing may start. FAILURE is a pipe for why the program could
not start. It is closed when the program starts.
"""

import marshal
import os
import resource
import select
import signal
import sys
from typing import Any

LOOK_S = 1.0
LENGTH = 8


def main() -> None:
    """Become the program, or end."""
    parent, gate, failure = (int(word) for word in sys.argv[1:4])
    os.set_inheritable(failure, False)
    text = wait(gate, parent)
    if text is None:
        os._exit(0)
    os.close(gate)
    program: dict[str, Any] = marshal.loads(text)
    step = "start"
    try:
        # Python ignores some signals, and a shell others for background jobs. The program would inherit that.
        for number in signal.valid_signals():
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        step = "folder"
        if program["cwd"] is not None:
            os.chdir(program["cwd"])
        step = "limit"
        for name, amount in program["limits"].items():
            limit(getattr(resource, name), amount)
        step = "program"
        os.execvpe(program["argv"][0], program["argv"], program["env"])
    except BaseException as error:
        os.write(failure, f"{step} {getattr(error, 'errno', None) or 0} {error}".encode("utf-8", "replace"))
        os._exit(127)


def wait(gate: int, parent: int) -> bytes | None:
    """All that comes through the gate. None if it ends before, or if the parent is gone."""
    text = b""
    while len(text) < LENGTH or len(text) < LENGTH + int.from_bytes(text[:LENGTH]):
        # A process that the parent forked may have a copy of the other end.
        if not select.select([gate], [], [], LOOK_S)[0]:
            if os.getppid() != parent:
                return None
            continue
        piece = os.read(gate, 1 << 16)
        if not piece:
            return None
        text += piece
    return text[LENGTH:]


def limit(kind: int, amount: int) -> None:
    """Lower a limit of this process and its children. It is never raised."""
    hard = resource.getrlimit(kind)[1]
    most = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
    # The hard limit of CPU time is higher than the soft one, so that the program is told before it is killed.
    behind = most + 5 if kind == resource.RLIMIT_CPU else most
    resource.setrlimit(kind, (most, behind if hard == resource.RLIM_INFINITY else min(behind, hard)))


if __name__ == "__main__":
    main()
