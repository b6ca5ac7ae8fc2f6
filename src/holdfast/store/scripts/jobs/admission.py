"""Refuse new jobs that there is no room for, before anything is committed.

A full queue refuses them, or ends waiting jobs of lower priority to make room. Retries, and the children of a running
job, are always taken. A machine whose disk or write-ahead log is full refuses all jobs but those of the system, some of
which make room.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from holdfast.core.errors import QueueFull, StoreBusy, StoreFull
from holdfast.core.gates.pressure import Pressure
from holdfast.core.gates.queue import SHED_CODE, Overflow, WaitingJob, make_room
from holdfast.core.job import WAITING, JobId, Millis, StateName
from holdfast.core.jobs import requests
from holdfast.core.jobs.requests import NewJob
from holdfast.core.rules.limits import MAX_INT
from holdfast.core.values.subject import DEFAULT_TENANT
from holdfast.decoding import decode
from holdfast.store.engine import Tx
from holdfast.store.scripts.jobs import endings
from holdfast.store.scripts.queues.queues import find_queue
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.statements import sql

LOOKED_BACK = 1_000
MOST_TENANTS = 10_000
SOONEST_S, LATEST_S = 1.0, 60.0
LOOK_S = 10.0  # so often a probe looks
NO_ROOM = {"disk": "the disk is nearly full", "wal": "the write-ahead log is too long"}


class Limit(Struct):
    """A queue with a maximum length: how many jobs waited before, and the priorities of the new ones.

    `upto` is the number of the newest job before them. New jobs do not make room for each other.
    """

    most: int
    overflow: Overflow
    before: int
    upto: int
    newcomers: list[int] = []


class Admission:
    """Counts the jobs that one transaction adds to queues with a maximum length, and decides at its end."""

    def __init__(self, tx: Tx, now: Millis, jobs: Sequence[NewJob]) -> None:
        self._tx = tx
        self._now = now
        self._jobs = jobs
        self._limits: dict[str, Limit] = {}
        self.only_plain = True  # whether no job so far can have ended another one

    def guard(self, queue: str, max_length: int, overflow: Overflow) -> None:
        """Count from now on: the queue has a maximum length."""
        upto: int = self._tx.value(sql.newest_number)
        self._limits[queue] = Limit(max_length, overflow, length_of(self._tx, queue), upto)

    @property
    def is_guarding(self) -> bool:
        """Whether jobs have to be counted."""
        return bool(self._limits)

    def refuse(self, job: NewJob, node: str) -> None:
        """Raise why a machine takes no new jobs, unless the job is one of the system."""
        queue, _, _ = job.line
        if not requests.is_system_queue(queue):
            raise no_room(self._tx, node)

    def count(self, job: NewJob) -> None:
        """A waiting job was added."""
        queue, _, priority = job.line
        limit = self._limits.get(queue)
        if limit is not None and job.parent_job_id is None:
            limit.newcomers.append(priority)
            if limit.overflow is Overflow.REJECT and self.only_plain:
                self._refuse_early(queue, limit)

    def close(self) -> None:
        """After the last job: make room, or raise QueueFull, which undoes the transaction."""
        for queue, limit in self._limits.items():
            after = length_of(self._tx, queue) if limit.newcomers else 0
            if after > max(limit.most, limit.before):
                self._make_room(queue, limit, after)

    def _refuse_early(self, queue: str, limit: Limit) -> None:
        """Refuse too many jobs before they are written."""
        if limit.before + len(limit.newcomers) > limit.most:
            # Jobs that are still to be added count too: if all never fit together, waiting for room does not help.
            plain = sum(job.line[0] == queue and job.is_plain and job.parent_job_id is None for job in self._jobs)
            newcomers = max(plain, len(limit.newcomers))
            raise refusal(self._tx, queue, limit.most, limit.before, newcomers, self._now)

    def _make_room(self, queue: str, limit: Limit, after: int) -> None:
        needed = min(after - limit.most, len(limit.newcomers))
        victims = None
        if limit.overflow is Overflow.SHED:
            found = candidates(self._tx, queue, max(limit.newcomers), needed, limit.upto)
            victims = make_room(limit.newcomers, found, needed)
        if victims is None:
            raise refusal(self._tx, queue, limit.most, limit.before, len(limit.newcomers), self._now)
        shed(self._tx, queue, victims, self._now)


def no_room(tx: Tx, node: str) -> StoreFull | StoreBusy:
    """The error that says which machine has no room, and why. `retry_after` is how often its probe looks."""
    row = tx.rows(sql.machine_of_node, node=node)[0]
    name = row["node"]
    presses = decode(row["pressure"], list[Pressure])
    says = next((one.says for one in presses if one.reading == row["refuses"]), NO_ROOM[row["refuses"]])
    if row["refuses"] == "disk":
        error: StoreFull | StoreBusy = StoreFull(
            f"on {name} {says}; nothing was enqueued. Free some space: new jobs are taken in again by themselves then"
        )
    else:
        error = StoreBusy(
            f"on {name} {says}; nothing was enqueued. New jobs are taken in again when it has shrunk: try again later"
        )
    error.retry_after = LOOK_S
    return error


def how_many_fit(tx: Tx, jobs: Sequence[NewJob], in_place_of: Sequence[JobId] = ()) -> int:
    """How many of these jobs their queue would take, once the jobs `in_place_of` have ended. All have one priority."""
    if not jobs:
        return 0
    name, _, priority = jobs[0].line
    queue = find_queue(tx, name)
    if queue.max_length is None:
        return len(jobs)
    others = (read_jobs.find_row(tx, job_id) for job_id in in_place_of)
    going = {job.id for job in others if job.queue == queue.name and job.state in WAITING}
    room = max(0, queue.max_length - length_of(tx, queue.name) + len(going))
    if room < len(jobs) and queue.overflow is Overflow.SHED:
        found = candidates(tx, queue.name, priority, len(jobs) - room + len(going))
        room += sum(job.id not in going for job in found)
    return min(room, len(jobs))


def length_of(tx: Tx, queue: str) -> int:
    """How many jobs of a queue wait."""
    return int(tx.value(sql.queue_length, queue=queue))


def candidates(tx: Tx, queue: str, below: int, needed: int, upto: int = MAX_INT) -> list[WaitingJob]:
    """The waiting jobs that would end first to make room for jobs of priority `below`. A job that has run stays."""
    tenants = [row["tenant"] for row in tx.rows(sql.first_tenants, queue=queue, limit=MOST_TENANTS)]
    names = msgspec.json.encode(sorted({DEFAULT_TENANT, *tenants})).decode()
    wanted = {"queue": queue, "below": below, "upto": upto, "limit": needed}
    ready = tx.all(sql.last_in_line, WaitingJob, tenants=names, **wanted)
    later = tx.all(sql.newest_scheduled, WaitingJob, depth=LOOKED_BACK, **wanted)
    return sorted([*ready, *later], key=lambda job: (job.priority, -job.number))[:needed]


def shed(tx: Tx, queue: str, victims: Sequence[WaitingJob], now: Millis) -> None:
    """End these waiting jobs to make room for others."""
    reason = f"queue {queue!r} was full; it made room for a job of higher priority"
    ends = [endings.end_unstarted(tx, job.id, StateName.CANCELLED, reason, SHED_CODE, now) for job in victims]
    gone = [ended for ended in ends if ended is not None]
    tx.tally.count_shed(queue, len(gone))
    endings.announce_ended(tx, gone, now)


def refusal(tx: Tx, queue: str, most: int, before: int, newcomers: int, now: Millis) -> QueueFull:
    """The error that says that the queue is full, and when to ask again."""
    come = "one more job" if newcomers == 1 else f"{newcomers} more jobs"
    said = f"queue {queue!r} is full: {before} jobs wait in it, its maximum is {most}, and {come} did not fit"
    if newcomers > most:
        # However empty it gets, they do not fit.
        fewer = " or enqueue fewer at once" if most else ""
        return QueueFull(f"{said}; nothing was enqueued. Waiting does not help: raise its maximum{fewer}")
    opens_at: Millis | None = tx.value(sql.queue_opening, queue=queue)
    wait = SOONEST_S if opens_at is None else (opens_at - now) / 1000
    return QueueFull(f"{said}; nothing was enqueued, try again later", min(max(wait, SOONEST_S), LATEST_S))
