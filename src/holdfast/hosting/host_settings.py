"""How a program runs its jobs."""

from __future__ import annotations

from msgspec import Struct

from holdfast.hosting.replacement import KeptBy
from holdfast.tasks.files import USUAL, LogLimits

SHORT_WORK_S = 5.0
GRACE_S = 5.0


class HostSettings(Struct, frozen=True, kw_only=True):
    """How a `TaskHost` runs its jobs, where a daemon or a person says otherwise than its code.

    `concurrency`: None for what the code says. `short` and `grace` are the seconds of a stop after a signal. `kept`:
    this process may end itself, and another one replaces it.
    """

    concurrency: int | dict[str, int] | None = None
    log: LogLimits = USUAL
    short: float = SHORT_WORK_S
    grace: float = GRACE_S
    kept: KeptBy | None = None
