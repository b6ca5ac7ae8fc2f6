"""How often the kernel has killed a process because memory ran out: in the cgroup of this one, and on the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")

_COUNT = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


class MemoryKills:
    """The counts at one moment. They only grow, and they do so before the process has died."""

    def __init__(self) -> None:
        self._before = _counts()

    def have_risen(self) -> bool:
        """Whether a process was killed for lack of memory since then."""
        return any(count > self._before.get(path, count) for path, count in _counts().items())


def _counts() -> dict[Path, int]:
    found = {}
    for path in _sources():
        # These files may be missing: other systems count elsewhere, or not at all.
        with suppress(OSError, ValueError):
            if count := _COUNT.search(path.read_text()):
                found[path] = int(count.group(1))
    return found


def _sources() -> Iterator[Path]:
    yield PROC / "vmstat"
    try:
        lines = (PROC / "self" / "cgroup").read_text().splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if not controllers:
            yield CGROUPS / path.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            yield CGROUPS / "memory" / path.lstrip("/") / "memory.oom_control"
