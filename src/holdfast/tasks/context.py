"""What a task sees of its run."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping, MutableMapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from holdfast.core.errors import HoldfastError, InvalidInput, InvalidPayload
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import Claimed
from holdfast.core.messages.events import Emitted
from holdfast.core.messages.jobs import Predecessor
from holdfast.core.messages.watches import ChangedFiles
from holdfast.core.rules import limits
from holdfast.core.settings import rule_table
from holdfast.core.values.event import joined_attributes
from holdfast.core.values.event_data import encode_data
from holdfast.tasks.files import FilesLeft, RunFiles
from holdfast.tasks.raising import Stopped, StopReason, storable, traceback_of

LONGEST_TEXT = 1_000

# Several threads of a run may come at once. One lock for all runs, so that a run that prints nothing needs none.
_making_files = threading.RLock()


class Child(Protocol):
    """Something that can be enqueued as a child of a run: a task, or a task with options."""

    def enqueue_from(self, parent: Claimed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Enqueue it, and block until it is durable."""

    async def aenqueue_from(self, parent: Claimed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Enqueue it. It is durable when awaited."""


class JobInfo(msgspec.Struct, frozen=True):
    """The job that a run belongs to."""

    id: str
    number: int
    task: str
    queue: str
    attempt: int
    tag: str | None
    subject: str | None
    generation: int | None
    checkpoint: Any


class RunLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose records have the job and the run. From INFO on they also go into the log of the run."""

    def __init__(self, logger: logging.Logger, extra: Mapping[str, object], say: Callable[[int, str], None]) -> None:
        super().__init__(logger, extra)
        self._say = say

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if level >= logging.INFO:
            given = kwargs.get("exc_info")
            error = given if isinstance(given, BaseException) else sys.exc_info()[1] if given else None
            self._say(level, line_of(logging.LogRecord("", 0, "", 0, msg, args, None), error))
        # The record names the caller of this method.
        super().log(level, msg, *args, **kwargs | {"stacklevel": kwargs.get("stacklevel", 1) + 1})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **kwargs.get("extra", {})}
        return msg, kwargs


