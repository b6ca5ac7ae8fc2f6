"""The turns of a queue whose jobs need tokens. A turn goes to the next tenant that has a job that fits.

Without tokens it gives the same turns as `fair_line`. It reads more jobs of each tenant, since some do not fit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from holdfast.core.gates.fairness import FairLine
from holdfast.core.job import JobId, Millis
from holdfast.core.jobs import order
from holdfast.core.jobs.order import Rank
from holdfast.core.jobs.requests import COMMAND
from holdfast.core.rules.tokens import Tokens
from holdfast.core.values.subject import DEFAULT_TENANT
from holdfast.store.engine import Tx
from holdfast.store.scripts.claiming import fair_line
from holdfast.store.scripts.claiming.fair_line import QueueRequest, WaitingTenantRow
from holdfast.store.statements import sql

MOST_LOOKED_AT = 64


class Head(Struct, frozen=True, gc=False):
    """One of the first jobs of a tenant, with the tokens that it needs."""

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
        """The tokens that it takes of the machine."""
        return Tokens(self.cpu, self.gpu, self.io)


class TokenLine:
    """The turns of one queue.

    `taken` are the jobs that start, in order. `passed` are jobs that did not fit at their turn. A caller says how much
    room is left on the machine. It never becomes more.
    """

    def __init__(self, tx: Tx, request: QueueRequest, capacity: Tokens, slots: int) -> None:
        self.taken: list[Head] = []
        self.passed: list[Head] = []
        self._tx = tx
        self._request = request
        self._capacity = capacity
        self._left = self._page_size = slots
        self._page = fair_line.next_tenants(tx, request, None, slots)
        self._has_tenants = bool(self._page)
        self._page = self._page or [WaitingTenantRow(DEFAULT_TENANT, 0.0, 1, None)]
        self._line = FairLine(fair_line.queue_clock(tx, request.queue) if self._has_tenants else 0.0)
        self._jobs: dict[str, list[Head]] = {}
        self._looked_at: dict[str, int] = {}
        self._seen_to: dict[str, Rank] = {}
        self._spent: list[str] = []
        self._next: Head | None = None

    @property
    def left(self) -> int:
        """How many turns are left."""
        return self._left

    @property
    def line(self) -> FairLine | None:
        """The turns that were taken. None where only the default tenant has jobs."""
        return self._line if self._has_tenants else None

    @property
    def spent(self) -> Sequence[str]:
        """Tenants that had no job left that fits."""
        return self._spent if self._has_tenants else ()

    def start_early(self, head: Head) -> None:
        """Start a job before any turn, because others have passed it for too long. Its tenant pays all the same."""
        request = self._request
        tenant = (
            fair_line.tenant_in_line(self._tx, request.queue, head.tenant, request.now) if self._has_tenants else None
        )
        if tenant is not None:
            self._line.take_early(tenant)
        self.taken.append(head)
        self._left -= 1

    def peek(self, room: Tokens) -> Head | None:
        """The job that has the next turn. None: no job fits into this room."""
        self._next = None
        while self._left > 0:
            self._let_tenants_in()
            name = self._line.first
            if name is None:
                return None
            if self._has_used_share(name):
                self._line.leave()
                continue
            jobs = self._jobs[name]
            fitting = next((head for head in jobs if head.needs.fit(room)), None)
            if self._may_hide(name, fitting) and self._look_further(name):
                continue
            if jobs and not jobs[0].needs.fit(room) and jobs[0] not in self.passed:
                self.passed.append(jobs[0])
            self._next = fitting
            if fitting is not None:
                return fitting
            self._line.leave()
            self._spent.append(name)
        return None

    def take(self) -> Head:
        """Start the job of the last `peek`."""
        head = self._next
        assert head is not None
        self._line.take()
        self._jobs[head.tenant].remove(head)
        self.taken.append(head)
        self._left -= 1
        self._next = None
        return head

    def _has_used_share(self, tenant: str) -> bool:
        """Whether the tenant has used up its share, counting the jobs taken here."""
        share = self._request.share
        return share is not None and share.left(tenant) <= sum(head.tenant == tenant for head in self.taken)

    def _let_tenants_in(self) -> None:
        """Let tenants into the line, until it has a newcomer for each turn that is left."""
        while self._page and self._line.newcomers < self._left:
            page, self._page = self._page, []
            # As many jobs as the turns need if all of them take part.
            self._look({row.tenant for row in page}, -(-self._left // len(page)))
            for row in page:
                self._line.join(row.to_tenant(self._request.now))
            if len(page) == self._page_size:
                self._page = fair_line.next_tenants(self._tx, self._request, page[-1], self._page_size)

    def _may_hide(self, tenant: str, head: Head | None) -> bool:
        """Whether a job of the tenant that was not read yet may come before this one."""
        seen_to = self._seen_to.get(tenant)
        return seen_to is not None and (head is None or order.rank(head) > seen_to)

    def _look_further(self, tenant: str) -> bool:
        """Read more jobs of a tenant. False: as many as allowed were read."""
        looked_at, most = self._looked_at[tenant], max(MOST_LOOKED_AT, self._page_size)
        if looked_at >= most:
            return False
        self._look({tenant}, min(most, 4 * looked_at))
        return True

    def _look(self, tenants: Collection[str], limit: int) -> None:
        """Read the first jobs of these tenants, at most so many of each lane."""
        request, most = self._request, self._capacity
        line: dict[str, object] = {
            "queue": request.queue,
            "lanes": fair_line.json_list(request.lanes),
            "tenants": fair_line.json_list(sorted(tenants)),
            "limit": limit,
            "cpu": most.cpu,
            "gpu": most.gpu,
            "io": most.io,
            "now": request.now,
        }
        if request.tasks == (COMMAND,):
            heads = self._tx.all(sql.command_line_heads, Head, **line)
        else:
            heads = self._tx.all(sql.line_heads, Head, tasks=fair_line.json_list(request.tasks), **line)
        started = {head.number for head in self.taken}
        found: dict[str, list[Head]] = {name: [] for name in tenants}
        for head in sorted(heads, key=order.rank):
            if head.number not in started:
                found[head.tenant].append(head)
        self._jobs |= found
        self._looked_at |= dict.fromkeys(tenants, limit)
        self._note_ends(tenants, heads, limit)

    def _note_ends(self, tenants: Collection[str], heads: Sequence[Head], limit: int) -> None:
        """Note up to which rank all jobs of a tenant were read.

        Behind the last job of a lane that was read in part, there may be more.
        """
        lanes: dict[tuple[str, int], list[Rank]] = {}
        for head in heads:
            lanes.setdefault((head.tenant, head.lane), []).append(order.rank(head))
        for tenant in tenants:
            self._seen_to.pop(tenant, None)
        for (tenant, _), ranks in lanes.items():
            if len(ranks) >= limit:
                end = max(ranks)
                self._seen_to[tenant] = min(end, self._seen_to.get(tenant, end))
