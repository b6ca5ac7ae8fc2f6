"""Queues: their settings, which hold for all processes at once.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from typing import Unpack

from holdfast.client.store_access import StoreAccess
from holdfast.core.messages.queues import Queue
from holdfast.core.settings import queue_changes, rule_table
from holdfast.core.settings.queue_settings import QueueSettings
from holdfast.store.script_names import queues


class Queues:
    """The part of `Holdfast` for queues and their settings."""

    _access: StoreAccess

    def set_queue(self, queue: str, **settings: Unpack[QueueSettings]) -> Queue:
        """Change what is set for a queue: `hf.set_queue("mail", limit=2, rate="10/min", max_length=1000)`.

        `limit` is how many of its jobs run at once and `rate` how many start within any such time, over all processes.
        With `max_length` jobs waiting it is full: it refuses more (`overflow="reject"`), or ends waiting ones of lower
        priority to make room (`"shed"`). `queue_class` is `"light"`, `"normal"` or `"heavy"`. `retry` and `timeout` are
        for jobs that say nothing themselves. Without a `retry`, `preset` stands for one: `"cleanup"` for a single
        retry, `"indexing"` for 5, after 1 s, 3 s and so on up to 5 min. After `breaker` failures in a row by the fault
        of the machine (5; 0 for never), nothing of it starts for `breaker_for` (30 s); then one job tries. None leaves
        a setting as it is; `clear` names those that get their default back.
        """
        return self._access.write(
            queues.set_queue, rule_table.check("queue", queue), queue_changes.make_changes(**settings)
        )

    async def aset_queue(self, queue: str, **settings: Unpack[QueueSettings]) -> Queue:
        """The awaitable twin of `set_queue`."""
        return await self._access.awrite(
            queues.set_queue, rule_table.check("queue", queue), queue_changes.make_changes(**settings)
        )

    def limit(self, queue: str, concurrency: int | None) -> None:
        """How many jobs of a queue may run at once over all processes; None lifts the limit."""
        self._access.write(
            queues.set_limit, rule_table.check("queue", queue), queue_changes.check_limit("concurrency", concurrency)
        )

    async def alimit(self, queue: str, concurrency: int | None) -> None:
        """The awaitable twin of `limit`."""
        await self._access.awrite(
            queues.set_limit, rule_table.check("queue", queue), queue_changes.check_limit("concurrency", concurrency)
        )

    def pause(self, queue: str, reason: str | None = None) -> None:
        """Start nothing new from a queue. What runs goes on."""
        self._access.write(queues.pause, rule_table.check("queue", queue), _reason(reason), self._access.now())

    async def apause(self, queue: str, reason: str | None = None) -> None:
        """The awaitable twin of `pause`."""
        await self._access.awrite(
            queues.pause, rule_table.check("queue", queue), _reason(reason), await self._access.anow()
        )

    def resume(self, queue: str) -> None:
        """Start jobs of a paused queue again, also if its breaker was open."""
        self._access.write(queues.resume, rule_table.check("queue", queue), self._access.now())

    async def aresume(self, queue: str) -> None:
        """The awaitable twin of `resume`."""
        await self._access.awrite(queues.resume, rule_table.check("queue", queue), await self._access.anow())

    def queue(self, name: str) -> Queue:
        """The settings of a queue. One without settings of its own has the defaults."""
        return self._access.read(queues.find_queue, rule_table.check("queue", name))

    async def aqueue(self, name: str) -> Queue:
        """The awaitable twin of `queue`."""
        return await self._access.aread(queues.find_queue, rule_table.check("queue", name))

    def queues(self) -> list[Queue]:
        """Every queue that has settings of its own."""
        return self._access.read(queues.list_queues)

    async def aqueues(self) -> list[Queue]:
        """The awaitable twin of `queues`."""
        return await self._access.aread(queues.list_queues)


def _reason(value: str | None) -> str | None:
    return None if value is None else rule_table.check("reason", value)
