"""How many jobs each figure takes, and the file in which a worker notes when each of them ran."""

from __future__ import annotations

import itertools
import mmap
import time

BATCH = 100
SINGLES = 300
PICKUPS = 100
WARM_PICKUPS = 10
WARM_JOBS = 200
SLOTS_BESIDE_JOBS = 1 + WARM_JOBS + WARM_PICKUPS + PICKUPS
WAIT_SECONDS = 120
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
        limit = time.monotonic() + WAIT_SECONDS
        while not self._times[slot] or not all(self._times[1 : slot + 1]):
            if time.monotonic() > limit:
                done = sum(map(bool, self._times[1 : slot + 1]))
                raise TimeoutError(f"only {done} of {slot} jobs ran within {WAIT_SECONDS} s")
            time.sleep(LOOK_SECONDS)
        return self._times[slot]
