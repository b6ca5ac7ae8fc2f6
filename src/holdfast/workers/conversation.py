"""The worker's side of the channel to the process of a Python task."""

from __future__ import annotations

import sys
import time
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from holdfast.core.errors import HoldfastError
from holdfast.core.requests import Claimed
from holdfast.store.scripts.changed_files import ChangedFiles
from holdfast.store.scripts.events import Emitted
from holdfast.store.scripts.predecessors import Predecessor
from holdfast.workers.channel import (
    Asked,
    Ear,
    Ended,
    Found,
    FromChild,
    Happened,
    Kept,
    LookedUp,
    Mouth,
    Noted,
    Said,
    Saved,
    Start,
    Stop,
    Stored,
    Told,
)
from holdfast.workers.context import Context
from holdfast.workers.isolation import TaskPlace
from holdfast.workers.launching import pipe
from holdfast.workers.raising import StopReason
from holdfast.workers.watching import Bell, Watch


class Conversation:
    """Everything that is said between a worker and one process, from `Start` to `Ended`."""

    def __init__(self, context: Context, bell: Bell) -> None:
        self._context = context
        self.ended: Ended | None = None
        self._ended_at = 0.0
        self._has_begun = False
        with ExitStack() as ours, ExitStack() as theirs:
            self.orders, orders = pipe(theirs, ours)
            self._heard, self.channel = pipe(ours, theirs)
            self._mouth = Mouth(orders, bell)
            self._theirs, self._ours = theirs.pop_all(), ours.pop_all()

    def begin(self, claimed: Claimed, place: TaskPlace, files: Path, watch: Watch) -> None:
        """The process has its ends: say what to run, and listen from now on."""
        self._theirs.close()
        watch.hear(self._heard, Ear(self._heed).hear)
        watch.speak = self._mouth.flush
        self._mouth.say(Start(claimed, place, str(files), [str(folder) for folder in sys.path]))
        self._has_begun = True

    def stop(self, reason: StopReason) -> None:
        """Ask it to stop, if it was told what to do."""
        if self._has_begun:
            self._mouth.say(Stop(reason))

    def silent_for(self) -> float | None:
        """How long ago it said its last word, in seconds; None if it has not."""
        return None if self.ended is None else time.monotonic() - self._ended_at

    def close(self) -> None:
        """Let go of the pipes."""
        self._theirs.close()
        self._ours.close()

    def _heed(self, word: FromChild) -> None:
        match word:
            case Noted(fraction=fraction, text=text):
                self._context.progress(fraction, text)
            case Said(level=level, text=text):
                self._context.log.log(level, "%s", text)
            case Saved(number=number, data=data):
                self._context._save(data).add_done_callback(lambda kept: self._answer(number, kept))
            case Happened(number=number, name=name, attributes=attributes):
                self._context._emit(name, attributes).add_done_callback(lambda event: self._stored(number, event))
            case Asked(number=number):
                self._context._ask_for_predecessors().add_done_callback(lambda found: self._tell(number, found))
            case LookedUp(number=number):
                self._context._ask_for_files().add_done_callback(lambda found: self._found(number, found))
            case Ended():
                self.ended, self._ended_at = word, time.monotonic()

    def _stored(self, number: int, event: Future[Emitted]) -> None:
        if event.exception() is None:
            self._mouth.say(Stored(number, event.result()))
        else:
            self._answer(number, event)

    def _tell(self, number: int, found: Future[list[Predecessor]]) -> None:
        if found.exception() is None:
            self._mouth.say(Told(number, found.result()))
        else:
            self._answer(number, found)

    def _found(self, number: int, files: Future[ChangedFiles]) -> None:
        if files.exception() is None:
            self._mouth.say(Found(number, files.result()))
        else:
            self._answer(number, files)

    def _answer(self, number: int, kept: Future[Any]) -> None:
        error = kept.exception()
        if error is None:
            self._mouth.say(Kept(number))
        else:
            code = error.code if isinstance(error, HoldfastError) else HoldfastError.code
            self._mouth.say(Kept(number, code, str(error)))
