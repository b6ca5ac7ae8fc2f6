"""What every contestant's driver does, in the same way; it must import nothing beyond the standard library.

A driver runs as `python -m bench.peers.contestants.<name> ROLE JOBS` in the environment of its library. It finds its
store in PEER_STORE and a file of marks in PEER_MARKS: one time for the moment the worker is ready, then one for every
job that ran. Results are lines of JSON on standard output.

| role  | what happens                                                                                  |
|-------|-----------------------------------------------------------------------------------------------|
| work  | one worker process, until it is told to end                                                   |
| drain | fills the queue, says `{"filled": true}`, waits until a worker has done all, says how long    |
| mixed | with a worker that runs: enqueues in batches until all are done; then one by one, with pauses |
"""

from __future__ import annotations

import itertools
import json
import mmap
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

BATCH = 100
SINGLES = 300
PICKUPS = 150
WARM_PICKUPS = 10
WARM_JOBS = 200
SLOTS_BESIDE_JOBS = 1 + WARM_JOBS + WARM_PICKUPS + PICKUPS
DRAIN_SECONDS = 120
LOOK_SECONDS = 0.0005


class Marks:
    """Times that the worker writes and the other processes read, through a file they share."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self._times = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
        self._slot = itertools.count(1)

    @staticmethod
    def create(path: str, jobs: int) -> None:
        """An empty file with a slot for each job of a run."""
        with open(path, "wb") as file:
            file.truncate((jobs + SLOTS_BESIDE_JOBS) * 8)

    def ready(self) -> None:
        """The worker starts to look for jobs."""
        self._times[0] = time.monotonic_ns()

    def job(self) -> None:
        """One job ran; the whole body of every contestant's no-op."""
        self._times[next(self._slot)] = time.monotonic_ns()

    def ready_at(self) -> int:
        """When the worker was ready; 0 if it is not yet."""
        return self._times[0]

    def wait(self, slot: int) -> int:
        """When the job of this slot ran, and every one before it."""
        limit = time.monotonic() + DRAIN_SECONDS
        while not self._times[slot] or not all(self._times[1 : slot + 1]):
            if time.monotonic() > limit:
                done = sum(map(bool, self._times[1 : slot + 1]))
                raise TimeoutError(f"only {done} of {slot} jobs ran within {DRAIN_SECONDS} s")
            time.sleep(LOOK_SECONDS)
        return self._times[slot]


@dataclass
class Contestant:
    """What a driver brings: how its library is told to do things."""

    work: Callable[[], None]
    """One worker, for ever; calls `marks.ready()` when it begins to look for jobs."""
    enqueue: Callable[[], object]
    """One job, acknowledged."""
    enqueue_many: Callable[[int], object] | None = None
    """Many in one call; None if the library has no such call."""
    unfinished: Callable[[], int] = lambda: 0
    """How many the store does not know to have ended, for libraries whose store knows such a thing."""


marks = Marks(os.environ["PEER_MARKS"])
store = os.environ["PEER_STORE"]


def play(contestant: Contestant) -> None:
    """Do what the words of the command line ask for."""
    role, jobs = sys.argv[1], int(sys.argv[2])
    match role:
        case "work":
            contestant.work()
        case "drain":
            _drain(contestant, jobs)
        case "mixed":
            _mixed(contestant, jobs)
        case _:
            raise SystemExit(f"there is no role {role!r}; choose from work, drain, mixed")


def _drain(contestant: Contestant, jobs: int) -> None:
    enqueues = []
    for _ in range(SINGLES):
        start = time.perf_counter()
        contestant.enqueue()
        enqueues.append(time.perf_counter() - start)
    _enqueue_many(contestant, jobs - SINGLES)
    print(json.dumps({"filled": True}), flush=True)
    end = _done(contestant, jobs)
    print(json.dumps({"drain": (end - marks.ready_at()) / 1e9, "enqueues": enqueues}), flush=True)


def _mixed(contestant: Contestant, jobs: int) -> None:
    _enqueue_many(contestant, WARM_JOBS)
    _done(contestant, WARM_JOBS)
    start = time.monotonic_ns()
    _enqueue_many(contestant, jobs)
    end = _done(contestant, WARM_JOBS + jobs)
    pickups = [_pickup(contestant, WARM_JOBS + jobs + n) for n in range(1, WARM_PICKUPS + PICKUPS + 1)]
    print(json.dumps({"mixed": (end - start) / 1e9, "pickups": pickups[WARM_PICKUPS:]}), flush=True)


def _pickup(contestant: Contestant, slot: int) -> float:
    # Without chance in it, a worker that polls could always or never look at just the right moment.
    time.sleep(random.uniform(0.01, 0.03))
    start = time.monotonic_ns()
    contestant.enqueue()
    return (marks.wait(slot) - start) / 1e9


def _enqueue_many(contestant: Contestant, count: int) -> None:
    if contestant.enqueue_many is None:
        for _ in range(count):
            contestant.enqueue()
        return
    for start in range(0, count, BATCH):
        contestant.enqueue_many(min(BATCH, count - start))


def _done(contestant: Contestant, jobs: int) -> int:
    """When the last of the jobs ran, or the store knew that it had ended."""
    end = marks.wait(jobs)
    if contestant.unfinished():
        while contestant.unfinished():
            time.sleep(LOOK_SECONDS)
        end = time.monotonic_ns()
    return end
