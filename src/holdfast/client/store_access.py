"""How the Python surface reaches the store: each script blocking or awaitable, with the injected clock and ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from holdfast.client.patience import PATIENCE_S, Patience
from holdfast.client.waiting import Waiters
from holdfast.core.job import Millis
from holdfast.core.requests import Enqueued, NewJob
from holdfast.runtime.clock import Clock
from holdfast.runtime.database_clock import DatabaseClock
from holdfast.store.engine import Engine, Ids, Tx
from holdfast.store.forks import forget_after_fork
from holdfast.store.scripts.enqueue import enqueue

T = TypeVar("T")
P = ParamSpec("P")


class StoreAccess:
    """One database as tasks, handles and `Holdfast` share it."""

    def __init__(self, engine: Engine, clock: Clock, ids: Ids, wait_for_room: float = PATIENCE_S) -> None:
        self.engine = engine
        self.clock = clock
        self.new_id = ids
        self.waiters = Waiters(engine, clock.now)
        self.patience = Patience(clock, wait_for_room)
        self.after_enqueue: Callable[[], None] | None = None
        forget_after_fork(self)

    def now(self) -> Millis:
        """The injected wall clock."""
        return self.clock.now()

    async def anow(self) -> Millis:
        """The awaitable twin of `now`: that of a database may have to be asked for."""
        if isinstance(self.clock, DatabaseClock) and not self.clock.is_known:
            import asyncio

            return await asyncio.to_thread(self.clock.now)
        return self.clock.now()

    def read(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """Run a reading script in this thread."""
        return self.engine.query(script, *args, **kw)

    async def aread(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """The awaitable twin of `read`."""
        return await self.engine.read(script, *args, **kw)

    def write(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """Run a writing script; durable when it returns."""
        return self.engine.run(script, *args, **kw)

    async def awrite(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """The awaitable twin of `write`."""
        return await self.engine.write(script, *args, **kw)

    def enqueue(self, jobs: list[NewJob], *, must_exist: bool = False) -> list[Enqueued]:
        """Store jobs; if there is no room for them, that is waited for."""
        return self.patience.ask(lambda: self.write(enqueue, jobs, self.now(), must_exist=must_exist))

    async def aenqueue(self, jobs: list[NewJob]) -> list[Enqueued]:
        """The awaitable twin of `enqueue`."""
        return await self.patience.aask(lambda: self._astore(jobs))

    async def _astore(self, jobs: list[NewJob]) -> list[Enqueued]:
        return await self.awrite(enqueue, jobs, await self.anow())

    def ask(self, procedure: Callable[Concatenate[Engine, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """Run a function of an engine where the database is."""
        return self.engine.ask(procedure, *args, **kw)

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
