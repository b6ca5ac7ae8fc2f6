"""`Holdfast`: a database of jobs, and the tasks that this program offers to run."""

from __future__ import annotations

import asyncio
import atexit
import signal
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from holdfast.client.durations import Duration, to_millis
from holdfast.client.embedded import EngineRoom, Shift, drain
from holdfast.client.operations import Operations
from holdfast.client.options import Options
from holdfast.client.retry import Retry
from holdfast.client.store_access import StoreAccess
from holdfast.client.task import Task, TaskDecorator, make_options
from holdfast.core.errors import InvalidInput, StoreUnavailable
from holdfast.core.limits import check_int, check_name, shown
from holdfast.runtime.clock import Clock, SystemClock
from holdfast.store.engine import Engine, Ids, new_uuid
from holdfast.store.forks import forget_after_fork
from holdfast.workers.context import Context
from holdfast.workers.schema import PayloadSchema
from holdfast.workers.spec import TaskSpec, wants_context

P = ParamSpec("P")
R = TypeVar("R")

SHORT_WORK_S = 5.0
GRACE_S = 5.0


class Holdfast(Operations):
    """A durable queue in a SQLite file or a PostgreSQL database, embedded in this program.

    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> with hf:
    ...     double.enqueue(x=21).result(timeout=10)
    42

    The database is opened by its first use. Jobs run while this program is inside `async with hf:` or `with hf:`, or in
    `hf.run()`; they can be enqueued and looked at before, inside and after. `concurrency` is how many jobs of each
    queue run at once here (a number, or one for each queue by name); `durability="normal"` trades the last moments
    before a power loss for speed; `keep` is how long ended jobs are remembered.
    """

    def __init__(
        self,
        path_or_url: str | Path,
        *,
        durability: str = "full",
        concurrency: int | Mapping[str, int] = 10,
        keep: Duration = timedelta(days=7),
        schema: str = "holdfast",
        clock: Clock | None = None,
        ids: Ids = new_uuid,
    ) -> None:
        if durability not in ("full", "normal"):
            raise InvalidInput(f"durability {shown(durability)} is not valid: use 'full' or 'normal'")
        self._concurrency = _check_concurrency(concurrency)
        self._keep_ms = to_millis("keep", keep)
        clock = clock or SystemClock()
        engine = make_engine(path_or_url, durability, schema, clock, ids)
        self._access = StoreAccess(engine, clock, ids)
        self._specs: dict[str, TaskSpec] = {}
        self._room: EngineRoom | None = None
        self.is_draining = False
        self._close = weakref.finalize(self, engine.close)
        forget_after_fork(self)

    @property
    def is_running(self) -> bool:
        """Whether this program runs jobs now."""
        return self._room is not None

    @overload
    def task(self, function: Callable[Concatenate[Context, P], Awaitable[R]]) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[Concatenate[Context, P], R]) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, Awaitable[R]]) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, R]) -> Task[P, R]: ...
    @overload
    def task(self, *, name: str | None = None, **options: Any) -> TaskDecorator: ...

    def task(self, function: Any = None, *, name: str | None = None, **options: Any) -> Any:
        """Make a function or coroutine a task: `@hf.task`, or `@hf.task(queue="build", retry=Retry(5), …)`.

        Takes the options of `Task.options`; a `subject` may name arguments: `subject="editor::{repo}::{path}"`.
        """
        chosen = make_options(options)
        for once in ("generation", "at", "deadline", "idempotency_key", "after", "after_ended", "group"):
            if getattr(chosen, once) is not None:
                raise InvalidInput(f"{once!r} belongs to one job, not to a task; use task.options({once}=…)")

        def decorate(function: Callable[..., Any]) -> Task[Any, Any]:
            return self._register(function, name, chosen)

        return decorate if function is None else decorate(function)

    def _register(self, function: Callable[..., Any], name: str | None, options: Options) -> Task[Any, Any]:
        if not callable(function):
            raise InvalidInput(f"{shown(function)} is not a function; use @hf.task on a function or coroutine")
        called = check_name("task", name or getattr(function, "__name__", "").strip("<>"))
        if called in self._specs:
            raise InvalidInput(f"there is a task {called!r} already; give this one another name=")
        with_context = wants_context(function)
        spec = TaskSpec(
            name=called,
            queue=check_name("queue", options.queue or "default"),
            function=function,
            schema=PayloadSchema(called, function, skip_first=with_context),
            wants_context=with_context,
            permanent=() if options.retry is None else Retry.of(options.retry).permanent,
        )
        task: Task[Any, Any] = Task(self._access, spec, options)
        task.prepare()
        self._specs[called] = spec
        return task

    def start(self) -> None:
        """Begin to run jobs in the background of this program."""
        if self._room is not None:
            raise InvalidInput("this Holdfast runs already")
        room = EngineRoom(self._make_shift)
        room.start()
        self._room = room
        _running.add(self)

    async def astart(self) -> None:
        """The awaitable twin of `start`."""
        await asyncio.to_thread(self.start)

    def stop(self, *, short: Duration = SHORT_WORK_S, grace: Duration = GRACE_S) -> None:
        """Stop in order: claim nothing new, let work end for `short`, ask the rest to stop and give it `grace`."""
        room, self._room = self._room, None
        if room is not None:
            room.stop(to_millis("short", short) / 1000, to_millis("grace", grace) / 1000)
            _running.discard(self)

    async def astop(self, *, short: Duration = SHORT_WORK_S, grace: Duration = GRACE_S) -> None:
        """The awaitable twin of `stop`."""
        await asyncio.to_thread(self.stop, short=short, grace=grace)

    def run(self) -> None:
        """Run jobs until SIGINT or SIGTERM, then stop in order. A second signal hurries."""
        self.start()
        stopping = threading.Event()

        def heed(number: int, frame: FrameType | None) -> None:
            if stopping.is_set() and self._room is not None:
                self._room.hurry()
            stopping.set()

        before = (
            {number: signal.signal(number, heed) for number in (signal.SIGINT, signal.SIGTERM)}
            if (threading.current_thread() is threading.main_thread())
            else {}
        )
        try:
            stopping.wait()
            room = self._room
            if room is not None:
                room.stop(SHORT_WORK_S, GRACE_S)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._room = None
            _running.discard(self)

    async def arun(self) -> None:
        """Run jobs until this coroutine is cancelled, then stop in order."""
        await self.astart()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.shield(self.astop())

    def drain(self) -> int:
        """Run everything that is ready, and what becomes ready by that, then return how many runs there were.

        For tests and scripts: jobs whose time has not come by the clock stay where they are.
        """
        if self._room is not None:
            raise InvalidInput("this Holdfast runs already; drain() is for one that does not")
        self.is_draining = True
        try:
            return drain(self._make_shift)
        finally:
            self.is_draining = False

    async def adrain(self) -> int:
        """The awaitable twin of `drain`."""
        return await asyncio.to_thread(self.drain)

    def close(self) -> None:
        """Stop and let go of the database. A later use opens it again."""
        self.stop()
        self._access.engine.close()

    async def aclose(self) -> None:
        """The awaitable twin of `close`."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Holdfast:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Holdfast:
        await self.astart()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.astop()

    def forget(self) -> object:
        """In a forked child nothing runs; the parent's threads are the parent's."""
        inherited, self._room = self._room, None
        _running.discard(self)
        return inherited

    def _make_shift(self, on_lost: Callable[[], None]) -> Shift:
        return Shift(self._access, dict(self._specs), self._slots(), self._keep_ms, on_lost)

    def _slots(self) -> dict[str, int]:
        queues = {spec.queue for spec in self._specs.values()}
        if isinstance(self._concurrency, int):
            return dict.fromkeys(sorted(queues), self._concurrency)
        return {queue: self._concurrency.get(queue, DEFAULT_SLOTS) for queue in sorted(queues | set(self._concurrency))}


DEFAULT_SLOTS = 10

_running: weakref.WeakSet[Holdfast] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for holdfast in list(_running):
        holdfast.stop(short=0, grace=1)


def make_engine(path_or_url: str | Path, durability: str, schema: str, clock: Clock, ids: Ids) -> Engine:
    """The engine that a path or URL means. Nothing is opened yet."""
    if not isinstance(path_or_url, str | Path) or not str(path_or_url):
        raise InvalidInput(f"{shown(path_or_url)} is not a database: give a file path or a postgresql:// URL")
    text = str(path_or_url)
    if text.startswith(("postgresql://", "postgres://")):
        try:
            from holdfast.store.postgres.engine import PostgresEngine
        except ImportError as error:
            raise StoreUnavailable(f"PostgreSQL needs psycopg ({error}): pip install 'holdfast[postgres]'") from error
        return PostgresEngine(text, schema=schema, durability=durability, now=clock.now, ids=ids)
    if "://" in text or text == ":memory:" or "\x00" in text:
        raise InvalidInput(
            f"{shown(text)} is not a database that survives: give the path of a file, or a postgresql:// URL"
        )
    from holdfast.store.sqlite.engine import SqliteEngine

    return SqliteEngine(text, durability=durability, now=clock.now, ids=ids)


def _check_concurrency(value: int | Mapping[str, int]) -> int | dict[str, int]:
    if isinstance(value, Mapping):
        return {
            check_name("queue", queue): check_int("concurrency", slots, 0, 10_000) for queue, slots in value.items()
        }
    return check_int("concurrency", value, 1, 10_000)
