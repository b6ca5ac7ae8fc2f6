"""How the code of a process uses its engine: each script blocking or awaitable, with the injected clock and ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from holdfast.core.job import Millis
from holdfast.runtime.clock import Clock
from holdfast.runtime.clocks.database_clock import DatabaseClock
from holdfast.store.engine import Engine, Ids, Tx

T = TypeVar("T")
P = ParamSpec("P")


class EngineAccess:
    """One database, with its clock and its source of ids."""

    def __init__(self, engine: Engine, clock: Clock, ids: Ids) -> None:
        self.engine = engine
        self.clock = clock
        self.new_id = ids

    def now(self) -> Millis:
        """The injected wall clock."""
        return self.clock.now()

    async def anow(self) -> Millis:
        """The awaitable twin of `now`. The clock of a database may have to be read first."""
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
        """Run a writing script. It is durable when it returns."""
        return self.engine.run(script, *args, **kw)

    async def awrite(self, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """The awaitable twin of `write`."""
        return await self.engine.write(script, *args, **kw)

    def ask(self, procedure: Callable[Concatenate[Engine, P], T], *args: P.args, **kw: P.kwargs) -> T:
        """Run a function that takes an engine, in the process that has the database."""
        return self.engine.ask(procedure, *args, **kw)
