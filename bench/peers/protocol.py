"""What every contestant's driver does, in the same way; it must import nothing beyond the standard library.

A driver runs as `python -m bench.peers.contestants.<name> ROLE JOBS` in the environment of its library. It finds its
store in PEER_STORE and a file of marks in PEER_MARKS: one time for the moment the worker is ready, then one for every
job that ran. Results are lines of JSON on standard output.

| role    | what happens                                                                                  |
|---------|-----------------------------------------------------------------------------------------------|
| prepare | makes tables in an empty store, where the library wants that                                  |
| work    | one worker process, until it is told to end                                                   |
| drain   | fills the queue, says `{"filled": true}`, waits until a worker has done all, says how long    |
| mixed   | with a worker that runs: enqueues in batches until all are done; then one by one, with pauses |
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.peers.marks import BATCH, LOOK_SECONDS, PICKUPS, SINGLES, WARM_JOBS, WARM_PICKUPS, Marks


@dataclass
class Caller:
    """How a program that enqueues talks to its library."""

    enqueue: Callable[[], object]
    """One job, acknowledged."""
    enqueue_many: Callable[[int], object] | None = None
    """Many in one call; None if the library has no such call."""
    unfinished: Callable[[], int] = lambda: 0
    """How many the store does not know to have ended, for libraries whose store knows such a thing."""


marks = Marks(os.environ["PEER_MARKS"])
store = os.environ["PEER_STORE"]
variant = os.environ.get("PEER_VARIANT", "")


def play(
    work: Callable[[], object], caller: Callable[[], Caller], prepare: Callable[[], object] = lambda: None
) -> None:
    """Do what the words of the command line ask for; `work` calls `marks.ready()` when it begins to look for jobs."""
    role, jobs = sys.argv[1], int(sys.argv[2])
    match role:
        case "prepare":
            prepare()
        case "work":
            work()
        case "drain":
            _drain(caller(), jobs)
        case "mixed":
            _mixed(caller(), jobs)
        case _:
            raise SystemExit(f"there is no role {role!r}; choose from prepare, work, drain, mixed")


def _drain(caller: Caller, jobs: int) -> None:
    enqueues = []
    for _ in range(SINGLES):
        start = time.perf_counter()
        caller.enqueue()
        enqueues.append(time.perf_counter() - start)
    _enqueue_many(caller, jobs - SINGLES)
    print(json.dumps({"filled": True}), flush=True)
    end = _done(caller, jobs)
    print(json.dumps({"drain": (end - marks.ready_at()) / 1e9, "enqueues": enqueues}), flush=True)


def _mixed(caller: Caller, jobs: int) -> None:
    _enqueue_many(caller, WARM_JOBS)
    _done(caller, WARM_JOBS)
    start = time.monotonic_ns()
    _enqueue_many(caller, jobs)
    end = _done(caller, WARM_JOBS + jobs)
    pickups = [_pickup(caller, WARM_JOBS + jobs + n) for n in range(1, WARM_PICKUPS + PICKUPS + 1)]
    print(json.dumps({"mixed": (end - start) / 1e9, "pickups": pickups[WARM_PICKUPS:]}), flush=True)


def _pickup(caller: Caller, slot: int) -> float:
    # Without chance in it, a worker that polls could always or never look at just the right moment.
    time.sleep(random.uniform(0.01, 0.03))
    start = time.monotonic_ns()
    caller.enqueue()
    return (marks.wait(slot) - start) / 1e9


def _enqueue_many(caller: Caller, count: int) -> None:
    if caller.enqueue_many is None:
        for _ in range(count):
            caller.enqueue()
        return
    for start in range(0, count, BATCH):
        caller.enqueue_many(min(BATCH, count - start))


def _done(caller: Caller, jobs: int) -> int:
    """When the last of the jobs ran, or the store knew that it had ended."""
    end = marks.wait(jobs)
    if caller.unfinished():
        while caller.unfinished():
            time.sleep(LOOK_SECONDS)
        end = time.monotonic_ns()
    return end
