"""The breakers of queues: how ended runs open and close them, what is told of that, and which job probes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from holdfast.core.gates.breaker import (
    CLOCKS_DIFFER,
    FORGOTTEN_MS,
    Breaker,
    BreakerPolicy,
    BreakerState,
    Sign,
    after_end,
    has_opened,
    sign_of,
)
from holdfast.core.job import JobId, Millis
from holdfast.core.jobs import requests
from holdfast.core.jobs.requests import Report
from holdfast.core.jobs.settle import Broke
from holdfast.core.values.event import ALERT
from holdfast.core.values.retry import Failure
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import publish
from holdfast.store.scripts.telling.wake_ups import wake_held_back
from holdfast.store.statements import sql
from holdfast.store.topics import DUE

LONGEST = 1_000


class BreakerRow(Struct, frozen=True):
    """A row of `queue_breakers`, beside the name of the queue."""

    failures: int
    failed_at: Millis
    reason: str
    opened_at: Millis | None
    half_opens_at: Millis | None
    is_half_open: int
    probe: JobId | None

    def to_breaker(self) -> Breaker:
        """The breaker that this row describes."""
        values = {field: getattr(self, field) for field in self.__struct_fields__}
        return Breaker(**values | {"is_half_open": bool(self.is_half_open)})


class EndedJob(Struct, frozen=True):
    """What an alert says about a job."""

    queue: str
    number: int
    task: str


class Ending(Struct, frozen=True):
    """What the end of a run says about the machine. A worker that dies with several runs is one for each queue.

    `job_id` is the job that ended or, of several, the one that probes. `about` is what an alert says besides.
    """

    queue: str
    job_id: JobId | None
    sign: Sign
    failure: Failure | None = None
    about: dict[str, str] = {}


def find_breaker(tx: Tx, queue: str) -> Breaker | None:
    """The breaker of a queue. None: it is closed, without failures."""
    found = tx.one(sql.breaker_of_queue, BreakerRow, queue=queue)
    return None if found is None else found.to_breaker()


def open_breakers(tx: Tx) -> dict[str, Breaker]:
    """The breakers that are open or half-open, by queue."""
    rows = tx.rows(sql.list_breakers)
    return {row.pop("queue"): BreakerRow(**row).to_breaker() for row in rows}


def note_endings(tx: Tx, endings: Iterable[Ending], now: Millis) -> None:
    """Count ended runs, and open or close the breakers of their queues. System queues have none."""
    for ending in endings:
        if not requests.is_system_queue(ending.queue):
            _note(tx, ending, now)


def note_reports(tx: Tx, ended: Sequence[tuple[Report, JobId]], now: Millis) -> None:
    """The same for reports of workers. Without an infra failure, only jobs whose queues count failures are read."""
    told = [(report, job_id, sign_of(report.outcome)) for report, job_id in ended]
    if all(sign is not Sign.INFRA for _, _, sign in told):
        counted = _counted(tx, [job_id for _, job_id in ended])
        told = [item for item in told if item[1] in counted]
    for report, job_id, sign in told:
        job = tx.one(sql.ended_job, EndedJob, job_id=job_id)
        assert job is not None
        failure = report.outcome.failure if isinstance(report.outcome, Broke) else None
        about = {"job_id": job_id, "number": str(job.number), "task": job.task, "run_id": report.run_id}
        note_endings(tx, [Ending(job.queue, job_id, sign, failure, about)], now)


def _counted(tx: Tx, job_ids: Sequence[JobId]) -> set[JobId]:
    """The jobs whose queues count failures."""
    if not tx.value(sql.any_breaker):
        return set()
    ids = msgspec.json.encode(job_ids).decode()
    return {row["id"] for row in tx.rows(sql.jobs_with_breaker, ids=ids)}


def note_probe(tx: Tx, queue: str, job_id: JobId, now: Millis) -> None:
    """Note that this job was started to see whether the machine works again."""
    before = find_breaker(tx, queue)
    tx.run(sql.set_probe, queue=queue, job_id=job_id)
    if before is not None and not before.is_half_open:
        _tell(tx, queue, BreakerState.HALF_OPEN, before, now)


def half_open(tx: Tx, now: Millis) -> int:
    """Let breakers that were open for long enough start one job. Return how many there were."""
    rows = tx.rows(sql.half_open_breakers, now=now, ahead=now + CLOCKS_DIFFER)
    for queue in sorted(row["queue"] for row in rows):
        tx.changes.ready.add(queue)
        _tell(tx, queue, BreakerState.HALF_OPEN, find_breaker(tx, queue), now)
    return len(rows)


def close_breaker(tx: Tx, queue: str, now: Millis) -> None:
    """Close the breaker of a queue by hand."""
    before = find_breaker(tx, queue)
    tx.run(sql.delete_breaker, queue=queue)
    if has_opened(before):
        _tell(tx, queue, BreakerState.CLOSED, before, now)


def _note(tx: Tx, ending: Ending, now: Millis) -> None:
    queue, said = ending.queue, ""
    if ending.sign is Sign.INFRA and ending.failure is not None:
        said = f"{ending.failure.code}: {ending.failure.message}"[:LONGEST]
        tx.tally.count_infra(queue)
        known = {"queue": queue, "code": ending.failure.code, "message": ending.failure.message[:LONGEST]}
        publish(tx, f"{ALERT}infra", known | ending.about, now)
    before = find_breaker(tx, queue)
    policy = tx.one(sql.breaker_policy, BreakerPolicy, queue=queue) or BreakerPolicy()
    after = after_end(policy, before, ending.sign, ending.job_id, said, now)
    if after == before:
        if before is not None and before.probe == ending.job_id and before.probe is not None:
            tx.changes.ready.add(queue)  # The probe was stopped before it showed anything, so another job may probe.
        return
    if after is None:
        tx.run(sql.delete_breaker, queue=queue)
    else:
        tx.run(sql.forget_breakers, before=now - FORGOTTEN_MS)
        row = {field: getattr(after, field) for field in after.__struct_fields__}
        tx.run(sql.put_breaker, queue=queue, **row | {"is_half_open": int(after.is_half_open)})
    if has_opened(after):
        tx.changes.topics.add(DUE)
        wake_held_back(tx)
        _tell(tx, queue, BreakerState.OPEN, after, now)
    elif has_opened(before):
        tx.changes.ready.add(queue)
        _tell(tx, queue, BreakerState.CLOSED, before, now)


def _tell(tx: Tx, queue: str, state: BreakerState, breaker: Breaker | None, now: Millis) -> None:
    assert breaker is not None
    about = {"queue": queue, "state": state.value, "failures": str(breaker.failures), "reason": breaker.reason}
    publish(tx, f"{ALERT}breaker", about, now)
    tx.tally.warn(f"breaker_{state.replace('-', '_')}", _says(queue, state, breaker, now), queue=queue)


def _says(queue: str, state: BreakerState, breaker: Breaker, now: Millis) -> str:
    match state:
        case BreakerState.OPEN:
            span = f"{((breaker.half_opens_at or now) - now) / 1_000:g} s"
            row = f"infra failures in a row: {breaker.failures}, the last one {breaker.reason}"
            return f"nothing of queue {queue!r} starts for {span}: {row}"
        case BreakerState.HALF_OPEN:
            return f"one job of queue {queue!r} may start, to see whether the machine works again"
        case BreakerState.CLOSED:
            return f"queue {queue!r} is not held back any more"
