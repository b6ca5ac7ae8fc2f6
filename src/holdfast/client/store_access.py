"""How the SDK uses the store: it enqueues, waits for room, and waits for jobs to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.client.patience import PATIENCE_S, Patience
from holdfast.client.waiting import Waiters
from holdfast.core.jobs.requests import Enqueued, NewJob
from holdfast.hosting.engine_access import EngineAccess
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine, Ids
from holdfast.store.forks import forget_after_fork
from holdfast.store.script_names import enqueue


class StoreAccess(EngineAccess):
    """One database, shared by tasks, handles and `Holdfast`."""

    def __init__(self, engine: Engine, clock: Clock, ids: Ids, wait_for_room: float = PATIENCE_S) -> None:
        super().__init__(engine, clock, ids)
        self.waiters = Waiters(engine, clock.now)
        self.patience = Patience(clock, wait_for_room)
        self.after_enqueue: Callable[[], None] | None = None
        forget_after_fork(self)

    def enqueue(self, jobs: list[NewJob], *, must_exist: bool = False) -> list[Enqueued]:
        """Store jobs. If there is no room for them, wait for it."""
        return self.patience.ask(lambda: self.write(enqueue.enqueue, jobs, self.now(), must_exist=must_exist))

    async def aenqueue(self, jobs: list[NewJob]) -> list[Enqueued]:
        """The awaitable twin of `enqueue`."""
        return await self.patience.aask(lambda: self._astore(jobs))

    async def _astore(self, jobs: list[NewJob]) -> list[Enqueued]:
        return await self.awrite(enqueue.enqueue, jobs, await self.anow())

    def enqueued(self) -> None:
        """Jobs were stored: inline mode runs them now."""
        if self.after_enqueue is not None:
            self.after_enqueue()

    async def aenqueued(self) -> None:
        """The awaitable twin of `enqueued`."""
        if self.after_enqueue is not None:
            import asyncio

            await asyncio.to_thread(self.after_enqueue)

    def forget(self) -> Any:
        inherited, self.waiters = self.waiters, Waiters(self.engine, self.clock.now)
        return inherited