class Context:
    """The first argument of a task that asks for it.

    `job`, `attempt` and `env` say what is running, `log` records what it does, `progress` and `checkpoint` tell how far
    it is, `cancelled` and `should_yield` say whether it is asked to stop, `enqueue` starts child jobs, `emit` tells
    events.

    >>> from holdfast import Context, Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def index(ctx: Context, files: list[str]) -> int:
    ...     for number in range(ctx.job.checkpoint or 0, len(files)):
    ...         ctx.check()
    ...         ctx.progress(number / len(files), files[number])
    ...         ctx.log.info("indexing %s", files[number])
    ...         ctx.checkpoint(number + 1)
    ...     return len(files)
    >>> with hf:
    ...     index.enqueue(files=["a.py", "b.py"]).result(timeout=10)
    2
    """

    def __init__(
        self,
        claimed: Claimed,
        save: Callable[[str], Future[None]],
        note: Callable[[float, str | None], None],
        files: Callable[[], RunFiles] | None = None,
        now: Callable[[], Millis] = lambda: time.time_ns() // 1_000_000,
        look_back: Callable[[], Future[list[Predecessor]]] | None = None,
        tell: Callable[[str, dict[str, str], Raw], Future[Emitted]] | None = None,
        look_up: Callable[[], Future[ChangedFiles]] | None = None,
    ) -> None:
        self._claimed = claimed
        self._save = save
        self._note = note
        self._make_files = files
        self._files: RunFiles | None = None
        self._now = now
        self._look_back = look_back
        self._tell = tell
        self._look_up = look_up
        self._stop_reason: StopReason | None = None

    @property
    def job(self) -> JobInfo:
        """The job, with the checkpoint that an earlier run left."""
        run = self._claimed
        saved = None if run.checkpoint is None else msgspec.json.decode(run.checkpoint)
        return JobInfo(
            run.job_id, run.number, run.task, run.queue, run.attempt, run.tag, run.subject, run.generation, saved
        )

    @property
    def attempt(self) -> int:
        """1 for the first run, 2 for the second, …"""
        return self._claimed.attempt

    @property
    def run_id(self) -> str:
        """The id of this run. Every try has its own, so effects outside are better keyed by what the job is about."""
        return self._claimed.run_id

    @property
    def env(self) -> Mapping[str, str]:
        """The variables that the job was given with `env=`.

        Only in a process of its own they are in `os.environ` too: inside a worker, that belongs to all runs.
        """
        return MappingProxyType(self._claimed.env or {})

    @property
    def log(self) -> RunLog:
        """A logger under `holdfast.task`; its records carry `job_id`, `run_id` and `task`.

        What it says from INFO on goes into the log of the run as well, whatever the program's logging does with it.
        """
        run = self._claimed
        extra = {"job_id": run.job_id, "run_id": run.run_id, "task": run.task, "attempt": run.attempt}
        return RunLog(self._logger(), extra, self._say)

    def progress(self, fraction: float, text: str | None = None) -> None:
        """Show how far the run is, from 0 to 1. Never waits; the last one counts."""
        self._note(
            float(rule_table.check("fraction", fraction, "progress")),
            None if text is None else storable(str(text))[:LONGEST_TEXT],
        )

    def checkpoint(self, data: Any) -> None:
        """Keep `data` (JSON) for the next run of this job. Durable when it returns."""
        self._save(_encoded(data)).result()

    async def acheckpoint(self, data: Any) -> None:
        """The awaitable twin of `checkpoint`."""
        await asyncio.wrap_future(self._save(_encoded(data)))

    def predecessors(self) -> list[Predecessor]:
        """The jobs that this one came after, as they ended: the one before it in a chain, and those of `after=`.

        The one before it in a chain is the first; then come the others in the order in which they were enqueued.
        """
        return self._ask_for_predecessors().result()

    async def apredecessors(self) -> list[Predecessor]:
        """The awaitable twin of `predecessors`."""
        return await asyncio.wrap_future(self._ask_for_predecessors())

    def results(self) -> list[Any]:
        """What the predecessors returned, in the same order. None for one without a result."""
        return [one.result for one in self.predecessors()]

    async def aresults(self) -> list[Any]:
        """The awaitable twin of `results`."""
        return [one.result for one in await self.apredecessors()]

    def _ask_for_predecessors(self) -> Future[list[Predecessor]]:
        if self._look_back is None:
            raise InvalidInput("there is no database here to ask for predecessors")
        return self._look_back()

    def changed_files(self) -> ChangedFiles:
        """The files that a job of a watch is about: `for file in ctx.changed_files(): index(file.path)`.

        At most 10,000, by path; `truncated` says that there were more. Of other jobs there are none.
        """
        return self._ask_for_files().result()

    async def achanged_files(self) -> ChangedFiles:
        """The awaitable twin of `changed_files`."""
        return await asyncio.wrap_future(self._ask_for_files())

    def _ask_for_files(self) -> Future[ChangedFiles]:
        if self._look_up is None:
            raise InvalidInput("there is no database here to ask for changed files")
        return self._look_up()

    def artifact(self, name: str) -> Path:
        """Where to write a file that is kept with the job: `ctx.artifact("report.html").write_text(…)`."""
        return self._files_of_run.artifact(name)

    @property
    def cancelled(self) -> bool:
        """Whether the run should end because its result is not wanted: cancelled, superseded, or out of time."""
        return self._stop_reason not in (None, StopReason.SHUTDOWN, StopReason.YIELD)

    @property
    def should_yield(self) -> bool:
        """Whether the run should make room: save a checkpoint, then call `check()`."""
        return self._stop_reason is not None

    def check(self) -> None:
        """End the run here if it is asked to stop, and go on otherwise."""
        if self._stop_reason is not None:
            raise Stopped

    @property
    def _files_of_run(self) -> RunFiles:
        if self._files is None:
            with _making_files:
                if self._files is None:
                    if self._make_files is None:
                        raise InvalidInput("there is no folder for logs and artifacts here")
                    self._files = self._make_files()
        return self._files

    def _logger(self) -> logging.Logger:
        return logging.getLogger(f"holdfast.task.{self._claimed.task}")

    def _say(self, level: int, text: str) -> None:
        if self._make_files is not None:
            self._files_of_run.say(self._now(), level, text)

    def _print(self, text: str | bytes) -> None:
        """Add to the log what the code of the run prints. It never fails, so that no task breaks because of it."""
        if self._make_files is not None:
            with suppress(HoldfastError, OSError):
                self._files_of_run.print(text)

    def _close_files(self) -> FilesLeft:
        """After the end of the run: close its files, and return what it leaves."""
        return FilesLeft() if self._files is None else self._files.close()

    def emit(
        self, name: str, /, *, attributes: Mapping[str, object] | None = None, data: object = None, **more: object
    ) -> Emitted:
        """Say that something happened: `ctx.emit("report:ready", day="Monday")`. Durable when it returns.

        As `hf.emit`; the event shows this run as what triggered it. A run that is tried again may say it again.
        """
        return self._emit(*_new_event(name, attributes, more, data)).result()

    async def aemit(
        self, name: str, /, *, attributes: Mapping[str, object] | None = None, data: object = None, **more: object
    ) -> Emitted:
        """The awaitable twin of `emit`."""
        return await asyncio.wrap_future(self._emit(*_new_event(name, attributes, more, data)))

    def _emit(self, name: str, attributes: dict[str, str], data: Raw) -> Future[Emitted]:
        if self._tell is None:
            raise InvalidInput("there is no database here to keep an event in")
        return self._tell(name, attributes, data)

    def enqueue(self, task: Child, /, *args: Any, **kwargs: Any) -> Any:
        """Start a child job, which knows this job as its parent and shares its trace."""
        return _check_child(task).enqueue_from(self._claimed, args, kwargs)

    async def aenqueue(self, task: Child, /, *args: Any, **kwargs: Any) -> Any:
        """The awaitable twin of `enqueue`."""
        return await _check_child(task).aenqueue_from(self._claimed, args, kwargs)


def line_of(record: logging.LogRecord, error: BaseException | None) -> str:
    """The line that a handler would write. A mistake in the arguments must not break the task."""
    try:
        text = record.getMessage()
    except Exception:
        text = f"{record.msg} {record.args}"
    return text if error is None else f"{text}\n{traceback_of(error).rstrip()}"


def _new_event(
    name: str, attributes: Mapping[str, object] | None, more: Mapping[str, object], data: object
) -> tuple[str, dict[str, str], Raw]:
    return rule_table.check("name", name, "event"), joined_attributes(attributes, more), encode_data(data)


def _check_child(task: Child) -> Child:
    if not hasattr(task, "enqueue_from"):
        raise InvalidInput(f"{limits.shown(task)} is not a task; enqueue what @hf.task made, or task.options(…)")
    return task


def _encoded(data: Any) -> str:
    try:
        encoded = msgspec.json.encode(data)
    except Exception as error:
        raise InvalidPayload(f"the checkpoint is not JSON: {error}") from None
    limits.check_payload(encoded, "the checkpoint")
    return encoded.decode()
