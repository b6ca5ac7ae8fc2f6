"""What the end of a process means for its run: exit codes as in sysexits(3), and deaths by signal."""

from __future__ import annotations

import signal

from holdfast.core.jobs.settle import Broke
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.tasks.program import Program
from holdfast.workers.process.launching import UNKNOWN

PERMANENT = frozenset({64, 65, 78})  # used wrongly, bad data, bad configuration
LONGEST_LINE = 200


def is_signal(status: int) -> bool:
    """Whether the process died of a signal."""
    return status < 0


def exit_code(status: int) -> int | None:
    """The code as a shell shows it. For a death by a signal, that is 128 plus its number."""
    return None if status == UNKNOWN else 128 - status if is_signal(status) else status


def broke(status: int, program: Program, last_line: str, *, is_out_of_memory: bool = False) -> Broke:
    """The failure of a command that did not end with 0. `last_line` is the last line that it printed.

    `is_out_of_memory`: while it ran, the kernel has killed a process for lack of memory.
    """
    name = program.argv[0]
    if status == UNKNOWN:
        return _unknown(repr(name))
    if not is_signal(status):
        kind = FailureKind.PERMANENT if status in PERMANENT else FailureKind.TRANSIENT
        return Broke(Failure(kind, f"EXIT_{status}", _said(f"{name!r} exited with code {status}", last_line)))
    if -status == signal.SIGXCPU and program.cpu_s is not None:
        message = f"{name!r} used more than {program.cpu_s} s of CPU time"
        return Broke(Failure(FailureKind.TRANSIENT, "ERR_CPU_LIMIT", message))
    if -status == signal.SIGKILL and is_out_of_memory:
        message = _said(f"{name!r} was killed because memory ran out", last_line)
        return Broke(Failure(FailureKind.INFRA, "ERR_OUT_OF_MEMORY", message), death=True)
    # Its worker lives, so the machine is not to blame. It counts as if it had ended with an exit code.
    what = signal_name(-status)
    return Broke(Failure(FailureKind.TRANSIENT, f"SIGNAL_{what}", _said(f"{name!r} was killed by {what}", last_line)))


def crashed(status: int, task: str, last_line: str) -> Broke:
    """The process of a Python task ended without telling the outcome. That is a crash, whatever its exit code."""
    name = f"the process of task {task!r}"
    if status == UNKNOWN:
        return _unknown(name)
    if is_signal(status):
        return _died(status, name, last_line)
    message = _said(f"{name} ended with code {status} in the middle of it", last_line)
    return Broke(Failure(FailureKind.INFRA, f"EXIT_{status}", message), death=True)


def _died(status: int, name: str, last_line: str) -> Broke:
    """The death of a process by a signal that was not ours. It ran alone, so the job itself is to blame."""
    what = signal_name(-status)
    hint = ", which is also what a machine without memory does" if what == "SIGKILL" else ""
    message = _said(f"{name} was killed by {what}{hint}", last_line)
    return Broke(Failure(FailureKind.INFRA, f"SIGNAL_{what}", message), death=True)


def _unknown(name: str) -> Broke:
    message = f"how {name} ended was taken by another part of this program, which waits for every child"
    return Broke(Failure(FailureKind.INFRA, "ERR_EXIT_UNKNOWN", message))


def signal_name(number: int) -> str:
    """The name of a signal, such as SIGKILL."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _said(message: str, last_line: str) -> str:
    return f"{message}: {last_line[:LONGEST_LINE]}" if last_line else message
