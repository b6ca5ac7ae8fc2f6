"""What a run of an operation reads and stores. All of it is refused once the run is closed."""

from __future__ import annotations

import msgspec

from holdfast.core.errors import Conflict, InvalidInput
from holdfast.core.job import Millis, RunId
from holdfast.core.messages.workspaces import HomeContext, InstanceContext, OperationWork
from holdfast.core.workspaces.states import Operation
from holdfast.store.engine import Tx
from holdfast.store.scripts.access import session_holders
from holdfast.store.scripts.workspaces.workspace_rows import WorkspaceRow
from holdfast.store.statements import sql
from holdfast.store.topics import WORKSPACES


def work_of_run(tx: Tx, run_id: RunId, op_id: str) -> OperationWork:
    """What an operation works with."""
    row = _workspace(tx, run_id, op_id)
    return OperationWork(
        id=row.id,
        name=row.name,
        operation=Operation(row.operation),
        home_store_key=row.home_store_key,
        home_ctx=row.home,
        instance_ctx=row.instance,
        command=row.words,
        env=row.variables,
        archive_key=row.archive_key,
        may_begin_archives=tx.value(sql.any_archive, node=row.node) is None,
        may_begin_homes=tx.value(sql.any_home, node=row.node) is None,
    )


def commit_home(
    tx: Tx,
    run_id: RunId,
    op_id: str,
    volume: str,
    path: str,
    now: Millis,
    restore_marker: str | None = None,
    secret: str | None = None,
) -> None:
    """Make a folder the home of a workspace: the last step of PROVISIONING and of RESTORING.

    `restore_marker` is the archive that it was restored from.
    """
    row = _held_workspace(tx, run_id, op_id, secret)
    home = msgspec.json.encode(HomeContext(volume, path, restore_marker)).decode()
    if row.home_ctx != home:  # Otherwise it is a repeat.
        tx.run(sql.set_home, id=row.id, home_ctx=home, now=now)
        tx.changes.topics.add(WORKSPACES)


def commit_archive(tx: Tx, run_id: RunId, op_id: str, archive_key: str, now: Millis, secret: str | None = None) -> None:
    """Make an archive the one that counts, and no folder the home any more, at once."""
    row = _held_workspace(tx, run_id, op_id, secret)
    if not archive_key.startswith(f"{row.id}/{op_id}/{run_id}/"):
        raise InvalidInput(f"archive_key {archive_key!r} is not of run {run_id} of operation {op_id}")
    if row.archive_key != archive_key:  # Otherwise it is a repeat.
        tx.run(sql.set_archive, id=row.id, archive_key=archive_key, now=now)
        tx.run(sql.set_home, id=row.id, home_ctx=None, now=now)
        tx.changes.topics.add(WORKSPACES)


def note_instance(
    tx: Tx,
    run_id: RunId,
    op_id: str,
    instance: InstanceContext | None,
    now: Millis,
    port: int | None = None,
    secret: str | None = None,
) -> None:
    """Store the process of an instance before its program begins; or, with None, that it has ended."""
    row = _held_workspace(tx, run_id, op_id, secret)
    stored = None if instance is None else msgspec.json.encode(instance).decode()
    tx.run(sql.set_instance, id=row.id, instance_ctx=stored, port=port, now=now)
    tx.changes.topics.add(WORKSPACES)


def _held_workspace(tx: Tx, run_id: RunId, op_id: str, secret: str | None) -> WorkspaceRow:
    """The workspace, for a caller that holds the run."""
    row = _workspace(tx, run_id, op_id)
    session_holders.check_holder_of_run(tx, run_id, secret)
    return row


def _workspace(tx: Tx, run_id: RunId, op_id: str) -> WorkspaceRow:
    row = tx.one(sql.workspace_of_run, WorkspaceRow, run_id=run_id, op_id=op_id)
    if row is None:
        raise Conflict(f"run {run_id} does not do the operation {op_id} of a workspace any more")
    return row
