"""Run a program of the system for its output, and wait only for a short time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress

LONGEST_S = 2.0


def output_of(program: str, *words: str, limit: float = LONGEST_S) -> str | None:
    """What the program prints. None if there is no such program, if it fails, or if it takes too long."""
    found = shutil.which(program)
    if found is None:
        return None
    try:
        child = subprocess.Popen(
            [found, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"LC_ALL": "C"},
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        said, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        # The whole group: processes that it started would keep the pipe open.
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return None
    return said.decode("utf-8", "replace") if child.returncode == 0 else None
