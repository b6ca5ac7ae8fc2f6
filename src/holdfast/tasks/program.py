"""What runs in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from holdfast.runtime.sessions.processes import GRACE_S


class Program(Struct, frozen=True, kw_only=True):
    """What runs in a process of its own, and with what. `own` are the variables of the job, over those of `env`."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    own: Mapping[str, str] = {}
    cwd: str | None = None
    grace_s: float = GRACE_S
    memory_mb: int | None = None
    cpu_s: int | None = None
