"""The events of jobs and runs. They are made from rows that exist anyway, and stored only if something waits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.core.job import JobId, Millis, RunId
from holdfast.core.jobs import requests
from holdfast.core.jobs.run import RunStatus
from holdfast.core.values.event import ABOUT_JOB, ABOUT_RUN, ALERT
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.events.events import publish
from holdfast.store.statements import sql


def tell_ended(tx: Tx, job_ids: Iterable[JobId], now: Millis) -> None:
    """`job.done`, `job.failed` and so on, for jobs that have just ended."""
    if not tx.value(sql.any_job_pattern):
        return
    for job_id in job_ids:
        job = _told(tx, job_id)
        if job is not None:
            publish(tx, f"{ABOUT_JOB}{job.state.lower()}", _about(job), now)


def tell_runs(tx: Tx, runs: Sequence[tuple[JobId, RunId, RunStatus]], now: Millis) -> None:
    """`job.run.completed`, `job.run.failed` and so on, for runs that have just been closed."""
    if not runs or not tx.value(sql.any_job_pattern):
        return
    for job_id, run_id, status in runs:
        job = _told(tx, job_id)
        if job is not None:
            attributes = _about(job) | {"run_id": run_id, "status": status.lower()}
            publish(tx, f"{ABOUT_RUN}{status.lower()}", attributes, now)


def tell_parked(tx: Tx, job_ids: Iterable[JobId], now: Millis) -> None:
    """`alert.poison`, for jobs that have just been parked."""
    for job_id in job_ids:
        job = _told(tx, job_id)
        if job is not None:
            tx.tally.count_parked(job.queue)
            tx.tally.warn(
                "job_parked",
                f"job {job.number} is a poison pill; {job.reason}",
                job_id=job.id,
                queue=job.queue,
            )
            publish(tx, f"{ALERT}poison", _about(job), now)


def _told(tx: Tx, job_id: JobId) -> JobRow | None:
    """The job. None for a job of the system: its events would cause more of them."""
    job = tx.one(sql.job_by_id, JobRow, id=job_id)
    return None if job is None or requests.is_system_queue(job.queue) else job


def _about(job: JobRow) -> dict[str, str]:
    known = {
        "job_id": job.id,
        "number": str(job.number),
        "task": job.job_type,
        "queue": job.queue,
        "state": job.state,
        "attempt": str(job.attempts),
        "tag": job.user_tag,
        "subject": job.subject_key,
        "group_id": job.group_id,
        "schedule_id": job.schedule_id,
        "trace_id": job.trace_id,
        "error_code": job.error_code,
        "reason": job.reason,
    }
    return {name: value[:1_000] for name, value in known.items() if value}
