"""Tenants: which of them share a queue, and the weight of each.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from holdfast.client.store_access import StoreAccess
from holdfast.core.gates.fairness import ACTIVE_MS
from holdfast.core.job import Millis
from holdfast.core.messages.queues import TenantView
from holdfast.core.rules.limits import MOST_PER_PAGE
from holdfast.core.rules.units import Duration
from holdfast.core.settings import rule_table
from holdfast.store.script_names import tenants


class Tenants:
    """The part of `Holdfast` for fair shares."""

    _access: StoreAccess

    def tenants(self, queue: str | None = None, *, limit: int = MOST_PER_PAGE) -> list[TenantView]:
        """The tenants of a queue, or of all: their weights, their shares now, and how many jobs each has started.

        A queue with the default tenant alone has none. For all queues, the list also has tenants with a weight that no
        queue knows yet. Their `queue` is empty.
        """
        return self._access.read(tenants.list_tenants, self._access.now(), *_wanted(queue, limit))

    async def atenants(self, queue: str | None = None, *, limit: int = MOST_PER_PAGE) -> list[TenantView]:
        """The awaitable twin of `tenants`."""
        return await self._access.aread(tenants.list_tenants, await self._access.anow(), *_wanted(queue, limit))

    def set_weight(self, tenant: str, weight: int | None, *, queue: str | None = None) -> None:
        """Set the weight of a tenant against others: `hf.set_weight("acme::shop", 50)`.

        In one queue, or in all of them from now on. By default it is 10. None sets it back: in one queue to the weight
        for all queues, in all of them to 10.
        """
        if weight is None:
            self._access.write(tenants.clear_weight, rule_table.check("tenant", tenant), _in_queue(queue))
        else:
            self._access.write(tenants.set_weight, *_weighed(tenant, weight, queue))

    async def aset_weight(self, tenant: str, weight: int | None, *, queue: str | None = None) -> None:
        """The awaitable twin of `set_weight`."""
        if weight is None:
            await self._access.awrite(tenants.clear_weight, rule_table.check("tenant", tenant), _in_queue(queue))
        else:
            await self._access.awrite(tenants.set_weight, *_weighed(tenant, weight, queue))

    def report_activity(self, tenant: str, *, lasting: Duration = ACTIVE_MS / 1000) -> Millis:
        """Say that a user works with a tenant right now: `hf.report_activity("acme::shop")`.

        Its weight is at least 100 that long. It sinks to 30 within nine minutes after that, and back within a day. The
        answer is when it begins to sink, in milliseconds since the epoch.
        """
        return self._access.write(tenants.note_activity, *_active(self._access.now(), tenant, lasting))

    async def areport_activity(self, tenant: str, *, lasting: Duration = ACTIVE_MS / 1000) -> Millis:
        """The awaitable twin of `report_activity`."""
        return await self._access.awrite(tenants.note_activity, *_active(await self._access.anow(), tenant, lasting))


def _wanted(queue: str | None, limit: int) -> tuple[str | None, int]:
    return _in_queue(queue), rule_table.check("limit", limit)


def _active(now: Millis, tenant: str, lasting: Duration) -> tuple[str, Millis, Millis]:
    return rule_table.check("tenant", tenant), now, rule_table.millis("for_ms", lasting, "lasting")


def _weighed(tenant: str, weight: int, queue: str | None) -> tuple[str, int, str | None]:
    return rule_table.check("tenant", tenant), rule_table.check("weight", weight), _in_queue(queue)


def _in_queue(queue: str | None) -> str | None:
    return None if queue is None else rule_table.check("queue", queue)
