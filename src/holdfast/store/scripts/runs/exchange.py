"""The one call of a worker. It brings results and free slots, and gets jobs and requests to stop."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import structs

from holdfast.core.job import JobId, Millis, RunId, SessionId
from holdfast.core.jobs.requests import COMMAND, Claimed, ClaimRequest, Report
from holdfast.core.jobs.settle import Yielded
from holdfast.core.machine.maintenance import MAINTENANCE
from holdfast.core.messages.runs import Exchange, Progress, StopRequest
from holdfast.core.rules.limits import MAX_INT
from holdfast.store.engine import Tx, urgent
from holdfast.store.rows import OwnedRow
from holdfast.store.scripts.access import session_holders
from holdfast.store.scripts.claiming import claim
from holdfast.store.scripts.runs import finish, settling
from holdfast.store.scripts.runs.progress import note_progress
from holdfast.store.scripts.runs.settling import Decided
from holdfast.store.scripts.telling.wake_ups import wake_after_runs
from holdfast.store.statements import sql


@urgent
def exchange(
    tx: Tx,
    reports: Sequence[Report],
    progress: Sequence[Progress],
    request: ClaimRequest,
    holds: Sequence[RunId] | None,
    now: Millis,
) -> Exchange:
    """Settle the results, then claim: so the slots and subjects that they free can be claimed at once.

    `holds` lists every run that the worker has. It is given if an answer may have been lost: other runs go back,
    uncharged.
    """
    if progress:
        # Before the results: the progress of a settled run is not stored any more.
        note_progress(tx, progress, request.session_id)
    secret_hash = session_holders.hash_of(request.secret)
    settled = finish.settle_reports(tx, reports, secret_hash, now) if reports else []
    if holds is not None or progress:
        session_holders.check_holder(tx, request.session_id, request.secret)
    lost = [] if holds is None else give_back(tx, request.session_id, holds, now)
    claimed = claim.claim_held(tx, request, secret_hash, now)
    if request.secret is None:
        claimed = [_as_before(run) for run in claimed]
    wake_after_runs(tx, [*finish.ended_by(settled), *lost])
    stops = tx.all(sql.stop_requests, StopRequest, session_id=request.session_id)
    return Exchange(settled, claimed, stops)


def _as_before(run: Claimed) -> Claimed:
    """A run for a worker that speaks protocol 1. It reads the variables of a command from the payload."""
    if run.task != COMMAND or run.env is None:
        return run
    payload = msgspec.json.decode(run.payload)
    variables = {**(payload.get("env") or {}), **run.env}
    return structs.replace(run, payload=msgspec.json.encode({**payload, "env": variables}).decode())


def give_back(tx: Tx, session_id: SessionId, holds: Sequence[RunId], now: Millis) -> list[JobId]:
    """Put jobs back whose runs never arrived at the worker, as it does not list them. Return their ids."""
    held = set(holds)
    # Chores are done by the session itself, not by its worker.
    running = [job for job in _running(tx, session_id) if job.queue != MAINTENANCE]
    return _put_back(tx, [job for job in running if job.open_run_id not in held], now)


def give_back_chores(tx: Tx, session_id: SessionId, now: Millis) -> list[JobId]:
    """The same for chores, when the session does none: an abandoned one would keep all others waiting."""
    return _put_back(tx, [job for job in _running(tx, session_id) if job.queue == MAINTENANCE], now)


def _running(tx: Tx, session_id: SessionId) -> list[OwnedRow]:
    return tx.all(sql.running_jobs_of_session, OwnedRow, session_id=session_id, limit=MAX_INT)


def _put_back(tx: Tx, lost: Sequence[OwnedRow], now: Millis) -> list[JobId]:
    outcome = Yielded("it never arrived at its worker")
    # A suspect that never ran has shown nothing, so it still runs alone next time.
    settled = [Decided(job, settling.decide(job, outcome, now), suspect=bool(job.is_suspect)) for job in lost]
    settling.write_settlements(tx, settled, now)
    return [job.job_id for job in lost]
