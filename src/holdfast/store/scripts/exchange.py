"""A worker's one call: here are my results, I have so many free slots; back come jobs and requests to stop."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.core.job import JobId, Millis, RunId, SessionId
from holdfast.core.limits import MAX_INT
from holdfast.core.maintenance import MAINTENANCE
from holdfast.core.requests import Claimed, ClaimRequest, Report, Settled
from holdfast.core.settle import Yielded
from holdfast.store.engine import Tx, urgent
from holdfast.store.rows import OwnedRow
from holdfast.store.scripts.claim import claim_held
from holdfast.store.scripts.finish import ended_by, settle_reports
from holdfast.store.scripts.holders import check_holder, hash_of
from holdfast.store.scripts.progress import Progress, note_progress
from holdfast.store.scripts.settling import Decided, decide, write_settlements
from holdfast.store.scripts.waking import wake_after_runs
from holdfast.store.statements import sql


class StopRequest(Struct, frozen=True):
    """A running job that should stop, and why: `cancel` or `superseded`; with `yield` it may also go on."""

    run_id: RunId
    stop_reason: str

    @property
    def is_wish(self) -> bool:
        """Whether the run may go on all the same."""
        return self.stop_reason == "yield"


class Exchange(Struct, frozen=True):
    """What comes back to the worker."""

    settled: list[Settled]
    claimed: list[Claimed]
    stops: list[StopRequest]


@urgent
def exchange(
    tx: Tx,
    reports: Sequence[Report],
    progress: Sequence[Progress],
    request: ClaimRequest,
    holds: Sequence[RunId] | None,
    now: Millis,
) -> Exchange:
    """Results before the claim, so that the slots and subjects they free can be claimed in the same transaction.

    `holds` lists every run the worker knows of, where an answer may have got lost: others go back, uncharged.
    """
    if progress:
        # Before the results: a settled run says nothing any more, and its last word would be lost.
        note_progress(tx, progress, request.session_id)
    secret_hash = hash_of(request.secret)
    settled = settle_reports(tx, reports, secret_hash, now) if reports else []
    if holds is not None or progress:
        check_holder(tx, request.session_id, request.secret)
    lost = [] if holds is None else give_back(tx, request.session_id, holds, now)
    claimed = claim_held(tx, request, secret_hash, now)
    wake_after_runs(tx, [*ended_by(settled), *lost])
    stops = tx.all(sql.stop_requests, StopRequest, session_id=request.session_id)
    return Exchange(settled, claimed, stops)


def give_back(tx: Tx, session_id: SessionId, holds: Sequence[RunId], now: Millis) -> list[JobId]:
    """Runs that a living worker does not list never arrived there: they wait again, at no charge. Whose they are."""
    held = set(holds)
    # Chores are done by the session itself, not by its worker.
    running = [job for job in _running(tx, session_id) if job.queue != MAINTENANCE]
    return _put_back(tx, [job for job in running if job.open_run_id not in held], now)


def give_back_chores(tx: Tx, session_id: SessionId, now: Millis) -> list[JobId]:
    """The same for the chores of a session that is at none; while one ran that nobody does, no other could begin."""
    return _put_back(tx, [job for job in _running(tx, session_id) if job.queue == MAINTENANCE], now)


def _running(tx: Tx, session_id: SessionId) -> list[OwnedRow]:
    return tx.all(sql.running_jobs_of_session, OwnedRow, session_id=session_id, limit=MAX_INT)


def _put_back(tx: Tx, lost: Sequence[OwnedRow], now: Millis) -> list[JobId]:
    outcome = Yielded("it never arrived at its worker")
    # A suspect that never ran has shown nothing: it still runs alone next time.
    settled = [Decided(job, decide(job, outcome, now), suspect=bool(job.is_suspect)) for job in lost]
    write_settlements(tx, settled, now)
    return [job.job_id for job in lost]
