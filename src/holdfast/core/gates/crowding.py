"""When a queue is crowded: its jobs wait for too long, or are mostly superseded before they run."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import Millis

# With fewer ended jobs, their share says nothing.
FEWEST = 20
# Jobs that ended longer ago do not count.
WINDOW_MS: Millis = 300_000
# While most of its jobs are superseded, a watch waits so many times longer for quiet.
PATIENCE = 4


class Crowding(StrEnum):
    """Why a queue is crowded."""

    WAIT = "wait"
    SUPERSEDED = "superseded"


class CrowdingRules(Struct, frozen=True):
    """The thresholds: how long its next job has been ready, and the share of superseded jobs. 0: never."""

    wait_ms: Millis = 300_000
    superseded: float = 0.5


class QueueSeen(Struct, frozen=True):
    """How long the next job of a queue has been ready, how many ended lately, and how many of these were superseded."""

    waits_ms: Millis = 0
    ended: int = 0
    superseded: int = 0


def crowding(seen: QueueSeen, before: frozenset[Crowding], rules: CrowdingRules) -> dict[Crowding, str]:
    """Why the queue is crowded, with a sentence for each reason. A reason ends at a lower threshold than it began."""
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
