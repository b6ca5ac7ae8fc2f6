"""Read files that another user may have made: no pipe and no device, and never more than a limit."""

from __future__ import annotations

import os
import stat


def read_regular(path: str | os.PathLike[str], most: int, begin: int = 0, flags: int = 0) -> bytes | None:
    """At most so many bytes of a file, from `begin` on. None, if it is no regular file.

    `flags` are more of those that `os.open` takes.
    """
    # To open a pipe of this name would block.
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return None
        with open(opened, "rb", closefd=False) as file:
            file.seek(begin)
            return file.read(most)
    finally:
        os.close(opened)
