"""A worker's one call: here are my results, I have so many free slots; back come jobs and requests to stop."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.core.job import Millis, RunId
from holdfast.core.requests import Claimed, ClaimRequest, Report, Settled
from holdfast.store.engine import Tx
from holdfast.store.scripts.claim import claim
from holdfast.store.scripts.finish import finish
from holdfast.store.scripts.progress import Progress, note_progress
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


def exchange(
    tx: Tx, reports: Sequence[Report], progress: Sequence[Progress], request: ClaimRequest, now: Millis
) -> Exchange:
    """Results first, so that the slots and subjects they free can be claimed in the same transaction."""
    settled = finish(tx, reports, now) if reports else []
    if progress:
        note_progress(tx, progress)
    claimed = claim(tx, request, now)
    stops = tx.all(sql.stop_requests, StopRequest, session_id=request.session_id)
    return Exchange(settled, claimed, stops)
