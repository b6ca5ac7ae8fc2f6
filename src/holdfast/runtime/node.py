"""Which machine this is, as far as it matters for who can judge whom."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from holdfast.core.tokens import Tokens, usual_tokens
from holdfast.store.machine import node_name as node_name

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def boot_id() -> str:
    """One life of the kernel: the same in every container on the machine, another one after a reboot."""
    if _BOOT_ID.exists():
        return _BOOT_ID.read_text("ascii").strip()
    import psutil

    return f"{node_name()}@{int(psutil.boot_time())}"


def own_tokens() -> Tokens:
    """What this machine has unless somebody decides otherwise, by the cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return usual_tokens(cores or 1)


def process_id() -> int:
    """This process, as its own pid namespace numbers it."""
    return os.getpid()
