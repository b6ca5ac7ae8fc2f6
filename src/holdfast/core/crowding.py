"""When the jobs of a queue wait for too long, or are mostly replaced by newer ones before they run."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import Millis

# Of so many ended jobs at least, a share says something.
FEWEST = 20
# How long the past is that counts.
WINDOW_MS: Millis = 300_000
# While most of its jobs are superseded, a watch waits so many times as long for quiet.
PATIENCE = 4


class Crowding(StrEnum):
    """What a queue suffers from."""

    WAIT = "wait"
    SUPERSEDED = "superseded"


class CrowdingRules(Struct, frozen=True):
    """From when on: its next job has been ready for so long; such a share of the ended was superseded. 0: never."""

    wait_ms: Millis = 300_000
    superseded: float = 0.5


class QueueSeen(Struct, frozen=True):
    """How long the next job of a queue has been ready, how many ended of late, and how many of them as superseded."""

    waits_ms: Millis = 0
    ended: int = 0
    superseded: int = 0


def crowding(seen: QueueSeen, before: frozenset[Crowding], rules: CrowdingRules) -> dict[Crowding, str]:
    """What the queue suffers from, and a sentence about each. It is over at a lower threshold than it began."""
    found: dict[Crowding, str] = {}
    wait = rules.wait_ms / 2 if Crowding.WAIT in before else rules.wait_ms
    if rules.wait_ms and seen.waits_ms > wait:
        found[Crowding.WAIT] = f"its next job has been ready for {seen.waits_ms // 1000} s"
    share = rules.superseded * 0.8 if Crowding.SUPERSEDED in before else rules.superseded
    is_known = seen.ended >= FEWEST
    if rules.superseded and is_known and seen.superseded > share * seen.ended:
        percent = round(100 * seen.superseded / seen.ended)
        found[Crowding.SUPERSEDED] = f"{percent} % of its jobs were superseded before they ended"
    return found
