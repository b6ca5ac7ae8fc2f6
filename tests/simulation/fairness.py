"""Whether tenants that have work get their shares, over every window in which two of them had some all the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from holdfast.core.fairness import weight_now
from tests.model.observe import statement
from tests.simulation.world import World

ABLE = statement(
    """SELECT DISTINCT tenant FROM jobs
    WHERE queue = :queue AND state = 'QUEUED' AND is_suspect = 0 AND lane = 0 ORDER BY tenant"""
)
WEIGHTS = statement("SELECT tenant, weight, active_until FROM tenants WHERE queue = :queue")


class Pair:
    """Two tenants since both have had work: how far one got ahead of the other, and how far it might."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.most = 0.0


class Shares:
    """The starts of one queue, each counted as one by the tenant's weight, so that equal counts are fair shares."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self.pairs: dict[tuple[str, str], Pair] = {}
        self.widest = 0.0
        self.starts_compared = 0

    def note_starts(self, rows: Sequence[dict[str, Any]], world: World) -> None:
        """A claim has started these jobs. One that runs alone takes no turn."""
        self.look(world)
        taken = Counter(row["tenant"] for row in rows if row["queue"] == self.queue and not row["is_suspect"])
        if not taken:
            return
        weights = _weights(world, self.queue)
        for (one, other), pair in self.pairs.items():
            steps = (1 / weights[one], 1 / weights[other])
            pair.ahead += taken[one] * steps[0] - taken[other] * steps[1]
            pair.most = max(pair.most, sum(steps))
            self.starts_compared += taken[one] + taken[other]
            self.widest = max(self.widest, abs(pair.ahead) / pair.most)
            assert abs(pair.ahead) <= pair.most * 1.001, f"{one} got ahead of {other} by {pair.ahead} of {pair.most}"

    def look(self, world: World) -> None:
        """Who has work now. Windows begin and end here."""
        rows = world.engine.query(lambda tx: tx.rows(ABLE, queue=self.queue))
        able = combinations(sorted(row["tenant"] for row in rows), 2)
        self.pairs = {pair: self.pairs.get(pair) or Pair() for pair in able}


def _weights(world: World, queue: str) -> dict[str, float]:
    rows = world.engine.query(lambda tx: tx.rows(WEIGHTS, queue=queue))
    return {row["tenant"]: weight_now(row["weight"], row["active_until"], world.now) for row in rows}
