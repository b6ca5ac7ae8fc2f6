"""Tenants: who shares a queue, and how much each one's word counts.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from holdfast.client.durations import Duration, to_millis
from holdfast.client.store_access import StoreAccess
from holdfast.core.fairness import ACTIVE_MS, MOST_WEIGHT
from holdfast.core.job import Millis
from holdfast.core.limits import check_int, check_label, check_name
from holdfast.store.scripts import tenants
from holdfast.store.scripts.tenants import TenantView

MOST_PER_PAGE = 1_000


class Tenants:
    """The part of `Holdfast` that deals with fair shares."""

    _access: StoreAccess

    def tenants(self, queue: str | None = None, *, limit: int = MOST_PER_PAGE) -> list[TenantView]:
        """The tenants of a queue, or of all: their weights, their shares now, and how many jobs each has started.

        Queues of the default tenant alone have none. Over all queues there are also tenants that no queue knows yet,
        if a weight is set for them; their `queue` is empty.
        """
        return self._access.read(tenants.list_tenants, self._access.now(), *_wanted(queue, limit))

    async def atenants(self, queue: str | None = None, *, limit: int = MOST_PER_PAGE) -> list[TenantView]:
        """The awaitable twin of `tenants`."""
        return await self._access.aread(tenants.list_tenants, await self._access.anow(), *_wanted(queue, limit))

    def set_weight(self, tenant: str, weight: int | None, *, queue: str | None = None) -> None:
        """How much a tenant's word counts against others: `hf.set_weight("acme::shop", 50)`.

        In one queue, or in all of them from now on. Where nothing is set it is 10. None sets it back: in one queue to
        what holds in all of them, in all of them to 10.
        """
        if weight is None:
            self._access.write(tenants.clear_weight, check_label("tenant", tenant), _in_queue(queue))
        else:
            self._access.write(tenants.set_weight, *_weighed(tenant, weight, queue))

    async def aset_weight(self, tenant: str, weight: int | None, *, queue: str | None = None) -> None:
        """The awaitable twin of `set_weight`."""
        if weight is None:
            await self._access.awrite(tenants.clear_weight, check_label("tenant", tenant), _in_queue(queue))
        else:
            await self._access.awrite(tenants.set_weight, *_weighed(tenant, weight, queue))

    def report_activity(self, tenant: str, *, lasting: Duration = ACTIVE_MS / 1000) -> Millis:
        """Say that somebody works with a tenant right now: `hf.report_activity("acme::shop")`.

        Its weight is at least 100 that long. It sinks to 30 within nine minutes after that, and back within a day. The
        answer is when it begins to sink, in milliseconds since the epoch.
        """
        return self._access.write(tenants.note_activity, *_active(self._access.now(), tenant, lasting))

    async def areport_activity(self, tenant: str, *, lasting: Duration = ACTIVE_MS / 1000) -> Millis:
        """The awaitable twin of `report_activity`."""
        return await self._access.awrite(tenants.note_activity, *_active(await self._access.anow(), tenant, lasting))


def _wanted(queue: str | None, limit: int) -> tuple[str | None, int]:
    return _in_queue(queue), check_int("limit", limit, 1, MOST_PER_PAGE)


def _active(now: Millis, tenant: str, lasting: Duration) -> tuple[str, Millis, Millis]:
    return check_label("tenant", tenant), now, to_millis("lasting", lasting)


def _weighed(tenant: str, weight: int, queue: str | None) -> tuple[str, int, str | None]:
    return check_label("tenant", tenant), check_int("weight", weight, 1, MOST_WEIGHT), _in_queue(queue)


def _in_queue(queue: str | None) -> str | None:
    return None if queue is None else check_name("queue", queue)
