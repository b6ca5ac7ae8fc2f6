"""The worker's side of the channel to the process of a Python task."""

from __future__ import annotations

import sys
import time
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec import Raw

from holdfast.core.errors import HoldfastError
from holdfast.core.jobs.requests import Claimed
from holdfast.core.messages.events import Emitted
from holdfast.core.messages.jobs import Predecessor
from holdfast.core.messages.watches import ChangedFiles
from holdfast.tasks.context import Context
from holdfast.tasks.isolation import TaskPlace
from holdfast.tasks.raising import StopReason
from holdfast.workers.process import launching
from holdfast.workers.process.channel import (
    CheckpointKept,
    Found,
    FromChild,
    Happened,
    LineSaid,
    LookedUp,
    MessageReader,
    MessageWriter,
    Noted,
    PredecessorsAsked,
    PredecessorsTold,
    Saved,
    Start,
    Stop,
    Stored,
    TaskEnded,
)
from holdfast.workers.process.watching import ProcessWatch, WakePipe


class Conversation:
    """The messages between a worker and one process, from `Start` to `TaskEnded`."""

    def __init__(self, context: Context, wake_up: WakePipe) -> None:
        self._context = context
        self.ended: TaskEnded | None = None
        self._ended_at = 0.0
        self._has_begun = False
        with ExitStack() as ours, ExitStack() as theirs:
            self.orders, orders = launching.pipe(theirs, ours)
            self._heard, self.channel = launching.pipe(ours, theirs)
            self._writer = MessageWriter(orders, wake_up)
            self._theirs, self._ours = theirs.pop_all(), ours.pop_all()

    def begin(self, claimed: Claimed, place: TaskPlace, files: Path, watch: ProcessWatch) -> None:
        """The process has its ends of the pipes. Tell it what to run, and read what it sends."""
        self._theirs.close()
        watch.follow_pipe(self._heard, MessageReader(self._receive).feed)
        watch.flush = self._writer.flush
        self._writer.send(Start(claimed, place, str(files), [str(folder) for folder in sys.path]))
        self._has_begun = True

    def stop(self, reason: StopReason) -> None:
        """Ask it to stop, if it was told what to run."""
        if self._has_begun:
            self._writer.send(Stop(reason))

    def silent_for(self) -> float | None:
        """The seconds since its last message; None if that has not come."""
        return None if self.ended is None else time.monotonic() - self._ended_at

    def close(self) -> None:
        """Close the pipes."""
        self._theirs.close()
        self._ours.close()

    def _receive(self, message: FromChild) -> None:
        match message:
            case Noted(fraction=fraction, text=text):
                self._context.progress(fraction, text)
            case LineSaid(level=level, text=text):
                self._context.log.log(level, "%s", text)
            case Saved(number=number, data=data):
                self._context._save(data).add_done_callback(lambda kept: self._answer(number, kept))
            case Happened(number=number, name=name, attributes=attributes, data=data):
                stored = self._context._emit(name, attributes, Raw(data.encode()))
                stored.add_done_callback(lambda event: self._stored(number, event))
            case PredecessorsAsked(number=number):
                self._context._ask_for_predecessors().add_done_callback(lambda found: self._tell(number, found))
            case LookedUp(number=number):
                self._context._ask_for_files().add_done_callback(lambda found: self._found(number, found))
            case TaskEnded():
                self.ended, self._ended_at = message, time.monotonic()

    def _stored(self, number: int, event: Future[Emitted]) -> None:
        if event.exception() is None:
            self._writer.send(Stored(number, event.result()))
        else:
            self._answer(number, event)

    def _tell(self, number: int, found: Future[list[Predecessor]]) -> None:
        if found.exception() is None:
            self._writer.send(PredecessorsTold(number, found.result()))
        else:
            self._answer(number, found)

    def _found(self, number: int, files: Future[ChangedFiles]) -> None:
        if files.exception() is None:
            self._writer.send(Found(number, files.result()))
        else:
            self._answer(number, files)

    def _answer(self, number: int, kept: Future[Any]) -> None:
        error = kept.exception()
        if error is None:
            self._writer.send(CheckpointKept(number))
        else:
            code = error.code if isinstance(error, HoldfastError) else HoldfastError.code
            self._writer.send(CheckpointKept(number, code, str(error)))
