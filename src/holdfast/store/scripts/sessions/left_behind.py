"""What a session has in the database besides its runs."""

from __future__ import annotations

from holdfast.core.job import Millis, SessionId
from holdfast.store.engine import Tx
from holdfast.store.scripts.apps import app_owners
from holdfast.store.scripts.queues import reservations
from holdfast.store.scripts.tasks import declared_tasks
from holdfast.store.scripts.telling.wake_ups import wake_held_back
from holdfast.store.statements import sql


def free(tx: Tx, session_id: SessionId, now: Millis) -> None:
    """Give back what a session that has ended leaves: its tasks, its workers, its reservations, its apps."""
    declared_tasks.withdraw_tasks(tx, session_id, now)
    tx.run(sql.delete_workers_of_session, session_id=session_id)
    reservations.expire_of_session(tx, session_id, now)
    app_owners.free_apps(tx, session_id)
    wake_held_back(tx)
