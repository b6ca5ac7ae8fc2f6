"""Settles what dead sessions left behind, all the time and not only at start-up."""

from __future__ import annotations

import logging

from holdfast.core.job import SessionId
from holdfast.runtime.clock import Clock
from holdfast.runtime.judge import Judge, Verdict
from holdfast.runtime.loop import Loop
from holdfast.runtime.session import lock_folder
from holdfast.store.engine import Engine
from holdfast.store.locks import clear
from holdfast.store.scripts.recover import recover
from holdfast.store.scripts.sessions import SessionRow, running_sessions

LOOK_S = 1.0

log = logging.getLogger("holdfast.recovery")


class Recovery(Loop):
    """Looks at every other session once a second and settles the runs of those that are gone."""

    def __init__(self, engine: Engine, clock: Clock, judge: Judge, own: SessionId | None = None) -> None:
        super().__init__(clock)
        self._engine = engine
        self._judge = judge
        self._own = own

    async def tick(self) -> float | None:
        others = [row for row in await self._engine.read(running_sessions) if row.id != self._own]
        self._judge.forget({row.id for row in others})
        for session in others:
            verdict = self._judge.look(session, self.clock.monotonic())
            if verdict in (Verdict.GONE, Verdict.REBOOTED):
                await self._settle(session, rebooted=verdict is Verdict.REBOOTED)
        return LOOK_S

    async def _settle(self, session: SessionRow, *, rebooted: bool) -> None:
        settled, more = 0, True
        while more:
            done = await self._engine.write(recover, session.id, rebooted, self.clock.now())
            settled, more = settled + done.settled, done.more
        # Nobody asks for it again; left alone, one would stay for every crash there ever was. Only in our own folder:
        # what path another machine wrote down is its own business.
        clear(str(lock_folder(self._engine) / session.id))
        if settled:
            log.warning(
                "session %s (pid %d on %s) is gone; settled %d runs", session.id, session.pid, session.node, settled
            )
