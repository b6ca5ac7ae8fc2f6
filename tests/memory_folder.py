"""Where a test run may keep its files in memory."""

from __future__ import annotations

import os

import psutil

FOLDER = "/dev/shm"
ROOM = 8 << 30


def memory_folder() -> str | None:
    """A folder in memory, if this machine has one with plenty of room, where programs can be started too."""
    try:
        found = os.statvfs(FOLDER)
    except OSError:
        return None
    # The folder may promise more than there is.
    has_room = min(found.f_bavail * found.f_frsize, psutil.virtual_memory().available) >= ROOM
    can_use = os.access(FOLDER, os.W_OK) and not found.f_flag & os.ST_NOEXEC
    return FOLDER if has_room and can_use else None
