"""Whether tenants that have work get their shares, over every window in which two of them had some all the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from holdfast.core.gates.fairness import weight_now
from tests.model.observe import statement
from tests.simulation.world import World

ABLE = statement(
    """SELECT DISTINCT tenant FROM jobs
    WHERE queue = :queue AND state = 'QUEUED' AND is_suspect = 0 AND lane = 0 ORDER BY tenant"""
)
TIMES = statement(
    """SELECT t.tenant, t.weight, t.active_until, t.virtual_time, coalesce(c.virtual_time, 0) AS clock
    FROM tenants AS t LEFT JOIN queue_clocks AS c ON c.queue = t.queue WHERE t.queue = :queue"""
)


class Pair:
    """Two tenants since both have had work: how far one is ahead of the other, and how far it may be.

    Who has paid for a turn, by a weight that was another one then, or for a job that ran alone, begins ahead.
    """

    def __init__(self, ahead: float) -> None:
        self.ahead = ahead
        self.most = abs(ahead)


class Shares:
    """The starts of one queue, each counted as one by the tenant's weight, so that equal counts are fair shares."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self.pairs: dict[tuple[str, str], Pair] = {}
        self.widest = 0.0
        self.starts_compared = 0

    def note_starts(self, rows: Sequence[dict[str, Any]], world: World) -> None:
        """A claim has started these jobs. One that runs alone is out of turn, and is paid for with turns to come."""
        started = [row for row in rows if row["queue"] == self.queue]
        if not started:
            return
        taken = Counter(row["tenant"] for row in started)
        able = self._able(world)
        self.pairs = {pair: old for pair, old in self.pairs.items() if pair in able}
        times = self._times(world)
        for (one, other), pair in self.pairs.items():
            steps = (1 / times[one][0], 1 / times[other][0])
            pair.ahead += taken[one] * steps[0] - taken[other] * steps[1]
            pair.most = max(pair.most, sum(steps))
            self.starts_compared += taken[one] + taken[other]
            if any(row["is_suspect"] for row in started):
                pair.most = max(pair.most, abs(pair.ahead))
            self.widest = max(self.widest, abs(pair.ahead) / pair.most)
            assert abs(pair.ahead) <= pair.most * 1.001, f"{one} got ahead of {other} by {pair.ahead} of {pair.most}"

    def look(self, world: World) -> None:
        """Who has work now. Windows begin and end here."""
        able = self._able(world)
        new = able - self.pairs.keys()
        times = self._times(world) if new else {}
        self.pairs = {pair: old for pair, old in self.pairs.items() if pair in able}
        self.pairs |= {(one, other): Pair(times[one][1] - times[other][1]) for one, other in sorted(new)}

    def _able(self, world: World) -> set[tuple[str, str]]:
        rows = world.engine.query(lambda tx: tx.rows(ABLE, queue=self.queue))
        return set(combinations(sorted(row["tenant"] for row in rows), 2))

    def _times(self, world: World) -> dict[str, tuple[float, float]]:
        """The weight of each tenant, and its virtual time; nobody waits behind the time of the queue."""
        rows = world.engine.query(lambda tx: tx.rows(TIMES, queue=self.queue))
        return {
            row["tenant"]: (
                weight_now(row["weight"], row["active_until"], world.now),
                max(row["virtual_time"], row["clock"]),
            )
            for row in rows
        }
