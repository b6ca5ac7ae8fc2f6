"""Settles what dead sessions left behind, at all times and not only at the start."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from holdfast.core.job import RunId, SessionId
from holdfast.core.messages.sessions import SessionRow
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.runtime.node import boot_id, node_name
from holdfast.runtime.sessions import hung, processes
from holdfast.runtime.sessions.judge import Judge, LifeVerdict
from holdfast.runtime.sessions.processes import GRACE_S, KILL_S, ProcessGroup
from holdfast.runtime.sessions.session import GUEST, lock_folder
from holdfast.store.engine import Engine
from holdfast.store.locks import clear, is_locked
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.sessions.recover import processes_of, recover

LOOK_S = 1.0

log = logging.getLogger("holdfast.recovery")


class Recovery(Loop):
    """Looks at every other session once a second and settles the runs of those that are gone.

    A worker that hangs is ended first, if its lock is in `own_locks`. Others are left alone.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        judge: Judge,
        own: SessionId | None = None,
        own_locks: Path | None = None,
    ) -> None:
        super().__init__(clock)
        self._engine = engine
        self._judge = judge
        self.own = own
        self._own_locks = own_locks
        self._stuck: set[RunId] = set()
        self._hung: set[SessionId] = set()

    async def tick(self) -> float | None:
        found = await self._engine.read(sessions.running_sessions)
        pulse = next((row.heartbeat for row in found if row.id == self.own), 0)
        self._judge.forget({row.id for row in found})
        self._hung &= {row.id for row in found}
        for session in found:
            if session.id == self.own:
                continue
            verdict = self._judge.look(session, self.clock.monotonic(), pulse)
            if verdict in (LifeVerdict.GONE, LifeVerdict.REBOOTED) or (
                verdict is LifeVerdict.HUNG and await self._end(session)
            ):
                await self._settle(session, rebooted=verdict is LifeVerdict.REBOOTED)
        return LOOK_S

    async def _end(self, session: SessionRow) -> bool:
        """End a worker that hangs, if it is one of ours. True once it is gone."""
        lock = None if self._own_locks is None else self._own_locks / session.id
        if lock is None or not is_locked(str(lock)):
            return False
        ended = not _is_guest(lock) and await asyncio.to_thread(hung.kill_holder, str(lock), session.pid)
        if ended or session.id not in self._hung:
            said = "it was killed" if ended else "its jobs wait until it goes on, or is ended by hand"
            extra = {"event": "worker_hung", "session_id": session.id}
            log.error("worker with pid %d has not been heard for a lease: %s", session.pid, said, extra=extra)
        self._hung.add(session.id)
        return ended

    async def _settle(self, session: SessionRow, *, rebooted: bool) -> None:
        spared = [] if rebooted else await self._stop_processes(session)
        settled, more = 0, True
        while more:
            done = await self._engine.write(recover, session.id, rebooted, self.clock.now(), spared=spared)
            settled, more = settled + done.settled, done.more
        # The lock file is not needed any more: otherwise one would stay for every crash. Only in our own folder, as the
        # stored path may be one of another machine.
        if not spared:
            for folder in {lock_folder(self._engine), self._own_locks or lock_folder(self._engine)}:
                clear(str(folder / session.id))
        if settled:
            log.warning(
                "session %s (pid %d on %s) is gone; settled %d runs", session.id, session.pid, session.node, settled
            )

    async def _stop_processes(self, session: SessionRow) -> list[RunId]:
        """Stop the processes of a session. Return the runs that could not be stopped yet.

        It comes before the runs are settled, so that no retry runs beside the original.
        """
        if (session.boot_id, session.host) != (boot_id(), node_name()):
            return []
        left = await self._engine.read(processes_of, session.id)
        groups = [ProcessGroup(process.pid, process.started_at, process.run_id) for process in left]
        if not groups:
            return []
        # Processes that were asked before get no grace again.
        patience = (GRACE_S, KILL_S) if any(group.run_id not in self._stuck for group in groups) else (0.0, 0.0)
        stuck = await asyncio.to_thread(processes.empty_groups, groups, *patience)
        for group in stuck:
            if group.run_id not in self._stuck:
                log.error("process group %d of run %s cannot be ended; its run stays open", group.pid, group.run_id)
        gone = {group.run_id for group in groups} - {group.run_id for group in stuck}
        self._stuck = (self._stuck - gone) | {group.run_id for group in stuck}
        return [group.run_id for group in stuck]


def _is_guest(lock: Path) -> bool:
    try:
        return lock.read_text() == GUEST
    except OSError:
        return True
