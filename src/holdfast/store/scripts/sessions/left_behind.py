"""What a session has in the database besides its runs."""

from __future__ import annotations

from holdfast.core.job import Millis, SessionId
from holdfast.store.engine import Tx
from holdfast.store.scripts.apps.app_owners import free_apps
from holdfast.store.scripts.queues.reservations import expire_of_session
from holdfast.store.scripts.tasks.declared_tasks import withdraw_tasks
from holdfast.store.scripts.telling.wake_ups import wake_held_back
from holdfast.store.statements import sql


def free(tx: Tx, session_id: SessionId, now: Millis) -> None:
    """Give back what a session that has ended leaves: its tasks, its workers, its reservations, its apps."""
    withdraw_tasks(tx, session_id, now)
    tx.run(sql.delete_workers_of_session, session_id=session_id)
    expire_of_session(tx, session_id, now)
    free_apps(tx, session_id)
    wake_held_back(tx)
