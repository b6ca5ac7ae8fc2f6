"""The apps of this process: it takes those that nobody has, reads their events, and stops them.

    the loop of the session                              the event loop of the apps
    -----------------------                              --------------------------
    take_apps: which apps are ours         -- start -->  RunningApp: on_start, handlers
    begin_app, fail_app, release_app    <-- reports --   Started, StartFailed, ListenersChanged, Ended
    events_after: once for all of them     -- hear -->   ActiveListener, ActiveTimer: calls of handlers
    asks again                             <-- ready --  when the events have been given to the listeners
    Recorder: record_calls                 <-- rows --   what they have registered, and how each call has ended

Each app has read the events up to a number of its own, so one that starts hears what came since it was taken. The next
events are asked for from the lowest of these numbers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from itertools import count

from holdfast.apps.app import App
from holdfast.apps.calling import HandlerCaller, error_of
from holdfast.apps.recorder import Recorder
from holdfast.apps.running_app import (
    AppReport,
    AskedDone,
    Begun,
    Ended,
    ListenersChanged,
    RunningApp,
    Started,
    StartFailed,
)
from holdfast.core.apps.call import first_call
from holdfast.core.apps.status import AppStatus, Wanted
from holdfast.core.errors import HoldfastError, InvalidInput, NotHolder
from holdfast.core.job import SessionId
from holdfast.core.messages.apps import AppState, OfferedApp
from holdfast.core.messages.telemetry import AskedTimer, RaisedError
from holdfast.core.values.event import Event
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Changes, Engine
from holdfast.store.scripts.apps import app_owners, records
from holdfast.store.scripts.apps.hearing import events_after
from holdfast.workers.user_loop import UserLoop

START_LIMIT_S = 60.0
LOOK_AGAIN_S = 10.0
MOST_EVENTS = 200  # asked for at once
# How long the rest of an orderly stop may take: `on_stop`, and to give the apps back.
LAST_S = 15.0
# How long handlers may go on when one app is stopped.
PATIENCE_S = 5.0
# How long the event loop of the apps may take to end. A handler may block it.
CLOSE_S = 5.0

log = logging.getLogger("holdfast.app")


class Stage(Enum):
    """How far an app is in this process."""

    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    ENDING = "ending"


class OwnedApp:
    """An app that this process has, as the loop of the session knows it. `number`: it has heard the events up to it."""

    def __init__(self, running: RunningApp, number: int) -> None:
        self.running = running
        self.number = number
        self.stage = Stage.STARTING
        self.has_begun = False
        self.patterns: list[str] = []

    @property
    def is_starting(self) -> bool:
        """Whether it neither works yet nor has failed."""
        return self.stage is Stage.STARTING or (self.stage is Stage.RUNNING and not self.has_begun)


class AppHost(Loop):
    """Lives on the loop of the session. `start_limit` is how many seconds an `on_start` may take."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        session_id: SessionId,
        secret: str,
        apps: Mapping[str, type[App]],
        *,
        start_limit: float = START_LIMIT_S,
    ) -> None:
        super().__init__(clock)
        self.patience = 0.0
        self._engine = engine
        self._session_id = session_id
        self._secret = secret
        self._kinds = apps
        self._start_limit = start_limit
        self._call_ids: count[int] | None = None
        self._owned: dict[str, OwnedApp] = {}
        self._reports: deque[tuple[RunningApp, AppReport]] = deque()
        self._is_handing_out = False
        self._handed_out_at = 0.0
        self._done: set[AskedTimer] = set()
        self._user = UserLoop(self._end_left)
        self._caller = HandlerCaller(self._user, clock)
        self._recorder = Recorder(engine, clock, session_id, secret, self._lose)
        self._settled = asyncio.Event()
        self._forget_alarms: Callable[[], None] = lambda: None

    @property
    def offered(self) -> tuple[OfferedApp, ...]:
        """The apps of the code of this process."""
        return tuple(OfferedApp(app_key, kind.__qualname__) for app_key, kind in self._kinds.items())

    def start(self) -> None:
        self._user.start()
        self._forget_alarms = self.clock.on_change(lambda: self._user.call(self._caller.alarms.check))
        self._recorder.start()
        super().start()

    def heed(self, changes: Changes) -> None:
        """Wake up if a commit may concern an app. Called from any thread."""
        if any(topic.for_apps for topic in changes.topics):
            self.wake_soon()

    async def started(self) -> None:
        """Wait until each app that this process takes at its start runs, or has failed."""
        while self._call_ids is None or any(owned.is_starting for owned in self._owned.values()):
            self._settled.clear()
            await self._settled.wait()

    async def tick(self) -> float | None:
        if self._call_ids is None:
            await self._take(list(self._kinds))
        await self._settle()
        await self._refuse_late_starts()
        if self._is_handing_out:
            self._warn_of_block()
            return LOOK_AGAIN_S
        await self._listen()
        begins = [owned.running.began for owned in self._owned.values() if owned.stage is Stage.STARTING]
        first = min((began for began in begins if began is not None), default=float("inf"))
        left = first + self._start_limit - self.clock.monotonic()
        return max(0.0, min(LOOK_AGAIN_S, left))

    async def stop(self) -> None:
        """Stop every app in order, and give it back."""
        await super().stop()
        for owned in self._owned.values():
            if owned.stage is not Stage.ENDING:
                self._end(owned, self.patience, is_process_ending=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience + LAST_S):
                while self._owned:
                    self._woken.clear()
                    await self._settle_at_the_end()
                    if self._owned:
                        await self._woken.wait()
        await self._recorder.stop()

    def close(self) -> None:
        """End the event loop of the apps, however far they are."""
        self._forget_alarms()
        self._caller.close()
        if not self._user.close(CLOSE_S):
            log.warning("a handler blocks the event loop of the apps; it is left behind")

    def abandon(self) -> None:
        """Others have settled the session: its apps are not its own any more."""
        for owned in self._owned.values():
            self._user.call(owned.running.abandon)
        self._owned.clear()

    def hurry(self) -> None:
        """Do not wait for handlers any longer."""
        self.patience = 0.0
        self._user.call(self._caller.hurry)

    async def _take(self, app_keys: list[str]) -> None:
        """Become the owner of those of these apps that nobody has, and start them."""
        offered = [app for app in self.offered if app.app_key in app_keys]
        taken = await self._engine.write(
            app_owners.take_apps, self._session_id, offered, self.clock.now(), self._secret
        )
        if self._call_ids is None:
            self._call_ids = count(first_call(taken.session_number))
        for state in taken.apps:
            if state.session_id == self._session_id and state.app_key not in self._owned:
                kind = self._kinds[state.app_key]
                running = RunningApp(state.app_key, kind, self._caller, self._recorder, self._call_ids, self._report)
                self._done = {done for done in self._done if done.app_key != state.app_key}
                self._owned[state.app_key] = OwnedApp(running, taken.number)
                self._user.call(running.start)
        self._settled.set()

    async def _listen(self) -> None:
        """Read the next events of the apps that run, and what has become of all apps."""
        hearing = [owned for owned in self._owned.values() if owned.stage is Stage.RUNNING]
        number = min((owned.number for owned in hearing), default=0)
        patterns = sorted({pattern for owned in hearing for pattern in owned.running.bus.patterns})
        heard = await self._engine.read(events_after, number, patterns, list(self._kinds), MOST_EVENTS)
        batches = []
        for owned in hearing:
            events = [event for event in heard.events if event.number > owned.number]
            owned.number = max(owned.number, heard.number)
            if events:
                batches.append((owned.running, events))
        if batches:
            self._is_handing_out, self._handed_out_at = True, self.clock.monotonic()
            self._user.call(self._hand_out, batches)
        elif heard.has_more:
            self.wake()
        self._do_asked(heard.asked)
        await self._compare(heard.apps)

    def _hand_out(self, batches: list[tuple[RunningApp, list[Event]]]) -> None:
        """On the event loop of the apps: give them the events, then ask for more."""
        try:
            for running, events in batches:
                running.hear(events)
        finally:
            self._is_handing_out = False
            self.wake_soon()

    def _warn_of_block(self) -> None:
        """Say that the last events have not been taken for long: a coroutine blocks the event loop of the apps."""
        seconds = self.clock.monotonic() - self._handed_out_at
        if seconds >= LOOK_AGAIN_S:
            said = (
                "a handler has blocked the event loop of the apps for %.0f s; blocking code belongs in a plain function"
            )
            log.warning(said, seconds, extra={"event": "apps_blocked"})

    def _do_asked(self, asked: list[AskedTimer]) -> None:
        """Do once what is asked of timers. It is read until it is told that it is done."""
        for one in asked:
            owned = self._owned.get(one.app_key)
            if owned is not None and owned.stage is Stage.RUNNING and one not in self._done:
                self._done.add(one)
                self._user.call(owned.running.do_asked, one)

    async def _compare(self, states: list[AppState]) -> None:
        """Do what was asked of the apps: stop some, take those that nobody has, leave those that others have."""
        free = []
        for state in states:
            owned = self._owned.get(state.app_key)
            if owned is not None and state.session_id != self._session_id:
                self._drop(owned)
                owned = None
            if owned is None:
                if state.status is AppStatus.WAITING and state.wanted is Wanted.RUNNING:
                    free.append(state.app_key)
            elif state.wanted is Wanted.STOPPED and owned.stage is not Stage.ENDING:
                self._end(owned, PATIENCE_S)
        if free:
            await self._take(free)

    def _end(self, owned: OwnedApp, patience: float, *, is_process_ending: bool = False) -> None:
        owned.stage = Stage.ENDING
        self._user.call(lambda: owned.running.end(patience, is_process_ending=is_process_ending))

    def _lose(self, app_key: str) -> None:
        """The store says that an app is not ours."""
        owned = self._owned.get(app_key)
        if owned is not None:
            self._drop(owned)

    def _drop(self, owned: OwnedApp) -> None:
        self._owned.pop(owned.running.app_key, None)
        self._recorder.forget(owned.running.app_key)
        self._user.call(owned.running.abandon)
        self._settled.set()

    def _report(self, running: RunningApp, report: AppReport) -> None:
        """Called on the event loop of the apps."""
        self._reports.append((running, report))
        self.wake_soon()

    async def _settle(self) -> None:
        """Write down what has become of the apps. What cannot be written is tried again."""
        while self._reports:
            running, report = self._reports[0]
            owned = self._owned.get(running.app_key)
            if owned is not None and owned.running is running:
                try:
                    await self._settle_one(owned, report)
                except NotHolder:
                    self._drop(owned)
                except HoldfastError as error:
                    if error.is_worth_repeating and not isinstance(error, InvalidInput):
                        raise
                    # It would be refused again, and no other app would be heard.
                    log.error("app %s: %s", running.app_key, error, extra={"event": "app_refused"})
                    if owned.stage is Stage.STARTING:
                        self._user.call(running.abandon)
                        await self._fail(owned, error_of(error))
            self._reports.popleft()

    async def _settle_one(self, owned: OwnedApp, report: AppReport) -> None:
        app_key, secret = owned.running.app_key, self._secret
        match report:
            case Ended():
                await self._recorder.flush()
                await self._engine.write(app_owners.release_app, self._session_id, app_key, secret=secret)
                self._owned.pop(app_key, None)
                self._settled.set()
            case Begun():
                owned.has_begun = True
                self._settled.set()
            case _ if owned.stage in (Stage.ENDING, Stage.FAILED):
                return
            case StartFailed(error):
                await self._fail(owned, error)
            case Started(registered, patterns):
                now = self.clock.now()
                await self._engine.write(
                    app_owners.begin_app, self._session_id, app_key, patterns, registered, now, secret=secret
                )
                owned.stage, owned.patterns = Stage.RUNNING, patterns
                self._recorder.open(app_key)
                self._user.call(owned.running.begin)
            case AskedDone(asked):
                name, wish = asked.job_name, asked.asked
                await self._engine.write(records.clear_asked, self._session_id, app_key, name, wish, secret=secret)
                self._done.discard(asked)
            case ListenersChanged():
                patterns = owned.running.bus.patterns
                if owned.stage is Stage.RUNNING and patterns != owned.patterns:
                    await self._engine.write(app_owners.listen_app, self._session_id, app_key, patterns, secret=secret)
                    owned.patterns = patterns

    async def _settle_at_the_end(self) -> None:
        try:
            await self._settle()
        except Exception as error:
            log.warning("apps could not be given back; that is done when the session is settled: %s", error)
            self._owned.clear()

    async def _refuse_late_starts(self) -> None:
        for owned in list(self._owned.values()):
            began = owned.running.began
            if owned.stage is not Stage.STARTING or began is None:
                continue
            if self.clock.monotonic() - began >= self._start_limit:
                self._user.call(owned.running.abandon)
                said = f"on_start took longer than {self._start_limit:g} s"
                await self._fail(owned, RaisedError("TimeoutError", said))

    async def _fail(self, owned: OwnedApp, error: RaisedError) -> None:
        app_key = owned.running.app_key
        log.error(
            "app %s failed: %s: %s", app_key, error.error_type, error.error_message, extra={"event": "app_failed"}
        )
        await self._engine.write(app_owners.fail_app, self._session_id, app_key, error, secret=self._secret)
        owned.stage = Stage.FAILED
        self._settled.set()

    def _end_left(self) -> None:
        self._caller.end_left()
