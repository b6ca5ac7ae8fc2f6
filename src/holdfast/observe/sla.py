"""Whether the promised latencies are kept, over a sliding window. A breach is told.

Pure calculation: the time is an argument, and what should be said is returned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import StrEnum
from math import ceil

from msgspec import Struct

WINDOW_S = 300.0
MOST_SAMPLES = 2_000
SAY_AGAIN_S = 300.0


class Measure(StrEnum):
    """Which figure of the window must stay below the limit."""

    P95 = "p95"
    MEAN = "average"


class Latency(StrEnum):
    """What is promised to be fast."""

    ENQUEUE = "enqueue"
    LOOK = "look"
    POP = "pop"
    QUEUE_TO_RUN = "queue_to_run"
    EVENT_TO_JOB = "event_to_job"


class Promise(Struct, frozen=True):
    """What a figure may be at most, in milliseconds. With fewer than `fewest` samples it is not judged."""

    name: str
    limit_ms: float
    measure: Measure = Measure.P95
    fewest: int = 20


PROMISES = (
    Promise(Latency.ENQUEUE, 10.0),
    Promise(Latency.LOOK, 20.0),
    Promise(Latency.POP, 20.0),
    # So few that the canaries of an idle system are enough.
    Promise(Latency.QUEUE_TO_RUN, 200.0, Measure.MEAN, fewest=3),
    Promise(Latency.EVENT_TO_JOB, 1_000.0, Measure.MEAN, fewest=3),
)


class PromiseVerdict(Struct, frozen=True):
    """Whether a promise is kept. `say`: people should be told now, because it has changed or has lasted."""

    promise: Promise
    value_ms: float
    samples: int
    is_broken: bool
    say: bool


class Window:
    """The latest samples of one figure, none older than the window."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._samples: deque[tuple[float, float]] = deque(maxlen=most)

    def add(self, value: float, now: float) -> None:
        """Add a sample. If there are too many, the oldest is dropped."""
        self._samples.append((now, value))

    def values(self, now: float) -> list[float]:
        """The samples that count."""
        while self._samples and self._samples[0][0] <= now - self._seconds:
            self._samples.popleft()
        return [value for _, value in self._samples]


class Sla:
    """Keeps the samples of every promise and judges them."""

    def __init__(
        self,
        promises: Iterable[Promise] = PROMISES,
        *,
        window: float = WINDOW_S,
        say_again: float = SAY_AGAIN_S,
    ) -> None:
        self._promises = {promise.name: promise for promise in promises}
        self._windows = {name: Window(window, MOST_SAMPLES) for name in self._promises}
        self._say_again = say_again
        self._said_at: dict[str, float] = {}

    def sample(self, name: str, value_ms: float, now: float) -> None:
        """Add a sample. Figures without a promise are ignored."""
        window = self._windows.get(name)
        if window is not None:
            window.add(value_ms, now)

    def judge(self, now: float) -> list[PromiseVerdict]:
        """The verdict of every promise that has enough samples."""
        verdicts = []
        for name, promise in self._promises.items():
            values = self._windows[name].values(now)
            if len(values) >= promise.fewest:
                verdicts.append(self._verdict(promise, values, now))
            elif not values:
                # There are too few samples, so the next breach is told again.
                self._said_at.pop(name, None)
        return verdicts

    def _verdict(self, promise: Promise, values: list[float], now: float) -> PromiseVerdict:
        value = figure(promise.measure, values)
        is_broken = value > promise.limit_ms
        said_at = self._said_at.get(promise.name)
        if is_broken:
            say = said_at is None or now - said_at >= self._say_again
            if say:
                self._said_at[promise.name] = now
        else:
            say = self._said_at.pop(promise.name, None) is not None
        return PromiseVerdict(promise, value, len(values), is_broken, say)


def figure(measure: Measure, values: list[float]) -> float:
    """The 95th percentile (the smallest value that 95 % do not exceed), or the average."""
    if measure is Measure.MEAN:
        return sum(values) / len(values)
    return sorted(values)[ceil(len(values) * 0.95) - 1]
