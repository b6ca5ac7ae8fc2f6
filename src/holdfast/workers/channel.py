"""What a worker and the process of a Python task say to each other: one JSON document a line, each way."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import msgspec
from msgspec import Struct

from holdfast.core.requests import Claimed
from holdfast.core.settle import Outcome
from holdfast.store.scripts.changed_files import ChangedFiles
from holdfast.store.scripts.events import Emitted
from holdfast.store.scripts.predecessors import Predecessor
from holdfast.workers.isolation import TaskPlace
from holdfast.workers.launching import End
from holdfast.workers.raising import StopReason
from holdfast.workers.watching import Bell


class Start(Struct, frozen=True, tag=True):
    """The first word: what to run, and where things are."""

    claimed: Claimed
    place: TaskPlace
    files: str
    path: list[str]


class Stop(Struct, frozen=True, tag=True):
    """The run is asked to stop."""

    reason: StopReason


class Kept(Struct, frozen=True, tag=True):
    """A checkpoint is durable, or it is not, with the code and text of the error."""

    number: int
    code: str | None = None
    error: str | None = None


class Told(Struct, frozen=True, tag=True):
    """What the job came after."""

    number: int
    predecessors: list[Predecessor]


class Found(Struct, frozen=True, tag=True):
    """The files that the job is about."""

    number: int
    files: ChangedFiles


class Stored(Struct, frozen=True, tag=True):
    """An event is durable."""

    number: int
    event: Emitted


class Noted(Struct, frozen=True, tag=True):
    """How far the run is."""

    fraction: float
    text: str | None


class Saved(Struct, frozen=True, tag=True):
    """A checkpoint to keep; answered with `Kept`."""

    number: int
    data: str


class Asked(Struct, frozen=True, tag=True):
    """What did the job come after? Answered with `Told`, or with `Kept` and an error."""

    number: int


class LookedUp(Struct, frozen=True, tag=True):
    """Which files is the job about? Answered with `Found`, or with `Kept` and an error."""

    number: int


class Happened(Struct, frozen=True, tag=True):
    """An event to store; answered with `Stored`, or with `Kept` and an error."""

    number: int
    name: str
    attributes: dict[str, str]


class Said(Struct, frozen=True, tag=True):
    """A line for the log."""

    level: int
    text: str


class Ended(Struct, frozen=True, tag=True):
    """The last word: how the task ended."""

    outcome: Outcome
    traceback: str | None = None


ToChild: TypeAlias = Start | Stop | Kept | Told | Found | Stored
FromChild: TypeAlias = Noted | Saved | Asked | LookedUp | Happened | Said | Ended

to_child = msgspec.json.Decoder(ToChild)
from_child = msgspec.json.Decoder(FromChild)


class Ear:
    """Puts together what a pipe brings in pieces, and heeds each line."""

    def __init__(self, heed: Callable[[FromChild], None]) -> None:
        self._heed = heed
        self._rest = bytearray()

    def hear(self, data: bytes) -> None:
        """A piece has come. What is not a line of ours is left out: nobody but our own code writes here."""
        self._rest += data
        *lines, rest = self._rest.split(b"\n") if b"\n" in data else [self._rest]
        self._rest = rest
        for line in lines:
            with suppress(msgspec.DecodeError):
                self._heed(from_child.decode(line))


class Mouth:
    """Lines on their way to a process that may be slow to read. `say` from any thread, `flush` from one."""

    def __init__(self, end: End, bell: Bell) -> None:
        os.set_blocking(end.fileno(), False)
        self._end = end
        self._bell = bell
        self._lock = threading.Lock()
        self._waiting = b""

    def say(self, word: ToChild) -> None:
        """Have a line sent."""
        with self._lock:
            self._waiting += msgspec.json.encode(word) + b"\n"
        self._bell.ring()

    def flush(self) -> bool:
        """Send what can be sent now; whether something is left."""
        with self._lock:
            try:
                while self._waiting:
                    self._waiting = self._waiting[os.write(self._end.fileno(), self._waiting) :]
            except BlockingIOError:
                return True
            except OSError:
                # It reads no more.
                self._waiting = b""
            return False
