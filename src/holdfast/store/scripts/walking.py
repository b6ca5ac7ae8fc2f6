"""Walk through a queue whose jobs take tokens, turn by turn: each goes to who is next and has a job that fits.

Without tokens it takes the same jobs as `picking`, which asks for as few rows as it can; here the lines of the tenants
are looked at a little further, and what does not fit is noted.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct

from holdfast.core.fairness import Turns, weight_now
from holdfast.core.job import JobId, Millis
from holdfast.core.requests import COMMAND
from holdfast.core.subject import DEFAULT_TENANT
from holdfast.core.tokens import Tokens
from holdfast.store.engine import Tx
from holdfast.store.scripts.picking import MOST_LOOKED_AT, TenantRow, Wish, next_tenants
from holdfast.store.statements import sql


class Head(Struct, frozen=True, gc=False):
    """A job near the head of its line, with what decides about it."""

    number: int
    id: JobId
    tenant: str
    priority: int
    position: int
    created_at: Millis
    lane: int
    cpu: int
    gpu: int
    io: int
    tokens_since: Millis | None

    @property
    def needs(self) -> Tokens:
        """What it takes of the machine."""
        return Tokens(self.cpu, self.gpu, self.io)

    @property
    def rank(self) -> tuple[int, int, Millis, str]:
        """Its place in its line."""
        return (-self.priority, self.position, self.created_at, self.id)


class Walk:
    """The turns of a queue, as many as there are slots. What fits at a turn is asked with the room that is left then,
    which only gets less.

    `taken` are the jobs in order, `passed` those whose turn it was and for which there was no room.
    """

    def __init__(self, tx: Tx, wish: Wish, capacity: Tokens, slots: int) -> None:
        self.queue = wish.queue
        self.taken: list[Head] = []
        self.passed: list[Head] = []
        self._tx = tx
        self._wish = wish
        self._capacity = capacity
        self._left = self._page_size = slots
        self._page = next_tenants(tx, wish, None, slots)
        self._has_tenants = bool(self._page)
        self._page = self._page or [TenantRow(DEFAULT_TENANT, 0.0, 1, None)]
        self._clock: float = (tx.value(sql.queue_clock, queue=wish.queue) or 0.0) if self._has_tenants else 0.0
        self._heap: list[tuple[float, float, str, float]] = []
        self._lines: dict[str, list[Head]] = {}
        self._looked_at: dict[str, int] = {}
        self._seen_to: dict[str, tuple[int, int, Millis, str]] = {}
        self._times: dict[str, float] = {}
        self._spent: list[str] = []
        self._next: Head | None = None

    @property
    def left(self) -> int:
        """How many turns there are still."""
        return self._left

    @property
    def turns(self) -> Turns | None:
        """How the times of the tenants stand after what was taken; None in a queue of the default tenant alone."""
        if not self._has_tenants:
            return None
        return Turns(tuple(head.tenant for head in self.taken), self._times, self._clock)

    @property
    def spent(self) -> tuple[str, ...]:
        """Tenants that had no job left that fits."""
        return tuple(self._spent) if self._has_tenants else ()

    def start_first(self, head: Head) -> None:
        """A job that others have passed for too long starts before anybody has a turn; its tenant pays all the same."""
        line = {"queue": self.queue, "tenant": head.tenant}
        tenant = self._tx.one(sql.tenant_in_line, TenantRow, **line) if self._has_tenants else None
        if tenant is not None:
            weight = weight_now(tenant.weight, tenant.active_until, self._wish.now)
            self._times[head.tenant] = max(self._time_of(tenant), self._clock) + 1 / weight
        self.taken.append(head)
        self._left -= 1

    def peek(self, room: Tokens) -> Head | None:
        """The job that has the next turn, or None."""
        self._next = None
        while self._left > 0:
            self._meet()
            if not self._heap:
                return None
            name = self._heap[0][2]
            if self._has_share(name):
                heapq.heappop(self._heap)
                continue
            line = self._lines[name]
            fitting = next((head for head in line if head.needs.fit(room)), None)
            if self._may_hide(name, fitting) and self._look_further(name):
                continue
            if line and not line[0].needs.fit(room) and line[0] not in self.passed:
                self.passed.append(line[0])
            self._next = fitting
            if fitting is not None:
                return fitting
            heapq.heappop(self._heap)
            self._spent.append(name)
        return None

    def take(self) -> Head:
        """Let the job of the last look have its turn."""
        head = self._next
        assert head is not None
        start, _, name, weight = self._heap[0]
        self._clock = max(self._clock, start)
        self._times[name] = after = start + 1 / weight
        heapq.heapreplace(self._heap, (after, after, name, weight))
        self._lines[name].remove(head)
        self.taken.append(head)
        self._left -= 1
        self._next = None
        return head

    def _has_share(self, tenant: str) -> bool:
        """Whether as much of it runs as may run at once, with what was taken just now."""
        share = self._wish.share
        return share is not None and share.left(tenant) <= sum(head.tenant == tenant for head in self.taken)

    def _meet(self) -> None:
        """Let in those who come next, until there are as many who have had no turn yet as there are turns left."""
        while self._page and sum(name not in self._times for _, _, name, _ in self._heap) < self._left:
            page, self._page = self._page, []
            # As many as the turns will need if all take part.
            self._look({row.tenant for row in page}, -(-self._left // len(page)))
            for row in page:
                time = self._time_of(row)
                weight = weight_now(row.weight, row.active_until, self._wish.now)
                heapq.heappush(self._heap, (max(time, self._clock), time, row.tenant, weight))
            if len(page) == self._page_size:
                self._page = next_tenants(self._tx, self._wish, page[-1], self._page_size)

    def _time_of(self, row: TenantRow) -> float:
        return self._times.get(row.tenant, row.virtual_time)

    def _may_hide(self, tenant: str, head: Head | None) -> bool:
        """Whether one who was not looked at may stand before this one in the line."""
        seen_to = self._seen_to.get(tenant)
        return seen_to is not None and (head is None or head.rank > seen_to)

    def _look_further(self, tenant: str) -> bool:
        """Look at more of a line; False if that was all that is looked at."""
        looked_at, most = self._looked_at[tenant], max(MOST_LOOKED_AT, self._page_size)
        if looked_at >= most:
            return False
        self._look({tenant}, min(most, 4 * looked_at))
        return True

    def _look(self, tenants: Collection[str], limit: int) -> None:
        """Look at the heads of their lines, at most so many in each lane."""
        wish, most = self._wish, self._capacity
        line: dict[str, object] = {
            "queue": wish.queue,
            "lanes": _json(wish.lanes),
            "tenants": _json(sorted(tenants)),
            "limit": limit,
            "cpu": most.cpu,
            "gpu": most.gpu,
            "io": most.io,
            "now": wish.now,
        }
        if wish.tasks == (COMMAND,):
            heads = self._tx.all(sql.command_line_heads, Head, **line)
        else:
            heads = self._tx.all(sql.line_heads, Head, tasks=_json(wish.tasks), **line)
        started = {head.number for head in self.taken}
        found: dict[str, list[Head]] = {name: [] for name in tenants}
        for head in sorted(heads, key=lambda head: head.rank):
            if head.number not in started:
                found[head.tenant].append(head)
        self._lines |= found
        self._looked_at |= dict.fromkeys(tenants, limit)
        self._note_ends(tenants, heads, limit)

    def _note_ends(self, tenants: Collection[str], heads: Sequence[Head], limit: int) -> None:
        """How far each line was seen: up to the nearest end of a lane that may go on."""
        lanes: dict[tuple[str, int], list[Head]] = {}
        for head in heads:
            lanes.setdefault((head.tenant, head.lane), []).append(head)
        for tenant in tenants:
            self._seen_to.pop(tenant, None)
        for (tenant, _), lane in lanes.items():
            if len(lane) >= limit:
                end = max(head.rank for head in lane)
                self._seen_to[tenant] = min(end, self._seen_to.get(tenant, end))


def _json(items: Collection[object]) -> str:
    return msgspec.json.encode(list(items)).decode()
