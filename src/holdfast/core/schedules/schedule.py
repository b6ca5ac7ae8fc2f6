"""Which ticks of a schedule fire, which are left out and why, and when the next one comes.

A tick is a moment that the cron expression names. Each is judged once. A schedule knows up to which moment its ticks
are settled. None at or before that moment ever fires again, whatever the clock does.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.schedules.cron import Cron

MISFIRE_GRACE: Millis = 5_000  # a tick that is no later than this is on time
MOST_AT_ONCE = 100  # ticks that `all` makes up for
FAR_AHEAD: Millis = 86_400_000  # no schedule is ahead of the clock by more, unless the clock was wrong


class Misfire(StrEnum):
    """What to do about ticks that were due while no process was there to fire them."""

    SKIP = "skip"
    LATEST = "latest"
    ALL = "all"


class Overlap(StrEnum):
    """What to do about a tick while an earlier job of the same schedule has not ended."""

    ALLOW = "allow"
    SKIP = "skip"
    SUPERSEDE = "supersede"


class SkipReason(StrEnum):
    """Why a tick did not fire."""

    MISSED = "missed"
    TOO_MANY = "too many"
    OVERLAP = "overlap"
    FIRED_BEFORE = "fired before"
    QUEUE_FULL = "queue full"


class SkippedTicks(Struct, frozen=True):
    """Ticks that do not fire: how many, and the newest."""

    reason: SkipReason
    ticks: int
    newest: Millis


class JudgedTicks(Struct, frozen=True):
    """The verdict on the due ticks. `fires`: oldest first. `skipped`: the others.

    `settled_until`: no tick up to here is judged again. `next` is the first tick that is not due yet.
    """

    fires: tuple[Millis, ...]
    skipped: SkippedTicks | None
    settled_until: Millis
    next: Millis | None


def judge(cron: Cron, misfire: Misfire, settled_until: Millis, now: Millis) -> JudgedTicks:
    """Judge the due ticks after `settled_until`.

    The work is bounded, however long ago the last look was: only the newest ticks are read, and all are counted.
    """
    due = _newest_first(cron, settled_until, now)
    if not due:
        return JudgedTicks((), None, settled_until, cron.next_after(max(settled_until, now)))
    fires = _fires(misfire, due, now)
    rest = due[fires:]
    reason = SkipReason.TOO_MANY if misfire is Misfire.ALL else SkipReason.MISSED
    fired = due[:fires]
    skipped = SkippedTicks(reason, cron.count(settled_until, now) - len(fired), rest[0]) if rest else None
    return JudgedTicks(tuple(reversed(fired)), skipped, due[0], cron.next_after(now))


def is_far_ahead(settled_until: Millis, now: Millis) -> bool:
    """Whether a schedule is settled so far ahead that the clock must have been wrong."""
    return settled_until > now + FAR_AHEAD


def jitter(schedule_id: str, tick: Millis, most: Millis) -> Millis:
    """How much later than its tick a job is due: from 0 to `most`, the same on every machine."""
    digest = hashlib.blake2b(f"{schedule_id}/{tick}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) % (most + 1)


def _newest_first(cron: Cron, after: Millis, now: Millis) -> list[Millis]:
    found: list[Millis] = []
    tick = cron.previous_or_at(now)
    while tick is not None and tick > after and len(found) <= MOST_AT_ONCE:
        found.append(tick)
        tick = cron.previous_or_at(tick - 1)
    return found


def _fires(misfire: Misfire, due: list[Millis], now: Millis) -> int:
    """How many of these ticks fire, counted from the newest. If none was missed, all do."""
    on_time = sum(now - tick <= MISFIRE_GRACE for tick in due)
    match misfire:
        case Misfire.SKIP:
            return on_time
        case Misfire.LATEST:
            return on_time if on_time == len(due) else 1
        case Misfire.ALL:
            return MOST_AT_ONCE
