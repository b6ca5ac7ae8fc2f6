"""Tenants: which of them share a queue, the weight of each, and how many jobs each has started."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct

from holdfast.core.gates import fairness
from holdfast.core.gates.fairness import ACTIVE_MS, BACKGROUND_WEIGHT, RECENT_MS
from holdfast.core.job import Millis
from holdfast.core.messages.queues import TenantView
from holdfast.core.values.subject import DEFAULT_TENANT
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

EVERYWHERE = ""
MOST_KEPT = 1_000  # so many are kept, also those at rest


class TenantRow(Struct, frozen=True):
    """A row of `tenants`."""

    queue: str
    tenant: str
    weight: int
    virtual_time: float
    active_until: Millis | None
    is_waiting: int
    starts: int


def list_tenants(tx: Tx, now: Millis, queue: str | None = None, limit: int = 1_000) -> list[TenantView]:
    """The tenants of a queue, or of all queues. A queue with the default tenant alone has none.

    For all queues, the list also has tenants with a weight that no queue knows yet. Their `queue` is empty.
    """
    rows = tx.all(sql.list_tenants, TenantRow, queue=queue, limit=limit)
    in_all: dict[str, float] = defaultdict(float)
    for row in tx.rows(sql.waiting_weights, queue=queue):
        in_all[row["queue"]] += fairness.weight_now(row["weight"], row["active_until"], now) * row["tenants"]
    idle = set()
    for row in tx.rows(sql.idle_defaults, queue=queue):
        idle.add(row["queue"])
        in_all[row["queue"]] -= fairness.weight_now(row["weight"], row["active_until"], now)
    found = [_view(row, in_all, now, is_idle=row.tenant == DEFAULT_TENANT and row.queue in idle) for row in rows]
    known = [view for view in found if _has_anything(view)]
    if queue is None and len(rows) < limit:
        names = {view.tenant for view in known}
        everywhere = tx.all(sql.weights_everywhere, TenantRow, limit=limit)
        known += [_view(row, in_all, now) for row in everywhere if row.tenant not in names]
    return known[:limit]


def _view(row: TenantRow, in_all: Mapping[str, float], now: Millis, *, is_idle: bool = False) -> TenantView:
    counts = fairness.weight_now(row.weight, row.active_until, now)
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
    """Whether a tenant is worth showing. The default tenant has a row in every queue that has others."""
    is_set = view.weight != BACKGROUND_WEIGHT or view.active_until is not None
    return view.is_waiting or view.starts > 0 or is_set


def set_weight(tx: Tx, tenant: str, weight: int, queue: str | None = None) -> None:
    """Set the weight of a tenant against others: in one queue, or in all of them from now on."""
    tx.run(sql.put_weight, queue=queue or EVERYWHERE, tenant=tenant, weight=weight)
    if queue is None:
        tx.run(sql.set_weights, tenant=tenant, weight=weight)


def clear_weight(tx: Tx, tenant: str, queue: str | None = None) -> None:
    """Set a weight back: in one queue to the weight for all queues, in all of them to 10."""
    if queue is None:
        tx.run(sql.set_weights, tenant=tenant, weight=BACKGROUND_WEIGHT)
    else:
        tx.run(sql.clear_weight, queue=queue, tenant=tenant)


def note_activity(tx: Tx, tenant: str, now: Millis, for_ms: Millis = ACTIVE_MS) -> Millis:
    """Note that a user works with this tenant. It weighs more until the moment that is returned, then less and less."""
    until = now + for_ms
    tx.run(sql.put_activity, tenant=tenant, active_until=until)
    tx.run(sql.set_activity, tenant=tenant, active_until=until)
    return until


def notice_work(tx: Tx, tenant: str, now: Millis) -> None:
    """Note that a user was seen to work with this tenant, unless a longer activity was noted already."""
    known = tx.rows(sql.tenant_in_line, queue=EVERYWHERE, tenant=tenant)
    if not known or (known[0]["active_until"] or 0) < now + ACTIVE_MS:
        note_activity(tx, tenant, now)


def forget_tenants(tx: Tx, now: Millis, limit: int, kept: int = MOST_KEPT) -> int:
    """If there are very many tenants, remove those at rest without anything to remember. Return how many."""
    too_many = int(tx.value(sql.count_tenants)) - kept
    if too_many <= 0:
        return 0
    # Tenants whose jobs ended without a start are still marked as waiting.
    tx.run_many(sql.let_tenant_rest, tx.rows(sql.tenants_said_to_wait, limit=limit))
    return tx.run(sql.forget_tenants, faded=now - RECENT_MS, limit=min(limit, too_many))
