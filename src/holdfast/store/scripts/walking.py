"""Walk through a queue whose jobs take tokens, turn by turn: each goes to who is next and has a job that fits.

Without tokens it takes the same jobs as `picking`, which asks for as few rows as it can; here the lines of the tenants
are looked at a little further, and what does not fit is noted.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection

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
            line = self._lines[name]
            if line and not line[0].needs.fit(room) and line[0] not in self.passed:
                self.passed.append(line[0])
            self._next = next((head for head in line if head.needs.fit(room)), None)
            if self._next is not None:
                return self._next
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

    def _meet(self) -> None:
        """Let in those who come next, until there are as many who have had no turn yet as there are turns left."""
        while self._page and sum(name not in self._times for _, _, name, _ in self._heap) < self._left:
            page, self._page = self._page, []
            self._lines |= self._look({row.tenant for row in page})
            for row in page:
                time = self._time_of(row)
                weight = weight_now(row.weight, row.active_until, self._wish.now)
                heapq.heappush(self._heap, (max(time, self._clock), time, row.tenant, weight))
            if len(page) == self._page_size:
                self._page = next_tenants(self._tx, self._wish, page[-1], self._page_size)

    def _time_of(self, row: TenantRow) -> float:
        return self._times.get(row.tenant, row.virtual_time)

    def _look(self, tenants: Collection[str]) -> dict[str, list[Head]]:
        wish, most = self._wish, self._capacity
        line: dict[str, object] = {
            "queue": wish.queue,
            "lanes": _json(wish.lanes),
            "tenants": _json(sorted(tenants)),
            "limit": max(MOST_LOOKED_AT, self._page_size),
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
        return found


def _json(items: Collection[object]) -> str:
    return msgspec.json.encode(list(items)).decode()
