"""The engine room of embedded mode: the loops of this process, in a thread of their own.

A blocking call inside the caller's event loop therefore blocks only its caller, and user code never runs here.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from holdfast.client.crons import Declarations
from holdfast.client.kept import Kept, OrphanWatch
from holdfast.client.signals import join
from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import HoldfastError, StoreError
from holdfast.core.job import Millis
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
from holdfast.workers.raising import StopReason
from holdfast.workers.spec import TaskSpec
from holdfast.workers.stuck import StuckWatch

RESTART_PAUSE_S = 1.0
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
            engine, clock, session_id, self._worker_id, specs, slots, log_limits, SHARE if is_worker else None
        )
        probing = Probing(simulated=machine)
        self._upkeep = None if is_worker else Upkeep(engine, clock, session_id, keep_ms, probing=probing)
        self._heartbeat = Heartbeat(engine, clock, session_id, on_lost, self._beat_s)
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
        offer = Offer(self._worker_id, node_name(), tuple(self._specs), tuple(self._slots), sum(self._slots.values()))
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
                    return runs
        finally:
            leave()

    async def _let_time_pass(self) -> int:
        """Move forward what is due by the clock; how many jobs that were."""
        return 0 if self._upkeep is None else await self._upkeep.promote()

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


class EngineRoom:
    """The thread that a shift works in."""

    def __init__(self, make_shift: Callable[[Callable[[], None]], Shift]) -> None:
        self._make_shift = make_shift
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._stop: Callable[[], None] = lambda: None
        self._hurry: Callable[[], None] = lambda: None
        self._patience = (5.0, 5.0)
        self._thread = threading.Thread(target=self._serve, name="holdfast", daemon=True)

    def start(self) -> None:
        """Returns once the shift is at work, or raises what kept it from that."""
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            self._thread.join()
            raise self._error

    def stop(self, short: float, grace: float) -> None:
        """Returns once the shift has stopped in order."""
        self._patience = (short, grace)
        self._stop()
        self.join()

    def join(self) -> None:
        """Returns once a stop that is under way has come to its end."""
        join(self._thread)

    def hurry(self) -> None:
        """Cut the stop short that is under way."""
        with suppress(RuntimeError):  # It has come to its end, and so has its event loop.
            self._hurry()

    def _serve(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as error:
            self._error = error
            if self._ready.is_set():
                log.exception("embedded mode stopped")
            self._ready.set()

    async def _work(self) -> None:
        stopping, lost = asyncio.Event(), asyncio.Event()
        home = asyncio.get_running_loop()

        def stop() -> None:
            home.call_soon_threadsafe(stopping.set)

        self._stop = stop
        while not stopping.is_set():
            lost.clear()
            shift = self._make_shift(lost.set)
            self._hurry = shift.hurry
            try:
                await shift.start()
            except (HoldfastError, OSError) as error:
                if not self._ready.is_set():
                    raise
                log.error("cannot start anew: %s; trying again", error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), RESTART_PAUSE_S)
                continue
            self._ready.set()
            await _first(stopping, lost)
            if lost.is_set():
                log.error("others took this session for dead and settled its runs; starting a new one")
                shift.abandon()
            await shift.stop(*self._patience)


async def _first(*events: asyncio.Event) -> None:
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def drain(make_shift: Callable[[Callable[[], None]], Shift]) -> int:
    """Run everything that is ready in a shift of its own; works inside a running event loop too."""

    async def work() -> int:
        lost = asyncio.Event()
        shift = make_shift(lost.set)
        try:
            await shift.open()
            done = asyncio.create_task(shift.drain())
            await asyncio.wait({done, asyncio.create_task(lost.wait())}, return_when=asyncio.FIRST_COMPLETED)
            if lost.is_set():
                done.cancel()
                shift.abandon()
                raise StoreError("others took this session for dead and settled its runs; drain again")
            return await done
        finally:
            await shift.close()

    with ThreadPoolExecutor(1, "holdfast-drain") as thread:
        return thread.submit(asyncio.run, work()).result()
