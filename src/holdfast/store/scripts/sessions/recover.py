"""Settle what a dead session left behind. To do it twice changes nothing. A kill meanwhile loses nothing."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from holdfast.core.gates.breaker import Sign
from holdfast.core.job import Millis, RunId, SessionId
from holdfast.core.jobs import recovery
from holdfast.core.jobs.recovery import CRASH_CODE, Death
from holdfast.core.jobs.run import RunStatus
from holdfast.core.jobs.settle import (
    Broke,
    Completed,
    Outcome,
    Outdated,
    Skipped,
    StoppedByCancel,
    Yielded,
)
from holdfast.core.messages import telemetry
from holdfast.core.messages.sessions import SessionRow
from holdfast.core.tasks.reserved import WORKSPACE_QUEUE
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.store.engine import Tx
from holdfast.store.rows import OwnedRow, policy_of
from holdfast.store.scripts.queues import breakers
from holdfast.store.scripts.queues.breakers import Ending
from holdfast.store.scripts.runs import settling
from holdfast.store.scripts.runs.settling import Decided
from holdfast.store.scripts.sessions import left_behind
from holdfast.store.scripts.telling.wake_ups import wake_after_runs
from holdfast.store.statements import sql

BATCH = 500


class LeftProcess(Struct, frozen=True):
    """A process that a session started for a run which is still open."""

    run_id: RunId
    pid: int
    started_at: Millis


class Recovered(Struct, frozen=True):
    """How many runs were settled, and whether the session has more."""

    settled: int
    more: bool


def processes_of(tx: Tx, session_id: SessionId) -> list[LeftProcess]:
    """The processes that a session may have left running."""
    return tx.all(sql.processes_of_session, LeftProcess, session_id=session_id)


def recover(
    tx: Tx, session_id: SessionId, rebooted: bool, now: Millis, limit: int = BATCH, spared: Collection[RunId] = ()
) -> Recovered:
    """Settle up to `limit` runs of a session whose process is known to be gone. With the last one, end the session.

    `spared` are runs whose own processes are not gone yet: they stay open, and so does the session.
    """
    is_first = bool(tx.run(sql.note_runs_lost, id=session_id))
    session = tx.one(sql.session_of_id, SessionRow, id=session_id)
    if session is None:
        return Recovered(0, more=False)
    death = how_it_died(session, rebooted)
    if is_first and death is Death.CRASH:
        _note_crash(tx, session, now)
    held = tx.all(sql.running_jobs_of_session, OwnedRow, session_id=session_id, limit=limit + len(spared))
    jobs = [job for job in held if job.open_run_id not in spared][:limit]
    decided = [_judge(tx, job, death, session.runs_lost or 1, now) for job in jobs]
    settling.write_settlements(tx, decided, now)
    wake_after_runs(tx, [job.job_id for job in jobs])
    if len(jobs) == limit:
        return Recovered(len(jobs), more=True)
    columns = telemetry.columns_of(None)
    tx.run(sql.close_session, id=session_id, status="unknown", stopped_at=session.last_heartbeat_at, **columns)
    left_behind.free(tx, session_id, now)
    return Recovered(len(jobs), more=False)


def how_it_died(session: SessionRow, rebooted: bool) -> Death:
    """How a session ended. A stop in order that was cut short is no crash, and neither is a reboot."""
    if session.stop_requested_at is not None:
        return Death.ORDERLY
    return Death.REBOOT if rebooted else Death.CRASH


def _note_crash(tx: Tx, session: SessionRow, now: Millis) -> None:
    """Count one crash, however many runs the process had, and however many steps it takes to settle them."""
    about = {"session_id": session.id, "node": session.node, "pid": str(session.pid)}
    failure = Failure(FailureKind.INFRA, CRASH_CODE, "a worker died")
    endings = [
        Ending(row["queue"], row["probe"], Sign.INFRA, failure, about | {"runs": str(row["runs"])})
        for row in tx.rows(sql.queues_of_session, session_id=session.id)
    ]
    breakers.note_endings(tx, endings, now)


def _judge(tx: Tx, job: OwnedRow, death: Death, company: int, now: Millis) -> Decided:
    if job.run_id is None:
        error = "it was marked as running but had no run"
        tx.run(
            sql.insert_lost_run,
            run_id=job.open_run_id,
            job_id=job.job_id,
            error_code=CRASH_CODE,
            error=error,
            now=now,
        )
    # Like one with a process of its own, an operation of a workspace is not to blame when its worker dies.
    is_operation = job.queue == WORKSPACE_QUEUE
    alone = job.run_pid is not None or is_operation
    outcome = (
        recovery.after_death(policy_of(job), death, 1 if is_operation else company, has_own_process=alone)
        if job.run_status is None
        else _as_recorded(job)
    )
    duration = None if job.run_started_at is None else max(0, now - job.run_started_at)
    suspect = recovery.is_suspect(death, has_own_process=alone) or bool(job.is_suspect)
    return Decided(job, settling.decide(job, outcome, now), duration, suspect=suspect)


def _as_recorded(job: OwnedRow) -> Outcome:
    """The outcome of a run that was closed while its job was left behind."""
    match RunStatus(job.run_status or ""):
        case RunStatus.COMPLETED:
            return Completed("null")
        case RunStatus.SKIPPED:
            return Skipped((job.run_error or "").removeprefix("skipped: "))
        case RunStatus.CANCELLED:
            return Outdated() if job.stop_reason == "superseded" else StoppedByCancel()
        case RunStatus.YIELDED:
            return Yielded(job.run_error or "yielded")
        case RunStatus.FAILED:
            kind = FailureKind(job.run_error_kind or FailureKind.INFRA)
            code, message = job.run_error_code or CRASH_CODE, job.run_error or "failed"
            return Broke(Failure(kind, code, message))
