"""The log lines about jobs. Scripts report them, and they are written after the commit."""

from __future__ import annotations

import logging

from msgspec import Struct

from holdfast.core.gates.queue import SHED_CODE
from holdfast.core.job import JobId, Millis, StateName
from holdfast.core.jobs.requests import Claimed, NewJob
from holdfast.store.engine import Tx
from holdfast.store.rows import OwnedRow

_ENDINGS = {
    StateName.DONE: (logging.DEBUG, "job_done"),
    StateName.FAILED: (logging.INFO, "job_failed"),
    StateName.CANCELLED: (logging.INFO, "job_cancelled"),
    StateName.SUPERSEDED: (logging.INFO, "job_superseded"),
    StateName.SKIPPED_TTL: (logging.INFO, "job_skipped"),
    StateName.SKIPPED_DEADLINE: (logging.INFO, "job_skipped"),
}


class JobEnd(Struct, frozen=True, gc=False):
    """A job that has ended, with what is told of it. `newer` is the generation that superseded its own.

    A job that was `left_out` counts as done for the next members of its group.
    """

    job_id: JobId
    state: StateName
    queue: str
    trace_id: str | None = None
    reason: str | None = None
    error_code: str | None = None
    generation: int | None = None
    newer: int | None = None
    left_out: bool = False


def say_enqueued(tx: Tx, job: NewJob, state: StateName) -> None:
    """A job was stored."""
    if tx.tally.hears(logging.DEBUG):
        queue, _, _ = job.line
        tx.tally.say(
            logging.DEBUG,
            "job_enqueued",
            f"job {job.id} was enqueued",
            job_id=job.id,
            task=job.task,
            queue=queue,
            state=state,
            trace_id=job.trace_id,
        )


def say_claimed(tx: Tx, claimed: list[Claimed], worker_id: str | None) -> None:
    """Jobs were handed to a worker."""
    for run in claimed if tx.tally.hears(logging.DEBUG) else ():
        tx.tally.say(
            logging.DEBUG,
            "job_claimed",
            f"job {run.job_id} was claimed",
            job_id=run.job_id,
            run_id=run.run_id,
            queue=run.queue,
            attempt=run.attempt,
            worker_id=worker_id,
            trace_id=run.trace_id,
        )


def note_ended(tx: Tx, ended: JobEnd) -> None:
    """Count and log the end of a job."""
    tx.tally.count_ended(ended.queue, ended.state)
    level, event = _ENDINGS[ended.state]
    if not tx.tally.hears(level):
        return
    if ended.error_code == SHED_CODE:
        event = "job_shed"
    about: dict[str, str | int | None] = {"job_id": ended.job_id, "queue": ended.queue, "trace_id": ended.trace_id}
    if ended.newer is not None:
        about |= {"old_gen": ended.generation, "new_gen": ended.newer}
    if ended.error_code is not None:
        about["code"] = ended.error_code
    said = f": {ended.reason}" if ended.reason else ""
    tx.tally.say(level, event, f"job {ended.job_id} ended as {ended.state}{said}", **about)


def say_sent_back(tx: Tx, job: OwnedRow, until: Millis | None, why: str | None) -> None:
    """A run has ended, and its job waits for another one."""
    if tx.tally.hears(logging.DEBUG):
        said = f": {why}" if why else ""
        about = {"job_id": job.job_id, "queue": job.queue, "trace_id": job.trace_id, "until": until}
        tx.tally.say(logging.DEBUG, "job_waits_again", f"job {job.job_id} waits again{said}", **about)


def say_expired(tx: Tx, reservation_id: str, scope: str, reserved_by: str) -> None:
    """A reservation has ended without being given back."""
    tx.tally.say(
        logging.INFO,
        "reservation_expired",
        f"the reservation of {scope} by {reserved_by} has expired",
        reservation_id=reservation_id,
        scope=scope,
    )
