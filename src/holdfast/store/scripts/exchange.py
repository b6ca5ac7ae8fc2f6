"""A worker's one call: here are my results, I have so many free slots; back come jobs and requests to stop."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from holdfast.core.job import Millis, RunId, SessionId
from holdfast.core.limits import MAX_INT
from holdfast.core.maintenance import MAINTENANCE
from holdfast.core.requests import Claimed, ClaimRequest, Report, Settled
from holdfast.core.settle import Yielded
from holdfast.store.engine import Tx, urgent
from holdfast.store.rows import OwnedRow
from holdfast.store.scripts.claim import claim
from holdfast.store.scripts.finish import finish
from holdfast.store.scripts.progress import Progress, note_progress
from holdfast.store.scripts.settling import Decided, decide, write_settlements
from holdfast.store.statements import sql


class StopRequest(Struct, frozen=True):
    """A running job that should stop, and why: `cancel` or `superseded`."""

    run_id: RunId
    stop_reason: str


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
        note_progress(tx, progress)
    settled = finish(tx, reports, now) if reports else []
    if holds is not None:
        give_back(tx, request.session_id, holds, now)
    claimed = claim(tx, request, now)
    _wake_others(tx, settled)
    stops = tx.all(sql.stop_requests, StopRequest, session_id=request.session_id)
    return Exchange(settled, claimed, stops)


def _wake_others(tx: Tx, settled: Sequence[Settled]) -> None:
    """What these runs kept from starting may be another worker's to start; what this one took is running by now."""
    if settled and tx.value(sql.any_held_by_runs):
        ids = msgspec.json.encode([item.job_id for item in settled if item.refused is None]).decode()
        tx.changes.ready.update(row["queue"] for row in tx.rows(sql.freed_queues, ids=ids))


def give_back(tx: Tx, session_id: SessionId, holds: Sequence[RunId], now: Millis) -> int:
    """Runs that a living worker does not list never arrived there: they wait again, at no charge."""
    held = set(holds)
    jobs = tx.all(sql.running_jobs_of_session, OwnedRow, session_id=session_id, limit=MAX_INT)
    # Chores are done by the session itself, not by its worker.
    lost = [job for job in jobs if job.open_run_id not in held and job.queue != MAINTENANCE]
    outcome = Yielded("it never arrived at its worker")
    # A suspect that never ran has shown nothing: it still runs alone next time.
    settled = [Decided(job, decide(job, outcome, now), suspect=bool(job.is_suspect)) for job in lost]
    write_settlements(tx, settled, now)
    return len(lost)
