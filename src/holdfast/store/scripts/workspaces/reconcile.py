"""The controller of the workspaces of a machine: it says what it has seen, and what follows from that is stored.

One session at a time holds the row of a machine in `controllers`. What is unchanged is found by `unsettled`, which
reads, so that a look at many workspaces that are as they shall be writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from holdfast.core.errors import NotHolder
from holdfast.core.job import TERMINAL, Millis, SessionId, StateName
from holdfast.core.jobs.requests import NewJob
from holdfast.core.messages.workspaces import SeenWorkspace, WatchedWorkspace, WatchedWorkspaces
from holdfast.core.tasks.reserved import WORKSPACE, WORKSPACE_QUEUE
from holdfast.core.values.event import ABOUT_WORKSPACE, ALERT
from holdfast.core.workspaces import deciding
from holdfast.core.workspaces.conditions import (
    NOT_OBSERVED,
    ConditionName,
    ConditionReason,
    Observation,
    Observations,
)
from holdfast.core.workspaces.deciding import OperationJob, WorkspaceDecision
from holdfast.core.workspaces.planning import WorkspaceFacts
from holdfast.core.workspaces.states import DesiredState, ErrorReason, Operation, Phase
from holdfast.core.workspaces.workspace import OperationOrder, policy_of, try_ms
from holdfast.store.engine import Tx
from holdfast.store.scripts.access import session_holders
from holdfast.store.scripts.events.events import publish
from holdfast.store.scripts.jobs import enqueue
from holdfast.store.scripts.workspaces.workspace_rows import WorkspaceRow, encoded_conditions
from holdfast.store.statements import sql
from holdfast.store.topics import WORKSPACES


class WatchedRow(WorkspaceRow, frozen=True, gc=False):
    """A workspace, and how the job of its operation is."""

    job_state: str | None
    job_error_code: str | None
    job_ended_at: Millis | None
    job_tries: int | None
    controlled_since: Millis | None
    clock_set_at: Millis | None

    @property
    def job_has_ended(self) -> bool:
        """Whether its operation has a job that is over. One that is forgotten is."""
        return self.operation != Operation.NONE and (self.job_state is None or self.job_state in TERMINAL)

    @property
    def job(self) -> OperationJob:
        """The job of its operation, which is over. One that is forgotten was done long ago."""
        return OperationJob(
            StateName(self.job_state or StateName.DONE),
            self.job_error_code,
            self.job_ended_at or 0,
            self.job_tries or 0,
        )


def take_controller(tx: Tx, session_id: SessionId, now: Millis, secret: str | None = None) -> bool:
    """Look after the workspaces of the machine of a session from now on, unless another session that lives does."""
    session_holders.check_holder(tx, session_id, secret)
    tx.run(sql.take_controller, session_id=session_id, now=now)
    return tx.value(sql.node_of_controller, session_id=session_id) is not None


def watched_workspaces(tx: Tx, session_id: SessionId) -> WatchedWorkspaces:
    """The workspaces of the machine of a session, for a look that begins now."""
    is_held = tx.value(sql.node_of_controller, session_id=session_id) is not None
    node = tx.value(sql.machine_of_session, session_id=session_id)
    return WatchedWorkspaces(
        is_held,
        [
            WatchedWorkspace(
                row.id,
                row.generation,
                row.home_store_key,
                row.home,
                row.instance,
                row.job_has_ended,
                _is_on_its_way(row),
                row.archive_key,
                row.port if row.phase == Phase.RUNNING else None,
            )
            for row in rows_of_node(tx, node)
        ],
    )


def unsettled(tx: Tx, session_id: SessionId, seen: Sequence[SeenWorkspace], now: Millis) -> list[str]:
    """The ids of the workspaces about which `reconcile` would store something. This only reads."""
    node = tx.value(sql.node_of_controller, session_id=session_id)
    return [row.id for row, decision in _decisions(tx, node, seen, now) if _differs(row, decision)]


def reconcile(
    tx: Tx, session_id: SessionId, seen: Sequence[SeenWorkspace], now: Millis, secret: str | None = None
) -> list[str]:
    """Store what follows from what was seen: conditions, phases, ends of operations, and the jobs of new ones.

    Return the ids of those about which something was stored. What was seen of an older generation is ignored.
    """
    session_holders.check_holder(tx, session_id, secret)
    node = tx.value(sql.node_of_controller, session_id=session_id)
    if node is None:
        raise NotHolder(f"session {session_id} does not look after the workspaces of its machine any more")
    changed = [(row, decision) for row, decision in _decisions(tx, node, seen, now) if _differs(row, decision)]
    for row, decision in changed:
        _store(tx, row, decision, now)
    return [row.id for row, _ in changed]


def rows_of_node(tx: Tx, node: str | None) -> list[WatchedRow]:
    """The workspaces of a machine that are not deleted."""
    return tx.all(sql.workspaces_of_node, WatchedRow, node=node)


def _is_on_its_way(row: WatchedRow) -> bool:
    """Whether something is done with it, or soon will be."""
    waits = row.phase != row.desired_state and (row.phase != Phase.ERROR or row.desired_state == DesiredState.DELETED)
    return waits or row.operation != Operation.NONE


def _decisions(
    tx: Tx, node: str | None, seen: Sequence[SeenWorkspace], now: Millis
) -> Iterator[tuple[WatchedRow, WorkspaceDecision]]:
    found = {sight.id: sight for sight in seen}
    for row in rows_of_node(tx, node):
        sight = found.get(row.id)
        if sight is not None and sight.generation == row.generation:
            yield row, _decide(row, sight, now)


def _decide(row: WatchedRow, sight: SeenWorkspace, now: Millis) -> WorkspaceDecision:
    home = row.home
    facts = WorkspaceFacts(
        observed=_observations(row, sight),
        desired=DesiredState(row.desired_state),
        phase=Phase(row.phase),
        operation=Operation(row.operation),
        error_reason=None if row.error_reason is None else ErrorReason(row.error_reason),
        failures=row.error_count,
        volume=None if home is None else home.volume,
        archive_key=row.archive_key,
        restore_marker=None if home is None else home.restore_marker,
        has_leftovers=bool(sight.leftovers),
        archive_is_new=row.archive_key is not None and row.archive_key.startswith(f"{row.id}/{row.op_id}/"),
    )
    return deciding.decide(
        facts,
        row.known_conditions,
        row.job if row.job_has_ended and sight.job_had_ended else None,
        now,
        running_since=row.phase_changed_at if facts.phase is Phase.RUNNING else None,
        written_at=row.updated_at,
        names_instance=row.instance_ctx is not None,
        ended_with_machine=sight.ended_with_machine,
    )


def _observations(row: WatchedRow, sight: SeenWorkspace) -> Observations:
    return {
        ConditionName.VOLUME: _volume(row, sight),
        ConditionName.ARCHIVE: _archive(row, sight),
        ConditionName.INSTANCE: _instance(row, sight),
    }


def _volume(row: WatchedRow, sight: SeenWorkspace) -> Observation:
    if sight.volume is None or sight.leftovers is None:
        return NOT_OBSERVED
    home = row.home
    if home is None:
        where = "it has no home yet" if row.archive_key is None else "its home is in the archive"
        return Observation(False, ConditionReason.VOLUME_NOT_FOUND, where)
    if sight.volume:
        return Observation(True, ConditionReason.VOLUME_PROVISIONED, home.path)
    return Observation(False, ConditionReason.VOLUME_NOT_FOUND, f"{home.path} is gone")


def _archive(row: WatchedRow, sight: SeenWorkspace) -> Observation:
    if row.archive_key is None:
        return Observation(False, ConditionReason.NO_ARCHIVE, "it has no archive")
    return NOT_OBSERVED if sight.archive is None else sight.archive


def _instance(row: WatchedRow, sight: SeenWorkspace) -> Observation:
    if sight.instance is None:
        return NOT_OBSERVED
    instance = row.instance
    if sight.instance and instance is not None:
        return Observation(True, ConditionReason.INSTANCE_RUNNING, f"pid {instance.pid}")
    return Observation(False, ConditionReason.INSTANCE_NOT_RUNNING, "no process runs")


def _differs(row: WatchedRow, decision: WorkspaceDecision) -> bool:
    return (
        decision.has_ended
        or decision.planned is not Operation.NONE
        or decision.forgets_instance
        or (row.phase, row.error_reason, row.error_count) != (decision.phase, decision.error_reason, decision.failures)
        or row.conditions != encoded_conditions(decision.conditions)
    )


def _store(tx: Tx, row: WatchedRow, decision: WorkspaceDecision, now: Millis) -> None:
    """Store a decision. ERROR, its reason and the end of the operation are one transaction."""
    conditions = encoded_conditions(decision.conditions)
    if row.conditions != conditions or row.phase != decision.phase:
        tx.run(sql.note_conditions, id=row.id, conditions=conditions, phase=decision.phase, now=now)
    if (row.error_reason, row.error_count) != (decision.error_reason, decision.failures):
        error = {"error_reason": decision.error_reason, "error_count": decision.failures}
        tx.run(sql.set_workspace_error, id=row.id, now=now, **error)
    if decision.forgets_instance:
        tx.run(sql.set_instance, id=row.id, instance_ctx=None, port=None, now=now)
    if decision.planned is not Operation.NONE:
        _begin(tx, row, decision, now)
    elif decision.has_ended:
        tx.run(sql.set_operation, id=row.id, operation=Operation.NONE, now=now, **_columns())
    if row.phase != decision.phase:
        _tell(tx, row, decision, now)
    if decision.phase is Phase.DELETED:
        tx.run(sql.note_workspace_deleted, id=row.id, now=now)
    tx.changes.topics.add(WORKSPACES)


def _begin(tx: Tx, row: WatchedRow, decision: WorkspaceDecision, now: Millis) -> None:
    op_id = tx.new_id()
    job = NewJob(
        id=tx.new_id(),
        task=WORKSPACE,
        queue=WORKSPACE_QUEUE,
        payload=msgspec.json.encode(OperationOrder(row.id, decision.planned, op_id)).decode(),
        subject=f"workspace:{row.id}",
        idempotency_key=op_id,
        policy=policy_of(decision.failures),
        timeout_ms=try_ms(decision.planned),
        node=row.node,
        complete=True,
    )
    enqueue.take_in(tx, [job], now)
    columns = _columns(op_started_at=now, op_id=op_id, op_job_id=job.id)
    tx.run(sql.set_operation, id=row.id, operation=decision.planned, now=now, **columns)


def _columns(
    op_started_at: Millis | None = None, op_id: str | None = None, op_job_id: str | None = None
) -> dict[str, Any]:
    return {"op_started_at": op_started_at, "op_id": op_id, "op_job_id": op_job_id}


def _tell(tx: Tx, row: WatchedRow, decision: WorkspaceDecision, now: Millis) -> None:
    about = {"workspace": row.name, "workspace_id": row.id, "phase": str(decision.phase), "from": row.phase}
    if decision.error_reason is not None:
        about["reason"] = str(decision.error_reason)
    publish(tx, f"{ABOUT_WORKSPACE}{decision.phase.lower()}", about, now)
    if decision.phase is Phase.ERROR:
        publish(tx, f"{ALERT}workspace", about, now)
