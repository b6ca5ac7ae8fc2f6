"""One session of this process and its loops: how they start, work, and stop in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from holdfast.apps.app import App
from holdfast.apps.host import AppHost
from holdfast.core.errors import HoldfastError
from holdfast.core.job import SessionId
from holdfast.core.jobs.requests import QueueSlots
from holdfast.core.machine.maintenance import KeepTimes
from holdfast.core.messages.sessions import Offer
from holdfast.core.messages.telemetry import RaisedError
from holdfast.hosting.declarations import Declarations
from holdfast.hosting.engine_access import EngineAccess
from holdfast.hosting.replacement import KeptBy, OrphanWatch
from holdfast.runtime.machine.probe import Probing
from holdfast.runtime.machine.simulated import SimulatedMachine
from holdfast.runtime.node import node_name
from holdfast.runtime.parts import Part, Parts, commits_of
from holdfast.runtime.sessions.heartbeat import BEAT_S, Heartbeat
from holdfast.runtime.sessions.judge import BEATS
from holdfast.runtime.sessions.session import Session
from holdfast.runtime.upkeep import Upkeep
from holdfast.store.engine import Listener
from holdfast.tasks.files import LogLimits
from holdfast.tasks.raising import StopReason
from holdfast.tasks.spec import TaskSpec
from holdfast.workers.exchange import ExchangeLoop
from holdfast.workers.holdings import wild_tasks
from holdfast.workers.stuck import StuckWatch

# At most so many jobs at once from a daemon: they take it some 5 ms, and other callers wait meanwhile.
SHARE = 64

log = logging.getLogger("holdfast.embedded")


MakePart: TypeAlias = Callable[[SessionId, str], Part]
"""Makes a part for a session, given its id and its secret."""


class WorkSession:
    """One session of this process with all of its loops, from start to orderly stop. Lives on one event loop.

    With `kept`, this process may end itself, and another one replaces it. `is_guest`: the process does other things
    too. `machine` is told to the loops in place of the real one.
    """

    def __init__(
        self,
        access: EngineAccess,
        specs: Mapping[str, TaskSpec],
        slots: Mapping[str, int],
        keep: KeepTimes,
        on_lost: Callable[[], None],
        log_limits: LogLimits,
        declarations: Declarations,
        *,
        kept: KeptBy | None,
        is_guest: bool,
        machine: SimulatedMachine | None,
        apps: Mapping[str, type[App]],
        more_parts: Iterable[MakePart] = (),
    ) -> None:
        engine, clock = access.engine, access.clock
        session_id = access.new_id()
        self._access = access
        self._declarations = declarations
        self._slots = dict(slots)
        self._specs = specs
        self._worker_id = access.new_id()
        # With a daemon, this process is one of its workers, and the daemon does the upkeep.
        self._daemon = daemon = engine.daemon
        kind = "embedded" if daemon is None else "worker"
        self._session = Session(engine, clock, session_id, kind, is_guest=is_guest)
        self.exchange = ExchangeLoop(
            engine,
            clock,
            session_id,
            self._worker_id,
            specs,
            slots,
            log_limits,
            None if daemon is None else SHARE,
            self._session.secret,
        )
        probing = Probing(simulated=machine)
        self._upkeep = Upkeep(engine, clock, session_id, keep, probing=probing) if daemon is None else None
        self._heartbeat = Heartbeat(engine, clock, session_id, on_lost, self._beat_s, self._session.secret)
        parts: list[Part] = [self.exchange]
        if self._upkeep is not None:
            parts += self._upkeep.parts
        if kept is not None and daemon is not None:
            parts.append(StuckWatch(clock, self.exchange, lambda: daemon.stuck, kept.replace))
            if kept.home is not None:
                parts.append(OrphanWatch(clock, kept, kept.home, self.exchange))
        self._is_guest = is_guest
        self._apps = AppHost(engine, clock, session_id, self._session.secret, apps) if apps else None
        if self._apps is not None:
            parts.append(self._apps)  # The last one, so that its handlers end while all other parts still work.
        parts += [make(session_id, self._session.secret) for make in more_parts]
        self._parts = Parts(parts)
        self._home = asyncio.get_running_loop()

    def _beat_s(self) -> float:
        return BEAT_S if self._daemon is None else self._daemon.lease / BEATS

    async def open(self, *, with_apps: bool = False) -> None:
        """Open the session, so that it can claim. With apps: it takes those of its code that nobody has."""
        # First, so that no lock is made beside a database that cannot be opened.
        await asyncio.to_thread(self._access.engine.open)
        offer = Offer(
            self._worker_id,
            node_name(),
            tasks=tuple(self._specs),
            queues=tuple(self._slots),
            slots=sum(self._slots.values()),
            queue_slots=tuple(QueueSlots(queue, slots) for queue, slots in self._slots.items()),
            wild_tasks=wild_tasks(self._specs),
            declared=tuple(spec.declared for spec in self._specs.values() if spec.declared is not None),
            apps=self._apps.offered if with_apps and self._apps is not None else (),
        )
        await self._session.open(offer)
        self._heartbeat.start()
        self.exchange.runner.start()

    async def start(self) -> None:
        """Open the session, settle what a dead predecessor left, and start every part."""
        try:
            await self.open(with_apps=True)
            await self._declare()
            if self._upkeep is not None:
                await self._upkeep.prepare()
            await self._parts.start(self._listen)
            if self._apps is not None and self._is_guest:
                await self._apps.started()
        except BaseException:
            await self.close()
            raise

    async def _declare(self, *, again: bool = True) -> None:
        """Store the schedules of the code."""
        await self._declarations.store(self._access, again=again)

    async def _listen(self, listener: Listener) -> Callable[[], None]:
        if self._daemon is not None:
            return self._daemon.open_line(listener, self._specs)
        return await commits_of(self._access.engine)(listener)

    async def drain(self) -> int:
        """Work until nothing is ready any more. Return how many runs there were."""
        await self._declare(again=False)
        if self._upkeep is not None:
            await self._upkeep.settle_the_dead()
        # A run may wait for a job that it has enqueued, so that job must start before the run ends.
        leave = await asyncio.to_thread(self._access.engine.listen, self.exchange.heed)
        try:
            await self._let_time_pass()
            await self._look_around()
            runs = 0
            while True:
                runs += await self.exchange.exchange_once()
                if not self.exchange.is_idle:
                    await self.exchange.woken()
                    await self._let_time_pass()
                elif not await self._let_time_pass() and not await self._look_around():
                    chores = await self._do_chores()
                    if not chores:
                        return runs
                    runs += chores
        finally:
            leave()

    async def _let_time_pass(self) -> int:
        """Do what is due by the clock. Return how many jobs changed."""
        return 0 if self._upkeep is None else await self._upkeep.promote()

    async def _do_chores(self) -> int:
        """Do the chores that were asked for. Return how many there were."""
        return 0 if self._upkeep is None else await self._upkeep.do_chores()

    async def _look_around(self) -> bool:
        """Look at the machine, if a job waits for that. Return whether something changed."""
        return self._upkeep is not None and await self._upkeep.look_around()

    async def stop(self, short: float, grace: float, error: RaisedError | None = None) -> None:
        """Claim no more, let short work end, ask the other runs to stop, and give back what they leave.

        `error` is the exception that ends the session.
        """
        self.exchange.stop_claiming()
        if self._daemon is not None and self._daemon.is_gone and not self.exchange.held:
            # No daemon is there to be told, and there is nothing to deliver.
            self._daemon.give_up()
            short = grace = 0
        try:
            await self._session.announce_stop()
        except HoldfastError as trouble:
            log.warning("the stop could not be noted: %s", trouble)
        if not await self.exchange.wait_idle(short):
            self.exchange.runner.stop_all(StopReason.SHUTDOWN)
            await self.exchange.wait_idle(grace)
        if self._apps is not None:
            self._apps.patience = short
        try:
            await self._parts.stop()
        finally:
            await self.close(error)

    async def close(self, error: RaisedError | None = None) -> None:
        """Close the session, unless a function still runs that ignored the request to stop."""
        await asyncio.to_thread(self.exchange.close)
        if self._apps is not None:
            await asyncio.to_thread(self._apps.close)
        await self._heartbeat.stop()
        if self._upkeep is not None:
            self._upkeep.leave()
        try:
            closed = await self._session.close(error)
        except HoldfastError as trouble:
            log.warning("the session could not be closed, it is settled when this process is gone: %s", trouble)
            return
        if not closed:
            names = ", ".join(f"{run.task} (job {run.job_id})" for run in self.exchange.held)
            log.warning(
                "%s ignores being asked to stop; its run stays open until it returns or the process ends", names
            )

    def abandon(self) -> None:
        """Stop everything: others have settled this session, so its runs are not its own any more."""
        self._session.abandon()
        self.exchange.stop_claiming()
        self.exchange.runner.stop_all(StopReason.CANCEL)
        if self._apps is not None:
            self._apps.abandon()

    def hurry(self) -> None:
        """Do not wait for runs any longer. Called from any thread."""
        self._home.call_soon_threadsafe(self.exchange.hurry)
        if self._apps is not None:
            self._home.call_soon_threadsafe(self._apps.hurry)
