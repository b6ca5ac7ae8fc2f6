"""Who uses a workspace, and what becomes of those that nobody uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.core.errors import NotHolder
from holdfast.core.job import Millis, SessionId
from holdfast.core.messages.workspaces import SleepPlan, WorkspaceView
from holdfast.core.workspaces.sleeping import Sleep
from holdfast.store.engine import Tx
from holdfast.store.scripts.access import session_holders
from holdfast.store.scripts.workspaces import workspaces
from holdfast.store.scripts.workspaces.reconcile import WatchedRow, rows_of_node
from holdfast.store.scripts.workspaces.workspace_rows import sleep_of
from holdfast.store.statements import sql
from holdfast.store.topics import WORKSPACES


def touch_workspace(tx: Tx, ref: str, now: Millis) -> WorkspaceView:
    """Note that somebody uses a workspace, so that it does not come to rest for a while."""
    view = workspaces.find_workspace(tx, ref)
    note_access(tx, view.id, now)
    return workspaces.find_workspace(tx, view.id)


def note_access(tx: Tx, workspace_id: str, now: Millis) -> None:
    """Note that somebody uses a workspace. It is written at most once a minute."""
    tx.run(sql.note_access, id=workspace_id, now=now, before=now - workspaces.ACCESS_ONCE_IN_MS)


def note_accesses(
    tx: Tx, session_id: SessionId, workspace_ids: Sequence[str], now: Millis, secret: str | None = None
) -> None:
    """The same, for those of its machine that a controller has seen to be used."""
    node = _node_of_holder(tx, session_id, secret)
    for row in rows_of_node(tx, node):
        if row.id in workspace_ids:
            note_access(tx, row.id, now)


def sleep_plan(tx: Tx, session_id: SessionId, can_archive: bool, now: Millis) -> SleepPlan:
    """Whether a workspace of the machine of a controller shall come to rest, and when the next one will."""
    node = tx.value(sql.node_of_controller, session_id=session_id)
    moments = [sleep.at for _, sleep in _sleepers(tx, node, can_archive=can_archive)]
    return SleepPlan(any(at <= now for at in moments), min(moments, default=None))


def let_rest(tx: Tx, session_id: SessionId, can_archive: bool, now: Millis, secret: str | None = None) -> None:
    """Have those come to rest that nobody has used for long. A wish of a person since then counts more."""
    node = _node_of_holder(tx, session_id, secret)
    for row, sleep in _sleepers(tx, node, can_archive=can_archive):
        if sleep.at <= now:
            tx.run(sql.set_desired_state, id=row.id, desired_state=sleep.desired, now=now)
            about = {"workspace_id": row.id, "from_state": row.desired_state, "to_state": sleep.desired}
            tx.run(sql.insert_workspace_change, trigger=None, why="ttl", now=now, **about)
            tx.changes.topics.add(WORKSPACES)


def _sleepers(tx: Tx, node: str | None, *, can_archive: bool) -> Iterator[tuple[WatchedRow, Sleep]]:
    for row in rows_of_node(tx, node):
        sleep = sleep_of(row, row.controlled_since, row.clock_set_at, can_archive=can_archive)
        if sleep is not None:
            yield row, sleep


def _node_of_holder(tx: Tx, session_id: SessionId, secret: str | None) -> str:
    session_holders.check_holder(tx, session_id, secret)
    node: str | None = tx.value(sql.node_of_controller, session_id=session_id)
    if node is None:
        raise NotHolder(f"session {session_id} does not look after the workspaces of its machine any more")
    return node
