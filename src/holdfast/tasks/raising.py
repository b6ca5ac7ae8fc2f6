"""What a task may raise, and what that means for its run."""

from __future__ import annotations

import asyncio
import errno
import traceback
from enum import StrEnum
from typing import ClassVar

from holdfast.core.errors import InvalidPayload, StoreError
from holdfast.core.jobs.settle import (
    Broke,
    Outcome,
    Outdated,
    Overdue,
    Skipped,
    Snoozed,
    StoppedByCancel,
    Yielded,
)
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION
from holdfast.core.values.retry import Failure, FailureKind

LONGEST_MESSAGE = 2_000
LONGEST_CODE = 200
LONGEST_TRACEBACK = 50_000


class TaskError(Exception):
    """The root of what a task raises to say what kind of failure it met. `code` is stable and greppable."""

    kind: ClassVar[FailureKind]
    default_code: ClassVar[str]

    def __init__(self, message: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code or self.default_code


class Transient(TaskError):
    """It may work next time: retry as the policy says. Any exception that is not listed otherwise means the same.

    `wait` is how long the other side asked to wait, in seconds, as a timedelta or as a text such as "5min". A retry
    comes no sooner.

    >>> raise Transient("the index is being rebuilt", code="ERR_INDEX_BUSY")
    Traceback (most recent call last):
    holdfast.tasks.raising.Transient: the index is being rebuilt
    """

    kind = FailureKind.TRANSIENT
    default_code = "ERR_TRANSIENT"

    def __init__(self, message: str = "", *, code: str | None = None, wait: Duration = 0) -> None:
        super().__init__(message, code=code)
        self.wait_ms = DURATION.millis("wait", wait)


class Permanent(TaskError):
    """It will never work: fail at once, without a retry.

    >>> raise Permanent("there is no such repository")
    Traceback (most recent call last):
    holdfast.tasks.raising.Permanent: there is no such repository
    """

    kind = FailureKind.PERMANENT
    default_code = "ERR_PERMANENT"


class Infra(TaskError):
    """The machine is to blame: retry on the budget for such failures, not on the job's own.

    >>> raise Infra("the GPU fell off the bus")
    Traceback (most recent call last):
    holdfast.tasks.raising.Infra: the GPU fell off the bus
    """

    kind = FailureKind.INFRA
    default_code = "ERR_INFRA"


class Snooze(Exception):
    """Run me again after a delay (seconds, a timedelta or a text such as "5min"), at no charge.

    >>> raise Snooze(30)
    Traceback (most recent call last):
    holdfast.tasks.raising.Snooze: 30 s
    """

    def __init__(self, delay: Duration) -> None:
        self.delay_ms = DURATION.millis("delay", delay)
        super().__init__(f"{self.delay_ms / 1000:g} s")


class Skip(Exception):
    """There is nothing to do: the job is done without having done anything.

    >>> raise Skip("the file is unchanged")
    Traceback (most recent call last):
    holdfast.tasks.raising.Skip: the file is unchanged
    """

    def __init__(self, reason: str = "nothing to do") -> None:
        super().__init__(reason)


class Stopped(BaseException):
    """Raised by `ctx.check()` in a run that was asked to stop. No Exception, so that `except Exception` lets it by."""


class StopReason(StrEnum):
    """Why a run is asked to stop."""

    CANCEL = "cancel"
    SUPERSEDED = "superseded"
    DEADLINE = "deadline"
    TIMEOUT = "timeout"
    SHUTDOWN = "shutdown"
    # The machine is under pressure. A run that ignores it may go on.
    YIELD = "yield"

    @property
    def is_wish(self) -> bool:
        """Whether the run may go on all the same."""
        return self is StopReason.YIELD


_RANKS = {StopReason.YIELD: 0, StopReason.SHUTDOWN: 1}


def outranks(reason: StopReason, earlier: StopReason | None) -> bool:
    """Whether a reason replaces an earlier one. What a person asked for is above the machine, and that above a wish."""
    return earlier is None or _RANKS.get(reason, 2) > _RANKS.get(earlier, 2)


def must_stop(reason: StopReason | None) -> bool:
    """Whether a run with this reason is ended, and not only told."""
    return reason is not None and not reason.is_wish


def stopped(reason: StopReason) -> Outcome:
    """The outcome of a run that stopped because it was asked to."""
    match reason:
        case StopReason.CANCEL:
            return StoppedByCancel()
        case StopReason.SUPERSEDED:
            return Outdated()
        case StopReason.DEADLINE:
            return Overdue()
        case StopReason.TIMEOUT:
            return Broke(Failure(FailureKind.TRANSIENT, "ERR_TIMEOUT", "it took longer than its time-out"))
        case StopReason.SHUTDOWN:
            return Yielded("its process was stopped in order")
        case StopReason.YIELD:
            return Yielded("it made room for the machine")


def ended_by(
    error: BaseException, reason: StopReason | None, permanent: tuple[type[BaseException], ...]
) -> tuple[Outcome, str | None]:
    """The outcome of a run that ended with an exception, and its traceback. `reason`: why it was asked to stop."""
    if reason is not None and isinstance(error, asyncio.CancelledError | GeneratorExit | Stopped):
        return stopped(reason), None
    if isinstance(error, asyncio.CancelledError | Stopped):
        return Broke(Failure(FailureKind.TRANSIENT, "ERR_STOPPED_ITSELF", "it cancelled itself")), None
    outcome = raised(error, permanent)
    return outcome, traceback_of(error) if isinstance(outcome, Broke) else None


def raised(error: BaseException, permanent: tuple[type[BaseException], ...]) -> Outcome:
    """The outcome of a run that raised."""
    match error:
        case Snooze():
            return Snoozed(error.delay_ms)
        case Skip():
            return Skipped(_message(error))
        case TaskError():
            return Broke(Failure(error.kind, _code(error.code), _message(error), getattr(error, "wait_ms", 0)))
        case _:
            return Broke(Failure(_kind(error, permanent), _code(type(error).__qualname__), _message(error)))


def _kind(error: BaseException, permanent: tuple[type[BaseException], ...]) -> FailureKind:
    if isinstance(error, (InvalidPayload, *permanent)):
        return FailureKind.PERMANENT
    out_of_room = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if out_of_room or isinstance(error, MemoryError | StoreError):
        return FailureKind.INFRA
    return FailureKind.TRANSIENT


def _code(given: object) -> str:
    """A code as one line that can be searched for."""
    return "".join(char if char.isprintable() else " " for char in storable(str(given)))[:LONGEST_CODE]


def _message(error: BaseException) -> str:
    try:
        text = storable(str(error))
    except Exception:
        text = "its message cannot be read"
    return text[:LONGEST_MESSAGE] or type(error).__qualname__


def traceback_of(error: BaseException) -> str:
    """The traceback as it is stored with the run. If it is long, its end, which says most."""
    return storable("".join(traceback.format_exception(error)))[-LONGEST_TRACEBACK:]


def storable(text: str) -> str:
    """Any text of a task, made so that both databases can store it."""
    return text.replace("\x00", "\\0").encode("utf-8", "backslashreplace").decode()
