"""Which machine this is, as far as it matters for who can judge whom."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from holdfast.store.machine import node_name as node_name

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def boot_id() -> str:
    """One life of the kernel: the same in every container on the machine, another one after a reboot."""
    if _BOOT_ID.exists():
        return _BOOT_ID.read_text("ascii").strip()
    import psutil

    return f"{node_name()}@{int(psutil.boot_time())}"


def process_id() -> int:
    """This process, as its own pid namespace numbers it."""
    return os.getpid()
