"""The time of a database server, as far as a process on another machine can know it.

All moments here are milliseconds since the boot of this machine, sleep included. That clock cannot be set.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.machine.clock_step import STEP_MS

EVERY_MS: Millis = 30_000
AGAIN_MS: Millis = 5_000
SILENCE_MS: Millis = 120_000
JUMP_MS: Millis = 60_000


class Measurement(Struct, frozen=True):
    """The clock of the server was read at `at`. It was ahead of that by `ahead`, give or take `error`."""

    at: Millis
    ahead: Millis
    error: Millis

    @classmethod
    def of(cls, asked: Millis, server: Millis, answered: Millis) -> Measurement:
        """A measurement of one round trip. When the server looked is not known, so half of the trip is the error."""
        middle = (asked + answered) // 2
        return cls(middle, server - middle, (answered - asked + 1) // 2)

    def agrees_with(self, other: Measurement) -> bool:
        """Whether both can be of a clock that was not set in between."""
        return abs(self.ahead - other.ahead) <= STEP_MS + self.error + other.error


class ClockDoubt(StrEnum):
    """Why the time of the server is not known well enough to act by it."""

    SILENT = "silent"
    JUMPED = "jumped"


HELD = "nothing is fired, promoted or expired until two measurements agree"


class ClockEstimate(Struct, frozen=True):
    """The measurement that a process uses. `doubted` is the newest one that is not used yet, and `doubt` is why."""

    measured: Measurement
    doubted: Measurement | None = None
    doubt: ClockDoubt | None = None


def weigh(estimate: ClockEstimate | None, found: Measurement) -> ClockEstimate:
    """What to use after another measurement. After a doubt, two in a row have to agree."""
    if estimate is None:
        return ClockEstimate(found)
    if found.error > STEP_MS:
        return estimate  # The process was stopped during the round trip, so it tells nothing.
    if estimate.doubted is not None:
        return ClockEstimate(found) if found.agrees_with(estimate.doubted) else _doubting(estimate, found)
    if doubt_at(estimate, found.at) is not None or _has_jumped(estimate.measured, found):
        return _doubting(estimate, found)
    return ClockEstimate(found)


def _doubting(estimate: ClockEstimate, found: Measurement) -> ClockEstimate:
    return ClockEstimate(
        estimate.measured, found, ClockDoubt.JUMPED if _has_jumped(estimate.measured, found) else ClockDoubt.SILENT
    )


def _has_jumped(before: Measurement, after: Measurement) -> bool:
    return abs(after.ahead - before.ahead) > JUMP_MS


def doubt_at(estimate: ClockEstimate, moment: Millis) -> ClockDoubt | None:
    """Why the estimate cannot be used at a moment. None: it can."""
    if estimate.doubt is None and moment - estimate.measured.at > SILENCE_MS:
        return ClockDoubt.SILENT
    return estimate.doubt


def next_in(estimate: ClockEstimate) -> Millis:
    """How long after a measurement the next one is due."""
    return EVERY_MS if estimate.doubted is None else AGAIN_MS


def is_jump(before: ClockEstimate | None, after: ClockEstimate) -> bool:
    """Whether the clock of the server was set: the two estimates are too far apart."""
    return before is not None and _has_jumped(before.measured, after.measured)
