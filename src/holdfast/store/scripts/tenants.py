"""Tenants: who shares a queue, how much each one's word counts, and what each has received."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct

from holdfast.core.fairness import ACTIVE_MS, BACKGROUND_WEIGHT, RECENT_MS, weight_now
from holdfast.core.job import Millis
from holdfast.core.subject import DEFAULT_TENANT
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

EVERYWHERE = ""
MOST_KEPT = 1_000  # of so many, those at rest can still be looked at


class TenantRow(Struct, frozen=True):
    """A row of `tenants`."""

    queue: str
    tenant: str
    weight: int
    virtual_time: float
    active_until: Millis | None
    is_waiting: int
    starts: int


class TenantView(Struct, frozen=True, kw_only=True):
    """A tenant in a queue: the weight that was set and the one that counts now, and its share of the queue.

    `share` is what it may have of all who wait for a turn at this moment; 0 while it waits for none.
    """

    queue: str
    tenant: str
    weight: int
    weight_now: float
    share: float
    active_until: Millis | None
    is_waiting: bool
    virtual_time: float
    starts: int


def list_tenants(tx: Tx, now: Millis, queue: str | None = None, limit: int = 1_000) -> list[TenantView]:
    """The tenants of a queue, or of all of them; queues of the default tenant alone have none.

    Over all queues there are also tenants that no queue knows yet, if a weight is set for them; their `queue` is empty.
    """
    rows = tx.all(sql.list_tenants, TenantRow, queue=queue, limit=limit)
    in_all: dict[str, float] = defaultdict(float)
    for row in tx.rows(sql.waiting_weights, queue=queue):
        in_all[row["queue"]] += weight_now(row["weight"], row["active_until"], now) * row["tenants"]
    idle = set()
    for row in tx.rows(sql.idle_defaults, queue=queue):
        idle.add(row["queue"])
        in_all[row["queue"]] -= weight_now(row["weight"], row["active_until"], now)
    found = [_view(row, in_all, now, is_idle=row.tenant == DEFAULT_TENANT and row.queue in idle) for row in rows]
    known = [view for view in found if _has_anything(view)]
    if queue is None and len(rows) < limit:
        names = {view.tenant for view in known}
        everywhere = tx.all(sql.weights_everywhere, TenantRow, limit=limit)
        known += [_view(row, in_all, now) for row in everywhere if row.tenant not in names]
    return known[:limit]


def _view(row: TenantRow, in_all: Mapping[str, float], now: Millis, *, is_idle: bool = False) -> TenantView:
    counts = weight_now(row.weight, row.active_until, now)
    is_waiting = bool(row.is_waiting) and not is_idle
    return TenantView(
        queue=row.queue,
        tenant=row.tenant,
        weight=row.weight,
        weight_now=counts,
        share=counts / in_all[row.queue] if is_waiting else 0.0,
        active_until=row.active_until,
        is_waiting=is_waiting,
        virtual_time=row.virtual_time,
        starts=row.starts,
    )


def _has_anything(view: TenantView) -> bool:
    """Whether there is anything to say about a tenant: the default one has a row wherever others came."""
    is_set = view.weight != BACKGROUND_WEIGHT or view.active_until is not None
    return view.is_waiting or view.starts > 0 or is_set


def set_weight(tx: Tx, tenant: str, weight: int, queue: str | None = None) -> None:
    """How much a tenant's word counts against others: in one queue, or in all of them from now on."""
    tx.run(sql.put_weight, queue=queue or EVERYWHERE, tenant=tenant, weight=weight)
    if queue is None:
        tx.run(sql.set_weights, tenant=tenant, weight=weight)


def clear_weight(tx: Tx, tenant: str, queue: str | None = None) -> None:
    """Set a weight back: in one queue to what holds in all of them, in all of them to 10."""
    if queue is None:
        tx.run(sql.set_weights, tenant=tenant, weight=BACKGROUND_WEIGHT)
    else:
        tx.run(sql.clear_weight, queue=queue, tenant=tenant)


def note_activity(tx: Tx, tenant: str, now: Millis, for_ms: Millis = ACTIVE_MS) -> Millis:
    """Somebody works with this tenant: its word counts more for a while, and less and less for a day; until when."""
    until = now + for_ms
    tx.run(sql.put_activity, tenant=tenant, active_until=until)
    tx.run(sql.set_activity, tenant=tenant, active_until=until)
    return until


def notice_work(tx: Tx, tenant: str, now: Millis) -> None:
    """Somebody was seen to work with this tenant: as if it had been told, unless more than that was told already."""
    known = tx.rows(sql.tenant_in_line, queue=EVERYWHERE, tenant=tenant)
    if not known or (known[0]["active_until"] or 0) < now + ACTIVE_MS:
        note_activity(tx, tenant, now)


def forget_tenants(tx: Tx, now: Millis, limit: int, kept: int = MOST_KEPT) -> int:
    """Remove tenants at rest of whom nothing has to be remembered, where there are very many; how many."""
    too_many = int(tx.value(sql.count_tenants)) - kept
    if too_many <= 0:
        return 0
    # Those whose jobs ended without being started are still said to wait.
    tx.run_many(sql.let_tenant_rest, tx.rows(sql.tenants_said_to_wait, limit=limit))
    return tx.run(sql.forget_tenants, faded=now - RECENT_MS, limit=min(limit, too_many))
