"""Whether queues keep their rates, and sessions the pace of a busy machine: counted here from the starts alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.simulation.world import World


class Windows:
    """The starts of each queue with a rate. What is set for a queue counts from when it is set."""

    def __init__(self) -> None:
        self._starts: dict[tuple[str, int, int], list[int]] = defaultdict(list)

    def note(self, row: dict[str, Any], world: World) -> None:
        """A job was started: no window of the rate's length that ends now holds more than it may."""
        if row["rate_limit"] is None:
            return
        rate = (row["queue"], row["rate_limit"], row["rate_window_ms"])
        starts = self._starts[rate]
        starts.append(world.now)
        recent = [start for start in starts if world.now - row["rate_window_ms"] < start <= world.now]
        assert len(recent) <= row["rate_limit"], f"{len(recent)} starts within a window of {rate}"

    def forget(self, queue: str) -> None:
        """The rate of a queue was changed."""
        for rate in [rate for rate in self._starts if rate[0] == queue]:
            del self._starts[rate]


class Paces:
    """When each session last pulled something that a busy machine paces."""

    def __init__(self) -> None:
        self._pulled: dict[str, int] = {}

    def note(self, rows: Sequence[dict[str, Any]], world: World) -> None:
        """A claim has started these: while its machine is busy, not sooner than it may."""
        paced = [row for row in rows if row["burden"] != "light" and row["pull_interval_ms"]]
        if not paced:
            return
        session, interval = paced[0]["session_id"], paced[0]["pull_interval_ms"]
        before = self._pulled.get(session)
        assert before is None or world.elapsed - before >= interval, f"pulled after {world.elapsed} - {before} ms"
        self._pulled[session] = world.elapsed

    def forget(self) -> None:
        """The clock was set: what is stored is of another time."""
        self._pulled.clear()
