"""End a process of this machine that lives, but hangs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.store.locks import is_held_by, is_locked

KILL_S = 5.0
LOOK_S = 0.01


def kill_holder(path: str, pid: int) -> bool:
    """Kill the process that holds this lock, if that is `pid`. True once the kernel has released the lock."""
    try:
        with _handle(pid) as handle:
            # The process has stored its pid itself, which may be of another pid namespace.
            if not is_held_by(path, pid):
                return False
            if handle is None:
                os.kill(pid, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False  # It is gone, or we may not end it.
    until = time.monotonic() + KILL_S
    while is_locked(path):
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_S)
    return True


@contextmanager
def _handle(pid: int) -> Iterator[int | None]:
    """A handle on the process, if the system has such. With it, the pid cannot become another process meanwhile."""
    if not hasattr(os, "pidfd_open"):
        yield None
        return
    handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        os.close(handle)
