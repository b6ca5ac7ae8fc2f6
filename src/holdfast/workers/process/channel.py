"""The messages between a worker and the process of a Python task: one JSON document a line, each way.

The `tag` of a message never changes: during an upgrade, a worker starts processes that have newer code than itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import msgspec
from msgspec import Struct

from holdfast.core.jobs.requests import Claimed
from holdfast.core.jobs.settle import Outcome
from holdfast.core.messages.events import Emitted
from holdfast.core.messages.jobs import Predecessor
from holdfast.core.messages.watches import ChangedFiles
from holdfast.decoding import new_decoder
from holdfast.tasks.isolation import TaskPlace
from holdfast.tasks.raising import StopReason
from holdfast.workers.process.launching import PipeEnd
from holdfast.workers.process.watching import WakePipe


class Start(Struct, frozen=True, tag=True):
    """The first message to the process: what to run, and where things are."""

    claimed: Claimed
    place: TaskPlace
    files: str
    path: list[str]


class Stop(Struct, frozen=True, tag=True):
    """The run is asked to stop."""

    reason: StopReason


class CheckpointKept(Struct, frozen=True, tag="Kept"):
    """A checkpoint is durable. With `code` and `error` it is not."""

    number: int
    code: str | None = None
    error: str | None = None


class PredecessorsTold(Struct, frozen=True, tag="Told"):
    """The jobs that the job came after."""

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
    """A checkpoint to keep; answered with `CheckpointKept`."""

    number: int
    data: str


class PredecessorsAsked(Struct, frozen=True, tag="Asked"):
    """Which jobs did the job come after? Answered with `PredecessorsTold`, or with `CheckpointKept` and an error."""

    number: int


class LookedUp(Struct, frozen=True, tag=True):
    """Which files is the job about? Answered with `Found`, or with `CheckpointKept` and an error."""

    number: int


class Happened(Struct, frozen=True, tag=True, omit_defaults=True):
    """An event to store; answered with `Stored`, or with `CheckpointKept` and an error."""

    number: int
    name: str
    attributes: dict[str, str]
    data: str = "null"  # JSON


class LineSaid(Struct, frozen=True, tag="Said"):
    """A line for the log."""

    level: int
    text: str


class TaskEnded(Struct, frozen=True, tag="Ended"):
    """The last message of the process: how the task ended."""

    outcome: Outcome
    traceback: str | None = None


ToChild: TypeAlias = Start | Stop | CheckpointKept | PredecessorsTold | Found | Stored
FromChild: TypeAlias = Noted | Saved | PredecessorsAsked | LookedUp | Happened | LineSaid | TaskEnded

to_child = new_decoder(ToChild)
from_child = new_decoder(FromChild)


class MessageReader:
    """Puts the pieces together that come from a pipe, and calls `receive` with each message."""

    def __init__(self, receive: Callable[[FromChild], None]) -> None:
        self._receive = receive
        self._rest = bytearray()

    def feed(self, data: bytes) -> None:
        """Take in the next piece. A line that is no message is left out: only our own code writes here."""
        self._rest += data
        *lines, rest = self._rest.split(b"\n") if b"\n" in data else [self._rest]
        self._rest = rest
        for line in lines:
            with suppress(msgspec.DecodeError):
                self._receive(from_child.decode(line))


class MessageWriter:
    """Sends messages to a process that may be slow to read. Call `send` from any thread, and `flush` from one."""

    def __init__(self, end: PipeEnd, wake_up: WakePipe) -> None:
        os.set_blocking(end.fileno(), False)
        self._end = end
        self._wake_up = wake_up
        self._lock = threading.Lock()
        self._waiting = b""

    def send(self, message: ToChild) -> None:
        """Have the thread that calls `flush` send this."""
        with self._lock:
            self._waiting += msgspec.json.encode(message) + b"\n"
        self._wake_up.wake()

    def flush(self) -> bool:
        """Send what can be sent now, and say whether something is left."""
        with self._lock:
            try:
                while self._waiting:
                    self._waiting = self._waiting[os.write(self._end.fileno(), self._waiting) :]
            except BlockingIOError:
                return True
            except OSError:
                # The process reads no more.
                self._waiting = b""
            return False
