"""One session of this process and its loops: how they begin together, work, and come to an end in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from holdfast.client.crons import Declarations
from holdfast.client.kept import Kept, OrphanWatch
from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import HoldfastError
from holdfast.core.job import Millis
from holdfast.core.requests import QueueSlots
from holdfast.runtime.heartbeat import BEAT_S, Heartbeat
from holdfast.runtime.judge import BEATS
from holdfast.runtime.loop import Loop
from holdfast.runtime.node import node_name
from holdfast.runtime.probe import Probing
from holdfast.runtime.session import Session
from holdfast.runtime.simulated import SimulatedMachine
from holdfast.runtime.upkeep import Upkeep
from holdfast.store.scripts.sessions import Offer
from holdfast.wire.remote import RemoteEngine
from holdfast.workers.exchange import Exchange
from holdfast.workers.files import USUAL, LogLimits
from holdfast.workers.holdings import wild_tasks
from holdfast.workers.raising import StopReason
from holdfast.workers.spec import TaskSpec
from holdfast.workers.stuck import StuckWatch

# At most so many jobs at once from a daemon: it is busy for some 5 ms with them, and other callers wait meanwhile.
SHARE = 64

log = logging.getLogger("holdfast.embedded")


class Shift:
    """One session of this process with all of its loops, from start to orderly stop. Lives on one event loop.

    `kept`: somebody keeps this process, which may then end itself to be replaced. `is_guest`: it is there for other
    things too. `machine` stands for the one that this runs on.
    """

    def __init__(
        self,
        access: StoreAccess,
        specs: Mapping[str, TaskSpec],
        slots: Mapping[str, int],
        keep_ms: Millis,
        on_lost: Callable[[], None] = lambda: None,
        log_limits: LogLimits = USUAL,
        kept: Kept | None = None,
        is_guest: bool = False,
        machine: SimulatedMachine | None = None,
        declarations: Declarations | None = None,
    ) -> None:
        engine, clock = access.engine, access.clock
        session_id = access.new_id()
        self._access = access
        self._declarations = declarations
        self._slots = dict(slots)
        self._specs = specs
        self._worker_id = access.new_id()
        # Behind a daemon, this process is one of its workers, and the upkeep is the daemon's.
        is_worker = isinstance(engine, RemoteEngine)
        kind = "worker" if is_worker else "embedded"
        self._session = Session(engine, clock, session_id, kind, is_guest=is_guest)
        self.exchange = Exchange(
            engine,
            clock,
            session_id,
            self._worker_id,
            specs,
            slots,
            log_limits,
            SHARE if is_worker else None,
            self._session.secret,
        )
        probing = Probing(simulated=machine)
        self._upkeep = None if is_worker else Upkeep(engine, clock, session_id, keep_ms, probing=probing)
        self._heartbeat = Heartbeat(engine, clock, session_id, on_lost, self._beat_s, self._session.secret)
        self._watches: list[Loop] = []
        if kept is not None and isinstance(engine, RemoteEngine):
            self._watches.append(StuckWatch(clock, self.exchange, lambda: engine.stuck, kept.replace))
            if kept.home is not None:
                self._watches.append(OrphanWatch(clock, kept, kept.home, self.exchange))
        self._home = asyncio.get_running_loop()
        self._leave: list[Callable[[], None]] = []

    def _beat_s(self) -> float:
        engine = self._access.engine
        return engine.lease / BEATS if isinstance(engine, RemoteEngine) else BEAT_S

    async def open(self) -> None:
        """Become a session that can claim."""
        # A database that cannot be opened is found out before a lock is laid beside it.
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
        )
        await self._session.open(offer)
        self._heartbeat.start()
        self.exchange.runner.start()

    async def start(self) -> None:
        """Open, settle what a dead predecessor left, and let every loop run."""
        try:
            await self.open()
            await self._declare()
            if self._upkeep is not None:
                await self._upkeep.start()
            self._leave = [
                await self._listen(),
                self._access.clock.on_change(partial(self._from_outside, self._wake_all)),
            ]
        except BaseException:
            await self.close()
            raise
        for loop in (self.exchange, *self._watches):
            loop.start()

    async def _declare(self, *, again: bool = True) -> None:
        """Have the schedules that stand in the code stored."""
        if self._declarations is not None:
            await self._declarations.store(self._access, again=again)

    async def _listen(self) -> Callable[[], None]:
        engine = self._access.engine
        if isinstance(engine, RemoteEngine):
            return engine.open_line(self.exchange.heed)
        return await asyncio.to_thread(engine.listen, self.exchange.heed)

    async def drain(self) -> int:
        """Work until nothing is ready any more; how many runs there were."""
        await self._declare(again=False)
        if self._upkeep is not None:
            await self._upkeep.settle_the_dead()
        # Somebody who waits for a job that he enqueues inside a run must not wait for that run to end first.
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
        """Move forward what is due by the clock; how many jobs that were."""
        return 0 if self._upkeep is None else await self._upkeep.promote()

    async def _do_chores(self) -> int:
        """Look after the database, where somebody asked for that; how many runs that were."""
        return 0 if self._upkeep is None else await self._upkeep.do_chores()

    async def _look_around(self) -> bool:
        """See how the machine is, if a job waits for that; whether that was news."""
        return self._upkeep is not None and await self._upkeep.look_around()

    async def stop(self, short: float, grace: float) -> None:
        """Claim no more, let short work end, ask the rest to stop, and give back what they leave."""
        self.exchange.stop_claiming()
        engine = self._access.engine
        if isinstance(engine, RemoteEngine) and engine.is_gone and not self.exchange.held:
            # There is nobody to say goodbye to, and nothing to deliver.
            engine.give_up()
            short = grace = 0
        try:
            await self._session.announce_stop()
        except HoldfastError as error:
            log.warning("the stop could not be noted: %s", error)
        if not await self.exchange.wait_idle(short):
            self.exchange.runner.stop_all(StopReason.SHUTDOWN)
            await self.exchange.wait_idle(grace)
        for leave in self._leave:
            leave()
        for watch in self._watches:
            await watch.stop()
        if self._upkeep is not None:
            await self._upkeep.stop()
        await self.exchange.stop()
        await self.close()

    async def close(self) -> None:
        """Let go of the session, unless a function still runs that took no notice of being asked to stop."""
        await asyncio.to_thread(self.exchange.close)
        await self._heartbeat.stop()
        if self._upkeep is not None:
            self._upkeep.leave()
        try:
            closed = await self._session.close()
        except HoldfastError as error:
            log.warning("the session could not be closed, it is settled when this process is gone: %s", error)
            return
        if not closed:
            names = ", ".join(f"{run.task} (job {run.job_id})" for run in self.exchange.held)
            log.warning(
                "%s ignores being asked to stop; its run stays open until it returns or the process ends", names
            )

    def abandon(self) -> None:
        """Others have settled this session: whatever still runs here is not ours any more."""
        self._session.abandon()
        self.exchange.stop_claiming()
        self.exchange.runner.stop_all(StopReason.CANCEL)

    def _from_outside(self, function: Callable[[], None]) -> None:
        self._home.call_soon_threadsafe(function)

    def _wake_all(self) -> None:
        loops: tuple[Loop, ...] = (self.exchange, self._heartbeat)
        for loop in loops:
            loop.wake()

    def hurry(self) -> None:
        """Wait for nobody any longer. Called from any thread."""
        self._from_outside(self.exchange.hurry)
