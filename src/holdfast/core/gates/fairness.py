"""Fair turns between the tenants of a queue: weighted fair queuing.

Each tenant has a virtual time. The least goes first. Each job that starts adds 1/weight to it. The queue has a clock:
the virtual time at which its last job started. A tenant that comes back starts there, so it saves up no turns.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from holdfast.core.job import Millis

ACTIVE_WEIGHT = 100
BACKGROUND_WEIGHT = 10
MOST_WEIGHT = 1_000_000
ACTIVE_MS = 60_000
FADING_MS = 540_000  # the time from active to recent
RECENT_WEIGHT = 30
RECENT_MS = 86_400_000  # for so long work counts as recent


class WaitingTenant(Struct, frozen=True):
    """A tenant that waits for a turn in a queue."""

    name: str
    virtual_time: float
    weight: float


class Turns(Struct, frozen=True):
    """How many turns each tenant had, its virtual time after them, and the clock of the queue."""

    counts: Mapping[str, int]
    virtual_times: Mapping[str, float]
    clock: float


class FairLine:
    """The tenants of a queue in the order of their turns.

    `order` names the tenants that had a turn. A caller looks at `first`, and lets it take its turn or leave the line.
    """

    def __init__(self, clock: float, tenants: Iterable[WaitingTenant] = ()) -> None:
        self.order: list[str] = []
        self._clock = clock
        self._times: dict[str, float] = {}
        # After each turn: the virtual time of the tenant that had it, and the clock.
        self._paid: list[float] = []
        self._clocks = [clock]
        self._heap = [
            (max(tenant.virtual_time, clock), tenant.virtual_time, tenant.name, tenant.weight) for tenant in tenants
        ]
        heapq.heapify(self._heap)

    @property
    def first(self) -> str | None:
        """The tenant whose turn is next. None: nobody is in the line."""
        return self._heap[0][2] if self._heap else None

    @property
    def newcomers(self) -> int:
        """How many in the line have had no turn."""
        return sum(name not in self._times for _, _, name, _ in self._heap)

    def join(self, tenant: WaitingTenant) -> None:
        """Let a tenant into the line."""
        time = self._times.get(tenant.name, tenant.virtual_time)
        heapq.heappush(self._heap, (max(time, self._clock), time, tenant.name, tenant.weight))

    def take(self) -> None:
        """Give the first tenant its turn."""
        start, _, name, weight = self._heap[0]
        self._clock = max(self._clock, start)
        after = start + 1 / weight
        heapq.heapreplace(self._heap, (after, after, name, weight))
        self._note(name, after)

    def leave(self) -> None:
        """Take the first tenant out of the line: it starts nothing more."""
        heapq.heappop(self._heap)

    def take_early(self, tenant: WaitingTenant) -> None:
        """Let a tenant that has not joined start a job before its turn. It pays as for a turn."""
        time = self._times.get(tenant.name, tenant.virtual_time)
        self._note(tenant.name, max(time, self._clock) + 1 / tenant.weight)

    def after(self, turns: int) -> Turns:
        """The counts, virtual times and clock after so many turns."""
        order = self.order[:turns]
        return Turns(Counter(order), dict(zip(order, self._paid, strict=False)), self._clocks[len(order)])

    def _note(self, name: str, after: float) -> None:
        self.order.append(name)
        self._times[name] = after
        self._paid.append(after)
        self._clocks.append(self._clock)


def weight_now(weight: int, active_until: Millis | None, now: Millis) -> float:
    """The weight of a tenant. It is raised while somebody works with it, and sinks back within a day."""
    if active_until is None:
        return float(weight)
    active = max(0, ACTIVE_WEIGHT - weight) * _left(active_until, FADING_MS, now)
    recent = max(0, RECENT_WEIGHT - weight) * _left(active_until, RECENT_MS, now)
    return weight + max(active, recent)


def _left(until: Millis, fading: Millis, now: Millis) -> float:
    """The part of a raise that is left: 1 until the moment `until`, then sinking to 0 within `fading`."""
    return min(1.0, max(0.0, (until + fading - now) / fading))


def take_turns(
    tenants: Iterable[WaitingTenant], clock: float, turns: int, most: Mapping[str, int] | None = None
) -> FairLine:
    """Give the next turns to these tenants. `most` bounds the turns of some of them."""
    line, left = FairLine(clock, tenants), dict(most or {})
    while len(line.order) < turns and (name := line.first) is not None:
        if name not in left:
            line.take()
        elif left[name] > 0:
            left[name] -= 1
            line.take()
        else:
            line.leave()
    return line
