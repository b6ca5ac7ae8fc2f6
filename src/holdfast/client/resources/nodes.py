"""Machines that share the database, and the jobs that are tied to one of them.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from holdfast.client.store_access import StoreAccess
from holdfast.core.messages.machines import KnownNode
from holdfast.core.settings import rule_table
from holdfast.store.script_names import nodes, reorder

MOST_COUNTED = 1_000


class NodeCalls:
    """The part of `Holdfast` for machines."""

    _access: StoreAccess

    @property
    def here(self) -> str:
        """The id of this machine, for `node=`: the job then runs here and nowhere else."""
        return self._access.engine.node

    async def ahere(self) -> str:
        """The awaitable twin of `here`. A daemon may have to be asked for it."""
        import asyncio

        return await asyncio.to_thread(lambda: self.here)

    def nodes(self) -> list[KnownNode]:
        """Every machine that has been here, by name."""
        return self._access.read(nodes.list_nodes)

    async def anodes(self) -> list[KnownNode]:
        """The awaitable twin of `nodes`."""
        return await self._access.aread(nodes.list_nodes)

    def count_tied(self, node: str) -> int:
        """How many waiting jobs are tied to a machine. It counts up to 1 000."""
        return self._access.write(reorder.move_ties, *_ends(node, None), MOST_COUNTED, True).jobs

    async def acount_tied(self, node: str) -> int:
        """The awaitable twin of `count_tied`."""
        return (await self._access.awrite(reorder.move_ties, *_ends(node, None), MOST_COUNTED, True)).jobs

    def move_jobs(self, node: str, to: str | None = None) -> int:
        """Have all waiting jobs that are tied to a machine run on another one, or on any. Return how many."""
        moved, more = 0, True
        while more:
            step = self._access.write(reorder.move_ties, *_ends(node, to))
            moved, more = moved + step.jobs, step.more
        return moved

    async def amove_jobs(self, node: str, to: str | None = None) -> int:
        """The awaitable twin of `move_jobs`."""
        moved, more = 0, True
        while more:
            step = await self._access.awrite(reorder.move_ties, *_ends(node, to))
            moved, more = moved + step.jobs, step.more
        return moved


def _ends(node: str, to: str | None) -> tuple[str, str | None]:
    return rule_table.check("node", node), None if to is None else rule_table.check("node", to, "to")
