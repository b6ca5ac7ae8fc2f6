"""The whole database: figures, workers, machines, groups, reservations.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Unpack

from holdfast.client.store_access import StoreAccess
from holdfast.core.machine.readings import SimulatedReadings, Simulation
from holdfast.core.messages.groups import GroupPage
from holdfast.core.messages.machines import Machine
from holdfast.core.messages.reservations import EVERYTHING, Reservation
from holdfast.core.messages.sessions import Worker
from holdfast.core.messages.stats import Stats
from holdfast.core.rules.units import Duration
from holdfast.core.settings import rule_table
from holdfast.store.script_names import groups, machines, probed_machines, reserve, stats, workers

if TYPE_CHECKING:
    from holdfast.client.resources.reserving import Reserving


class Overview:
    """The part of `Holdfast` that looks at the whole, and reserves queues."""

    _access: StoreAccess

    def stats(self) -> Stats:
        """Jobs by queue and state, the workers, how long the next job has been ready, and how many jobs end."""
        return self._access.read(stats.stats, self._access.now())

    async def astats(self) -> Stats:
        """The awaitable twin of `stats`."""
        return await self._access.aread(stats.stats, await self._access.anow())

    def workers(self) -> list[Worker]:
        """Every worker that lives: what it offers, and how much of that is in use."""
        return self._access.read(workers.list_workers)

    async def aworkers(self) -> list[Worker]:
        """The awaitable twin of `workers`."""
        return await self._access.aread(workers.list_workers)

    def machines(self) -> list[Machine]:
        """Every machine that has a probe: whether it is idle and charging, the sources, and its pressure."""
        return self._access.read(machines.list_machines)

    async def amachines(self) -> list[Machine]:
        """The awaitable twin of `machines`."""
        return await self._access.aread(machines.list_machines)

    def simulate(self, node: str | None = None, **looks: Unpack[SimulatedReadings]) -> Machine:
        """Simulate a machine, by default this one, until the next call. None: as it really is.

        To try out what happens when it is `idle`, `charging`, or under pressure. `hf.simulate()` ends it. `cpu` and
        `gpu` are how busy these are, `memory` and `disk` what is free of them, `battery` is its charge, all in percent;
        `heat` is in °C, `throttling` whether it slows down because of that, and `wal` the size of the write-ahead log
        in bytes.
        """
        return self._access.write(probed_machines.simulate, self._which(node), Simulation(**looks), self._access.now())

    async def asimulate(self, node: str | None = None, **looks: Unpack[SimulatedReadings]) -> Machine:
        """The awaitable twin of `simulate`."""
        import asyncio

        # A daemon may have to be asked for it.
        where = await asyncio.to_thread(self._which, node)
        return await self._access.awrite(
            probed_machines.simulate, where, Simulation(**looks), await self._access.anow()
        )

    def _which(self, node: str | None) -> str:
        return self._access.engine.node if node is None else rule_table.check("node", node)

    def groups(self, *, limit: int = 50, cursor: str | None = None) -> GroupPage:
        """A page of groups, newest first."""
        return self._access.read(groups.list_groups, *_page(limit, cursor))

    async def agroups(self, *, limit: int = 50, cursor: str | None = None) -> GroupPage:
        """The awaitable twin of `groups`."""
        return await self._access.aread(groups.list_groups, *_page(limit, cursor))

    def reservations(self) -> list[Reservation]:
        """Every reservation that has not ended, oldest first."""
        return self._access.read(reserve.list_reservations)

    async def areservations(self) -> list[Reservation]:
        """The awaitable twin of `reservations`."""
        return await self._access.aread(reserve.list_reservations)

    def reserve(
        self,
        scope: str = EVERYTHING,
        *,
        wait: Duration | None = None,
        ttl: Duration = timedelta(days=1),
        reserved_by: str | None = None,
    ) -> Reserving:
        """Keep a queue, or everything (`"*"`), free of new runs: `with hf.reserve("build"):`, or `async with`.

        The block begins when nothing runs there any more. `wait` is how long that may take, by default any time; then
        it raises Busy, and at once with 0. It ends with the block, with this program, or after `ttl`.
        """
        from holdfast.client.resources.reserving import Reserving

        return Reserving(self._access, scope, wait, ttl, reserved_by)


def _page(limit: int, cursor: str | None) -> tuple[int, str | None]:
    return rule_table.check("limit", limit), None if cursor is None else rule_table.check("cursor", cursor)
