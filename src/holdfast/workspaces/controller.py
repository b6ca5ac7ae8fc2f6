"""The controller of the workspaces of this machine: it looks at all of them, and says what it has seen.

What follows is decided where it is stored. A machine has one controller: the session that holds its row.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from holdfast.core.job import Millis, SessionId
from holdfast.core.messages.workspaces import SeenWorkspace, WatchedWorkspace
from holdfast.core.workspaces.conditions import ConditionReason, Observation
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Changes, Engine
from holdfast.store.script_names import reconcile, resting
from holdfast.workspaces.archive.protocol import Archives
from holdfast.workspaces.backends.protocols import HomeNames, Homes, Instances, SeenHome

USUAL_S = 10.0
BUSY_S = 2.0
LOOK_S = 5.0
SOONEST_S = 0.05
USED_MS: Millis = 50_000  # less than the minute in which a use is written once
ARCHIVES_S = 300.0

T = TypeVar("T")

log = logging.getLogger("holdfast.workspaces")


class Controller(Loop):
    """Looks every 10 seconds, every 2 while an operation runs, and at once when a workspace has changed."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        session_id: SessionId,
        secret: str | None,
        instances: Instances,
        homes: Homes,
        archives: Archives | None = None,
        upkeep: Callable[[list[str]], None] = lambda workspace_ids: None,
        patience: float = LOOK_S,
    ) -> None:
        """`upkeep` is called after each look with the ids of all workspaces, in a thread."""
        super().__init__(clock)
        self._engine = engine
        self._session_id = session_id
        self._secret = secret
        self._instances = instances
        self._homes = homes
        self._archives = archives
        self._known_archives: dict[str, tuple[float, Observation]] = {}
        self._upkeep = upkeep
        self._patience = patience
        self._used_at: dict[str, Millis] = {}
        self._looks: dict[str, asyncio.Future[Any]] = {}

    def heed(self, changes: Changes) -> None:
        """Look at once when a workspace has changed."""
        if any(topic.for_workspaces for topic in changes.topics):
            self.wake_soon()

    async def stop(self) -> None:
        """Let the current look end, and begin no other."""
        await super().stop()
        self._instances.watch({}, self.wake)

    async def tick(self) -> float:
        """Look at all workspaces of this machine once."""
        watched = await self._engine.read(reconcile.watched_workspaces, self._session_id)
        if not watched.is_held:
            taken = self._engine.write(reconcile.take_controller, self._session_id, self.clock.now(), self._secret)
            if not await taken:
                return USUAL_S
            log.info("this worker looks after the workspaces of this machine")
            watched = await self._engine.read(reconcile.watched_workspaces, self._session_id)
        if not watched.workspaces:
            return USUAL_S
        seen = await self._look(watched.workspaces)
        now = self.clock.now()
        changed = set(await self._engine.read(reconcile.unsettled, self._session_id, seen, now))
        if changed:
            told = [one for one in seen if one.id in changed]
            await self._engine.write(reconcile.reconcile, self._session_id, told, now, self._secret)
        pause = await self._let_rest(watched.workspaces)
        await self._ask("upkeep", lambda: self._upkeep([one.id for one in watched.workspaces]))
        is_busy = bool(changed) or any(one.is_busy for one in watched.workspaces)
        return min(pause, BUSY_S if is_busy else USUAL_S)

    async def _let_rest(self, watched: list[WatchedWorkspace]) -> float:
        """Note which workspaces are used, and have those come to rest that are not. Return when the next one will."""
        ports = {one.id: one.port for one in watched if one.port is not None}
        used = await self._ask("connections", lambda: self._instances.used(ports)) if ports else None
        if ports and used is None:
            return USUAL_S  # Nobody knows which are used.
        now = self.clock.now()
        new = [key for key in used or () if not 0 <= now - self._used_at.get(key, -USED_MS) < USED_MS]
        if new:
            await self._engine.write(resting.note_accesses, self._session_id, new, now, self._secret)
            self._used_at = {key: at for key, at in self._used_at.items() if key in ports} | dict.fromkeys(new, now)
        archives = self._archives
        can_archive = archives is not None and await self._ask("store", archives.answers) is True
        plan = await self._engine.read(resting.sleep_plan, self._session_id, can_archive, now)
        if plan.is_due:
            await self._engine.write(resting.let_rest, self._session_id, can_archive, now, self._secret)
        return USUAL_S if plan.next_at is None else max(SOONEST_S, (plan.next_at - now) / 1000)

    async def _look(self, watched: list[WatchedWorkspace]) -> list[SeenWorkspace]:
        """Look at all of them at once. What does not answer in time is not known."""
        known = {one.id: one.instance_ctx for one in watched if one.instance_ctx is not None}
        names = {
            one.id: HomeNames(one.home_store_key, None if one.home_ctx is None else one.home_ctx.volume)
            for one in watched
        }
        self._instances.watch(known, self.wake)
        keys = {one.archive_key: one.is_busy for one in watched if one.archive_key is not None}
        _, instances, homes = await asyncio.gather(
            self._ask("archives", lambda: self._look_at_archives(keys)),
            self._ask("instances", lambda: self._instances.observe(known)),
            self._ask("homes", lambda: self._homes.observe(names)),
        )
        return [self._seen(one, instances, homes) for one in watched]

    def _seen(
        self, one: WatchedWorkspace, instances: dict[str, bool] | None, homes: dict[str, SeenHome] | None
    ) -> SeenWorkspace:
        home = None if homes is None else homes.get(one.id)
        context = one.instance_ctx
        runs = None if instances is None else False if context is None else instances.get(one.id)
        return SeenWorkspace(
            one.id,
            one.generation,
            one.job_has_ended,
            None if home is None else home.volume,
            None if home is None else home.leftovers,
            runs,
            context is not None and self._instances.began_in_another_boot(context),
            self._archive(one.archive_key),
        )

    def _look_at_archives(self, keys: Mapping[str, bool]) -> None:
        """Look at those that are not known, that matter now, or that were seen long ago. It may take a while."""
        for key in self._known_archives.keys() - keys.keys():
            del self._known_archives[key]
        for key, matters in keys.items():
            seen_at, seen = self._known_archives.get(key, (0.0, None))
            is_fresh = seen is not None and seen.status and self.clock.monotonic() - seen_at < ARCHIVES_S
            if matters or not is_fresh:
                self._known_archives[key] = self.clock.monotonic(), self._look_at_archive(key)

    def _look_at_archive(self, key: str) -> Observation:
        if self._archives is None:
            return Observation(False, ConditionReason.ARCHIVE_UNREACHABLE, "no archive is in the settings")
        return self._archives.look(key)

    def _archive(self, key: str | None) -> Observation | None:
        """What is known of an archive. Nothing before the first look has ended."""
        known = None if key is None else self._known_archives.get(key)
        return None if known is None else known[1]

    async def _ask(self, what: str, function: Callable[[], T]) -> T | None:
        """Call a function in a thread of its own. None if it takes too long, or one from before still does."""
        pending = self._looks.get(what)
        if pending is not None and not pending.done():
            return None
        answer = self._looks[what] = _in_thread(function)
        try:
            return await asyncio.wait_for(asyncio.shield(answer), self._patience)
        except TimeoutError:
            log.warning("the %s of workspaces do not answer within %g s", what, self._patience)
        except Exception as error:
            log.warning("the %s of workspaces cannot be looked at: %r", what, error)
        return None


def _in_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """The answer of a function that may hang for ever. The end of the process does not wait for it."""
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(function())
        except Exception as error:
            answer.set_exception(error)

    threading.Thread(target=work, name="holdfast-look", daemon=True).start()
    return asyncio.wrap_future(answer)
