"""The progress, the checkpoint and the process of a run. Only the holder of the run can store them."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.errors import Conflict
from holdfast.core.job import JobId, Millis, RunId, SessionId
from holdfast.core.messages.runs import Progress
from holdfast.store.engine import Tx
from holdfast.store.scripts.access import session_holders
from holdfast.store.statements import sql


def note_progress(tx: Tx, notes: Sequence[Progress], session_id: SessionId) -> None:
    """Store how far the runs of a session have come. Settled runs are left alone."""
    tx.run_many(
        sql.note_progress,
        [
            {
                "job_id": note.job_id,
                "run_id": note.run_id,
                "session_id": session_id,
                "fraction": note.fraction,
                "text": note.text,
            }
            for note in notes
        ],
    )


def save_checkpoint(tx: Tx, job_id: JobId, run_id: RunId, data: str, secret: str | None = None) -> None:
    """Store what the next run of the job should start from."""
    if not tx.run(
        sql.save_checkpoint, job_id=job_id, run_id=run_id, data=data, secret_hash=session_holders.hash_of(secret)
    ):
        session_holders.check_holder_of_run(tx, run_id, secret)
        raise Conflict(f"run {run_id} does not own job {job_id} any more; its checkpoint was not saved")


def note_start(
    tx: Tx,
    run_id: RunId,
    session_id: SessionId,
    pid: int,
    pid_started_at: Millis,
    log_path: str | None,
    secret: str | None = None,
) -> bool:
    """Store the process of a run before it begins to work. False: the run is not open, or not of this session."""
    session_holders.check_holder(tx, session_id, secret)
    if not tx.run(sql.note_start_of_job, run_id=run_id, session_id=session_id, log_path=log_path):
        return False
    started = {"pid": pid, "pid_started_at": pid_started_at, "log_path": log_path}
    return bool(tx.run(sql.note_start_of_run, run_id=run_id, session_id=session_id, **started))
