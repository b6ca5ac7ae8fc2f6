"""The process of a Python task: `python -m holdfast.workers.process.child CHANNEL`.

It loads the module of the task, runs the function once, and sends how that ended through the channel. Standard output
and error are the log of the run.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Raw

from holdfast.core.errors import StoreUnavailable
from holdfast.core.jobs.settle import Broke, Completed, Outcome
from holdfast.core.messages.events import Emitted
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.observe import trace
from holdfast.store.files import JobFiles
from holdfast.tasks.context import Context
from holdfast.tasks.coroutine_thread import serve_coroutines
from holdfast.tasks.files import RunFiles
from holdfast.tasks.isolation import ModulePlace, TaskPlace, loading
from holdfast.tasks.raising import StopReason, ended_by, must_stop, outranks, traceback_of
from holdfast.tasks.spec import TaskSpec, recall
from holdfast.wire.problem import error_of
from holdfast.workers.process.channel import (
    CheckpointKept,
    Found,
    FromChild,
    Happened,
    LineSaid,
    LookedUp,
    Noted,
    PredecessorsAsked,
    PredecessorsTold,
    Saved,
    Start,
    Stop,
    Stored,
    TaskEnded,
    to_child,
)

MAIN = "__holdfast_main__"


class ChildContext(Context):
    """The context of a run in its own process. It sends everything to the worker."""

    def __init__(self, start: Start, send: Callable[[FromChild], None]) -> None:
        run = start.claimed
        files = RunFiles(JobFiles(Path(start.files)), run.job_id, run.run_id)
        super().__init__(
            run,
            lambda data: self._ask(lambda number: Saved(number, data)),
            lambda fraction, text: send(Noted(fraction, text)),
            lambda: files,
            look_back=lambda: self._ask(PredecessorsAsked),
            look_up=lambda: self._ask(LookedUp),
            tell=self._emit_there,
        )
        self._send = send
        self._lock = threading.Lock()
        self._asked: dict[int, Future[Any]] = {}
        self._numbers = count(1)
        self._has_worker = True
        self._cancel: Callable[[], object] = lambda: None
        self._silent = logging.Logger("holdfast.child")
        self._silent.disabled = True

    def _emit_there(self, name: str, attributes: dict[str, str], data: Raw) -> Future[Emitted]:
        return self._ask(lambda number: Happened(number, name, attributes, bytes(data).decode()))

    def heed(self, word: Stop | CheckpointKept | PredecessorsTold | Found | Stored) -> None:
        """Take a message of the worker. Called from the thread that reads."""
        match word:
            case Stop(reason=reason):
                asked_before = must_stop(self._stop_reason)
                if outranks(reason, self._stop_reason):
                    self._stop_reason = reason
                if must_stop(reason) and not asked_before:
                    self._cancel()
            case PredecessorsTold(number=number, predecessors=found):
                self._answered(number).set_result(found)
            case Found(number=number, files=files):
                self._answered(number).set_result(files)
            case Stored(number=number, event=event):
                self._answered(number).set_result(event)
            case CheckpointKept(number=number, code=code, error=error):
                future = self._answered(number)
                if code is None:
                    future.set_result(None)
                else:
                    future.set_exception(error_of(code, error or code))

    def lose_worker(self) -> None:
        """The worker is gone. How this ends cannot be reported any more, and the job will run again elsewhere."""
        with self._lock:
            self._has_worker = False
            waiting, self._asked = self._asked, {}
        for future in waiting.values():
            future.set_exception(StoreUnavailable("the worker of this process is gone; a checkpoint may be lost"))
        self.heed(Stop(StopReason.SHUTDOWN))

    def on_stop(self, cancel: Callable[[], object]) -> None:
        """Call `cancel` when the run is asked to stop, or now if it was."""
        self._cancel = cancel
        if must_stop(self._stop_reason):
            cancel()

    def _answered(self, number: int) -> Future[Any]:
        with self._lock:
            return self._asked.pop(number)

    def _ask(self, question: Callable[[int], FromChild]) -> Future[Any]:
        """Send a message that the worker answers."""
        future: Future[Any] = Future()
        with self._lock:
            if not self._has_worker:
                raise StoreUnavailable("the worker of this process is gone; it keeps and knows nothing any more")
            number = next(self._numbers)
            self._asked[number] = future
        self._send(question(number))
        return future

    def _logger(self) -> logging.Logger:
        # The worker logs it too, so here it would come out twice.
        return self._silent

    def _say(self, level: int, text: str) -> None:
        self._send(LineSaid(level, text))


def main() -> None:
    """One run."""
    channel, orders = int(sys.argv[1]), _take_stdin()
    os.set_inheritable(channel, False)
    _outlive_sigterm()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    _log_to_stderr()
    lock = threading.Lock()

    def send(word: FromChild) -> None:
        text = msgspec.json.encode(word) + b"\n"
        # Without a worker it is lost.
        with lock, suppress(BrokenPipeError):
            while text:
                text = text[os.write(channel, text) :]

    start = to_child.decode(orders.readline() or b"{}")
    assert isinstance(start, Start)
    sys.path[:] = start.path
    context = ChildContext(start, send)
    threading.Thread(target=_listen, args=(orders, context), name="holdfast-orders", daemon=True).start()
    run = start.claimed
    with trace.using(None if run.trace_id is None else (run.trace_id, run.job_id, run.run_id)):
        outcome, said = _run(start, context)
    send(TaskEnded(outcome, said))


def _take_stdin() -> BinaryIO:
    """The messages of the worker come by standard input. Move them to another file, so that tasks find it empty."""
    orders = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return orders


def _log_to_stderr() -> None:
    """If logging is not set up, log to stderr, which is the log of the run here."""
    handler = logging.StreamHandler(sys.stderr)
    line = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    line.converter = time.gmtime
    handler.setFormatter(line)
    logging.lastResort = handler
    logging.getLogger().setLevel(logging.INFO)


def _outlive_sigterm() -> None:
    """Ignore SIGTERM, which goes to the whole group. This process is asked by its channel as well, and may clean up."""
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    # A forked process has no channel, and its parent may want to end it.
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))


def _listen(orders: BinaryIO, context: ChildContext) -> None:
    for line in orders:
        word = to_child.decode(line)
        if not isinstance(word, Start):
            context.heed(word)
    context.lose_worker()


def _run(start: Start, context: ChildContext) -> tuple[Outcome, str | None]:
    try:
        with loading():
            spec = load(start.place)
    except BaseException as error:
        said = f"the module of the task cannot be loaded: {type(error).__qualname__}: {error}"
        return Broke(Failure(FailureKind.TRANSIENT, "ERR_TASK_NOT_LOADED", said[:2_000])), traceback_of(error)
    if spec is None:
        module = start.place.made_in
        said = f"loading {module.file or module.name} does not make a task {start.place.task!r}"
        failure = Failure(FailureKind.PERMANENT, "ERR_TASK_NOT_LOADED", f"{said}; define it when it is imported")
        return Broke(failure), None
    try:
        result = _call(spec, context, spec.schema.decode(start.claimed.payload))
        return Completed(spec.schema.encode_result(result)), None
    except BaseException as error:
        return ended_by(error, context._stop_reason, spec.permanent)


def _call(spec: TaskSpec, context: ChildContext, arguments: dict[str, Any]) -> Any:
    first = (context,) if spec.wants_context else ()
    if not spec.is_coroutine:
        return spec.function(*first, **arguments)
    serve_coroutines()

    async def work() -> Any:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        context.on_stop(lambda: loop.call_soon_threadsafe(task.cancel))
        return await spec.function(*first, **arguments)

    return asyncio.run(work())


def load(place: TaskPlace) -> TaskSpec | None:
    """Load the modules that make the task. None if they do not make it."""
    made_in = MAIN if place.made_in.name == "__main__" else place.made_in.name
    for module in (place.made_in, place.function_in):
        _load_module(module)
        found = recall(made_in, place)
        if found is not None:
            return found
    return None


def _load_module(module: ModulePlace) -> None:
    if module.name == "__main__":
        assert module.file is not None
        _load_file(MAIN, module.file)
        return
    found = None
    with suppress(ImportError, ValueError):
        found = importlib.util.find_spec(module.name)
    # An app that was given as a file need not be on the path, where another module may have its name.
    if module.file is None or (found is not None and found.origin and os.path.abspath(found.origin) == module.file):
        importlib.import_module(module.name)
    else:
        _load_file(module.name, module.file)


def _load_file(name: str, file: str) -> None:
    spec = importlib.util.spec_from_file_location(name, file)
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) == file:
        return
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main()
