"""Keeps worker processes alive. User code never runs in the daemon itself.

Each place for a worker has a lock that its process holds while it lives. A worker that outlived an earlier daemon goes
on in its place. Another one starts there only when that has ended.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from holdfast.core.errors import Conflict, HoldfastError, NotFound
from holdfast.daemon.place_history import PlaceHistory, send
from holdfast.store.locks import is_locked
from holdfast.version import VERSION
from holdfast.wire.home import HOME, Home
from holdfast.wire.places import (
    Occupant,
    WorkerPlace,
    forget_words,
    last_words,
    lock_of,
    occupant,
    occupied,
)
from holdfast.wire.status import PlaceStatus

FIRST_PAUSE_S = 0.5
HURRIED_S = 2.0
LOOK_S = 0.2
CLEAR_S = 2.0
PATIENCE_S = 12.0

log = logging.getLogger("holdfast.supervisor")


class Supervisor:
    """Starts a worker in every place, and another one when it ends. If it ends at once, the next one waits longer."""

    def __init__(
        self,
        home: Home,
        places: list[WorkerPlace],
        environment: dict[str, str] | None = None,
        pause: float = FIRST_PAUSE_S,
        patience: float = PATIENCE_S,
        examine: Callable[[WorkerPlace], None] = lambda place: None,
    ) -> None:
        """`patience` is how many seconds a worker of an earlier daemon may take to stop, if it has to.

        `examine` is called in a thread before each start of a worker. HoldfastError says why it must not start.
        """
        self._home = home
        self._pause = pause
        self._posts = {place.name: PlaceHistory(place, pause) for place in places}
        self._environment = {**os.environ, **(environment or {}), HOME: str(home.folder)}
        self._patience = patience
        self._examine = examine
        self._stopping = asyncio.Event()
        self._clearing: asyncio.Task[None] | None = None
        self._limits: set[asyncio.Timeout] = set()
        self._is_hurried = False

    def start(self) -> None:
        """Begin. Workers of an earlier daemon in places that are not wanted any more are asked to stop."""
        for post in self._posts.values():
            self._begin(post)
        self._clearing = asyncio.create_task(self._clear())

    def add(self, place: WorkerPlace) -> None:
        """Keep this place filled too. A worker of an earlier daemon that is there goes on."""
        if place.name in self._posts:
            raise Conflict(f"there is a place {place.name!r} already")
        if self._stopping.is_set():
            raise Conflict(f"the daemon is stopping, so no worker is started in place {place.name!r}")
        post = self._posts[place.name] = PlaceHistory(place, self._pause)
        if self._clearing is not None:
            self._begin(post)

    async def remove(self, name: str, patience: float) -> None:
        """Ask the worker in a place to stop in order, end it after `patience` seconds, and forget the place."""
        post = self._posts.get(name)
        if post is None:
            raise NotFound(f"there is no place {name!r}")
        # Whoever asked may go away, or ask twice.
        post.removing = post.removing or asyncio.create_task(self._remove(post, patience))
        await asyncio.shield(post.removing)

    async def _remove(self, post: PlaceHistory, patience: float) -> None:
        await self._leave([post], patience)
        del self._posts[post.place.name]

    def _begin(self, post: PlaceHistory) -> None:
        post.keeping = asyncio.create_task(self._keep(post))

    def kept(self) -> list[PlaceStatus]:
        """The status of every place."""
        return [
            PlaceStatus(
                post.place.name,
                self._pid(post),
                post.restarts,
                post.is_crash_looping,
                post.last_end,
                post.last_words,
            )
            for post in self._posts.values()
        ]

    @property
    def restarts(self) -> int:
        """How often a worker was started again."""
        return sum(post.restarts for post in self._posts.values())

    def pids(self) -> set[int]:
        """The processes that are in the places now."""
        return {pid for post in self._posts.values() for pid in self._pids(post)}

    async def stop(self, patience: float) -> None:
        """Ask every worker to stop in order, and end those that do not within `patience` seconds."""
        self._stopping.set()
        await self._leave(list(self._posts.values()), patience)
        if self._clearing is not None:
            await self._clearing

    async def _leave(self, posts: list[PlaceHistory], patience: float) -> None:
        """Ask the workers in these places to stop, and end those that do not. Their tasks are over then."""
        tasks = [post.keeping for post in posts if post.keeping is not None]
        for post in posts:
            post.is_leaving.set()
        self._tell_all([post for post in posts if post.stop_signal is None], signal.SIGTERM)
        limit = asyncio.timeout(HURRIED_S if self._is_hurried else patience)
        try:
            async with limit:
                self._limits.add(limit)
                await asyncio.gather(*map(asyncio.shield, tasks))
        except TimeoutError:
            log.warning("%d workers do not stop; they are killed", sum(not task.done() for task in tasks))
            self._tell_all(posts, signal.SIGKILL)
            await asyncio.gather(*tasks)
        finally:
            self._limits.discard(limit)

    def hurry(self) -> None:
        """Do not wait for jobs any longer."""
        self._is_hurried = True
        if asked := [post for post in self._posts.values() if post.stop_signal is signal.SIGTERM]:
            # Another signal than the first: two of the same kind may arrive as one.
            self._tell_all(asked, signal.SIGINT)
            for limit in self._limits:
                if not limit.expired():
                    limit.reschedule(asyncio.get_running_loop().time() + HURRIED_S)

    def _pid(self, post: PlaceHistory) -> int | None:
        return next(self._pids(post), None)

    def _pids(self, post: PlaceHistory) -> Iterator[int]:
        """The process that was started for a place. And the one that is in it, which may be of an earlier daemon."""
        if post.own_pid is not None:
            yield post.own_pid
        there = occupant(self._home, post.place.name)
        if there is not None and there.pid != post.own_pid:
            yield there.pid

    def _tell_all(self, posts: list[PlaceHistory], number: signal.Signals) -> None:
        for post in posts:
            post.stop_signal = number
            self._tell(post)

    def _tell(self, post: PlaceHistory) -> None:
        """Send the signal of the stop, if there is one."""
        if post.stop_signal is not None:
            for pid in self._pids(post):
                post.tell(pid, post.stop_signal)

    async def _keep(self, post: PlaceHistory) -> None:
        while True:
            try:
                await self._outlast_predecessor(post)
                if post.is_leaving.is_set():
                    return
                forget_words(self._home, post.place.name)
                await _unless(post.is_leaving, partial(self._examine, post.place))
                if post.is_leaving.is_set():
                    continue
                code = await self._run_one(post)
            except Exception as error:
                # Whatever it is: a place whose task ends would stay empty for good.
                if post.is_leaving.is_set():
                    log.warning("place %s is left as it is: %r", post.place.name, error)
                    return
                is_expected = isinstance(error, (HoldfastError, OSError))
                pause = post.not_started(str(error) if is_expected else repr(error))
            else:
                pause = 0.0 if post.is_leaving.is_set() else post.ended(code, last_words(self._home, post.place.name))
            with suppress(TimeoutError):
                await asyncio.wait_for(post.is_leaving.wait(), pause)

    async def _clear(self) -> None:
        """Ask workers of an earlier daemon to stop whose places are not wanted any more. They may come late.

        A place may be added a moment after the start, so one is asked only at the second look that finds it.
        """
        seen, told = set[Occupant](), set[Occupant]()
        while True:
            try:
                self._look_for_unwanted(seen, told)
            except OSError as error:
                log.warning("it cannot be seen which workers are there: %s", error)
            if self._stopping.is_set():
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), CLEAR_S)

    def _look_for_unwanted(self, seen: set[Occupant], told: set[Occupant]) -> None:
        for name in occupied(self._home) - self._posts.keys():
            there = occupant(self._home, name)
            if there is None or there in told:
                continue
            if there not in seen and not self._stopping.is_set():
                seen.add(there)
            else:
                told.add(there)
                log.info("worker %s (pid %d) is not wanted any more; it is asked to stop", name, there.pid)
                send(there.pid, signal.SIGTERM)

    async def _outlast_predecessor(self, post: PlaceHistory) -> None:
        """Wait while a worker of an earlier daemon lives in the place. One with other code, or of another version, is
        stopped, and every one when this daemon stops.

        It may have come into the place after the worker that was started for it, and before that was ready.
        """
        place, lock = post.place, str(lock_of(self._home, post.place.name))
        seen, kill_at = None, math.inf
        # It is not our child, so only its lock tells of its end.
        while is_locked(lock):
            self._tell(post)
            there = occupant(self._home, place.name)
            if there is None:
                if post.stop_signal is signal.SIGKILL:
                    log.warning("there is a worker in place %s that has not written its pid; it is left", place.name)
                    return
            elif there != seen:
                seen, kill_at = there, self._keep_or_stop(post, there)
            elif time.monotonic() >= kill_at:
                log.warning("worker %s (pid %d) does not stop; it is killed", place.name, there.pid)
                send(there.pid, signal.SIGKILL)
                kill_at += self._patience
            await asyncio.sleep(LOOK_S)
        if seen is not None and not post.is_leaving.is_set():
            log.warning("worker %s (pid %d) from before has ended; another one starts", place.name, seen.pid)

    def _keep_or_stop(self, post: PlaceHistory, there: Occupant) -> float:
        """Let a worker of an earlier daemon go on, or ask it to stop. Return when it is to be killed."""
        other = _difference(there, post.place)
        if other is None:
            log.info("worker %s (pid %d) lives on from before", post.place.name, there.pid)
            return math.inf
        log.info("worker %s (pid %d) %s; it is asked to stop", post.place.name, there.pid, other)
        post.tell(there.pid, signal.SIGTERM)
        return time.monotonic() + self._patience

    async def _run_one(self, post: PlaceHistory) -> int:
        post.note_start()
        place = post.place
        post.process = process = await asyncio.create_subprocess_exec(
            sys.executable,
            # A file in the current folder must not replace a module of ours or of Python.
            "-P",
            "-m",
            "holdfast.cli",
            "worker",
            "--place",
            place.name,
            *place.words,
            stdin=asyncio.subprocess.DEVNULL,
            env=self._environment,
            # A Ctrl-C in the terminal is for the daemon, which then stops its workers in order.
            start_new_session=True,
        )
        self._tell(post)  # The stop may have begun meanwhile.
        return await process.wait()


def _difference(there: Occupant, place: WorkerPlace) -> str | None:
    """How a worker of an earlier daemon differs from what is wanted."""
    if there.version != VERSION:
        return f"is of version {there.version}"
    return None if there.words == place.words else "runs other code"


async def _unless(event: asyncio.Event, function: Callable[[], None]) -> None:
    """Call a function in a thread, and wait for its end, or for the event. A file system may hang for ever."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def work() -> None:
        error: Exception | None = None
        try:
            function()
        except BaseException as raised:  # A finder of modules is anybody's code.
            error = raised if isinstance(raised, Exception) else HoldfastError(repr(raised))
        with suppress(RuntimeError):  # The stop is over, and so is the event loop.
            loop.call_soon_threadsafe(_settle, ended, error)

    # Not a thread of the loop's pool: at its end Python waits for those.
    threading.Thread(target=work, name="holdfast-examine", daemon=True).start()
    waiting = asyncio.create_task(event.wait())
    either: set[asyncio.Future[Any]] = {ended, waiting}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if ended.done():
        ended.result()
    ended.cancel()


def _settle(future: asyncio.Future[None], error: Exception | None) -> None:
    if error is not None and not future.done():
        future.set_exception(error)
    elif not future.done():
        future.set_result(None)
