"""The gates of a queue: how many jobs it may start now, or why none.

Each gate is one function, and the only place where it is decided. It gives slots or a reason. The claim takes the
slots; `why` prints the reason, in the words of `core/gates/gates.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import TypeAlias

from msgspec import Struct

from holdfast.core.gates.breaker import BreakerState, state_at
from holdfast.core.gates.pressure import MachineLimits, is_held, is_paced, is_spared
from holdfast.core.gates.queue import QueueClass
from holdfast.core.job import Millis
from holdfast.core.values.rate import Rate, Starts, free_starts

NO_LIMIT = sys.maxsize


class HoldReason(Enum):
    """Why a queue starts nothing."""

    PAUSED = auto()
    RESERVED = auto()
    BREAKER_OPEN = auto()
    PROBE_RUNNING = auto()
    CONCURRENCY_REACHED = auto()
    RATE_REACHED = auto()
    MACHINE_RESTS = auto()
    PULLS_LATER = auto()


class QueueState(Struct, frozen=True, gc=False):
    """What is stored about a queue: its settings, its breaker, its reservation, and how many of its jobs run.

    `opens_at` is when its rate opens, as its workers were told.
    """

    paused_at: Millis | None = None
    concurrency: int | None = None
    rate_limit: int | None = None
    rate_window_ms: Millis | None = None
    opens_at: Millis | None = None
    opened_at: Millis | None = None
    half_opens_at: Millis | None = None
    running: int = 0
    reservation: str | None = None
    is_probing: int | None = None

    @property
    def rate(self) -> Rate | None:
        """How many jobs it may start within how much time. None: no limit."""
        if self.rate_limit is None or self.rate_window_ms is None:
            return None
        return Rate(self.rate_limit, self.rate_window_ms)


class QueueFacts(Struct, frozen=True, gc=False):
    """All that the gates of a queue look at.

    `starts` matters if the queue has a rate. `machine` is that of the worker that asks. `queue_class` matters if that
    machine is under pressure.
    """

    name: str
    state: QueueState = QueueState()
    starts: Starts = Starts()
    queue_class: QueueClass = QueueClass.NORMAL
    machine: MachineLimits = MachineLimits()

    @property
    def pull_wait_ms(self) -> Millis:
        """How long the worker waits after it has started a job of this queue."""
        wait = self.machine.pull_interval_ms
        return 0 if not wait or is_spared(self.name, self.queue_class) else wait


QueueGate: TypeAlias = Callable[[QueueFacts, Millis], int | HoldReason]


def pause(queue: QueueFacts, now: Millis) -> int | HoldReason:
    """A paused queue starts nothing."""
    return NO_LIMIT if queue.state.paused_at is None else HoldReason.PAUSED


def reservation(queue: QueueFacts, now: Millis) -> int | HoldReason:
    """A reserved queue starts nothing."""
    return NO_LIMIT if queue.state.reservation is None else HoldReason.RESERVED


def breaker(queue: QueueFacts, now: Millis) -> int | HoldReason:
    """A queue whose breaker is open starts nothing. After a while one job may start, to probe the machine."""
    state = queue.state
    if state.opened_at is None:
        return NO_LIMIT
    if state_at(state.opened_at, state.half_opens_at, now) is not BreakerState.HALF_OPEN:
        return HoldReason.BREAKER_OPEN
    return HoldReason.PROBE_RUNNING if state.is_probing else 1


def concurrency(queue: QueueFacts, now: Millis) -> int | HoldReason:
    """A queue may run so many jobs at once, over all workers."""
    if queue.state.concurrency is None:
        return NO_LIMIT
    free = queue.state.concurrency - queue.state.running
    return free if free > 0 else HoldReason.CONCURRENCY_REACHED


def rate(queue: QueueFacts, now: Millis) -> int | HoldReason:
    """A queue may start so many jobs in a time, over all workers."""
    limit = queue.state.rate
    return NO_LIMIT if limit is None else free_starts(limit, queue.starts) or HoldReason.RATE_REACHED


def pressure(queue: QueueFacts, now: Millis) -> int | HoldReason:
    """A machine under pressure starts nothing of some queues, and less often of others."""
    machine = queue.machine
    if is_held(machine.holds, queue.name, queue.queue_class):
        return HoldReason.MACHINE_RESTS
    if is_paced(machine.pull_interval_ms, machine.pulls_at, now) and queue.pull_wait_ms:
        return HoldReason.PULLS_LATER
    return NO_LIMIT


QUEUE_GATES: Mapping[str, QueueGate] = {
    "machine pressure": pressure,
    "reservation": reservation,
    "queue paused": pause,
    "breaker": breaker,
    "queue concurrency": concurrency,
    "rate limit": rate,
}

# These hold a queue back even if nothing of it runs. They look at its state alone.
SHUTTING: tuple[QueueGate, ...] = (pause, reservation, breaker)
# These look at its state alone.
OF_STATE: tuple[QueueGate, ...] = (*SHUTTING, concurrency)


def free_slots(gates: Iterable[QueueGate], queue: QueueFacts, now: Millis) -> int:
    """The fewest slots that one of these gates gives. 0 if one gives a reason."""
    least = NO_LIMIT
    for gate in gates:
        slots = gate(queue, now)
        if isinstance(slots, HoldReason):
            return 0
        least = min(least, slots)
    return least
