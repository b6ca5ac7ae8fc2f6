"""Fair turns between the tenants of a queue: weighted fair queuing, from stored rows alone.

Each tenant has a virtual time, which grows by 1/weight with each job started; the least goes first. The queue has a
clock, the virtual time at which its last job started: whoever comes back starts there, so an absence banks nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from msgspec import Struct

from holdfast.core.job import Millis

ACTIVE_WEIGHT = 100
BACKGROUND_WEIGHT = 10
MOST_WEIGHT = 1_000_000
ACTIVE_MS = 60_000
FADING_MS = 540_000  # how long it takes from active to recent
RECENT_WEIGHT = 30
RECENT_MS = 86_400_000  # how long work counts as recent


class Tenant(Struct, frozen=True):
    """Who waits for a turn in a queue."""

    name: str
    virtual_time: float
    weight: float


class Turns(Struct, frozen=True):
    """Whose turns come next, in order, and how the virtual times stand after them."""

    order: tuple[str, ...]
    virtual_times: Mapping[str, float]
    clock: float


def weight_now(weight: int, active_until: Millis | None, now: Millis) -> float:
    """What a tenant's word counts: raised while somebody works with it, and less and less for a day after that."""
    if active_until is None:
        return float(weight)
    active = max(0, ACTIVE_WEIGHT - weight) * _left(active_until, FADING_MS, now)
    recent = max(0, RECENT_WEIGHT - weight) * _left(active_until, RECENT_MS, now)
    return weight + max(active, recent)


def _left(until: Millis, fading: Millis, now: Millis) -> float:
    """How much is left of what sinks from a moment on: all of it until then, nothing after `fading`."""
    return min(1.0, max(0.0, (until + fading - now) / fading))


def take_turns(tenants: Sequence[Tenant], clock: float, turns: int, most: Mapping[str, int] | None = None) -> Turns:
    """The next turns of these tenants; `most` bounds how many jobs those have that are known to have few."""
    bound = most or {}
    line = [
        (max(tenant.virtual_time, clock), tenant.virtual_time, tenant.name, tenant.weight)
        for tenant in tenants
        if bound.get(tenant.name, 1) > 0
    ]
    heapq.heapify(line)
    taken: dict[str, int] = {}
    times: dict[str, float] = {}
    order: list[str] = []
    while line and len(order) < turns:
        start, _, name, weight = line[0]
        order.append(name)
        clock = max(clock, start)
        taken[name] = taken.get(name, 0) + 1
        times[name] = after = start + 1 / weight
        if name in bound and taken[name] >= bound[name]:
            heapq.heappop(line)
        else:
            heapq.heapreplace(line, (after, after, name, weight))
    return Turns(tuple(order), times, clock)
