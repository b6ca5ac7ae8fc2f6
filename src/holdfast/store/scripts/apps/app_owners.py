"""Who calls the handlers of an app: one session at a time, its owner.

Writes of an owner name the session and its secret. They are refused once the app has another owner, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from holdfast.core.apps.status import AppStatus, pattern_owner
from holdfast.core.errors import NotFound, NotHolder
from holdfast.core.job import Millis, SessionId
from holdfast.core.messages import telemetry
from holdfast.core.messages.apps import AppState, OfferedApp, TakenApps
from holdfast.core.messages.telemetry import RaisedError, Registrations
from holdfast.core.values.event import shape_of
from holdfast.store.engine import Tx
from holdfast.store.scripts.access import session_holders
from holdfast.store.scripts.apps import records
from holdfast.store.scripts.events.events import register_pattern
from holdfast.store.statements import sql
from holdfast.store.topics import APPS


def take_apps(
    tx: Tx, session_id: SessionId, apps: Sequence[OfferedApp], now: Millis, secret: str | None = None
) -> TakenApps:
    """Make a session the owner of those apps of its code that nobody has and that are wanted to run."""
    session_holders.check_holder(tx, session_id, secret)
    number = tx.value(sql.session_number, session_id=session_id)
    if number is None:
        raise NotFound(f"there is no session {session_id!r}")
    for app in apps:
        about = {"app_key": app.app_key, "instance_index": app.instance_index, "class_name": app.class_name}
        tx.run(sql.insert_app, **about)
        if tx.run(sql.take_app, session_id=session_id, now=now, **about):
            tx.changes.topics.add(APPS)
    return TakenApps(
        states_of(tx, {app.app_key for app in apps}),
        tx.value(sql.newest_event),
        number,
    )


def states_of(tx: Tx, app_keys: Iterable[str]) -> list[AppState]:
    """How these apps are, as far as they are known."""
    keys = msgspec.json.encode(sorted(app_keys)).decode()
    return msgspec.convert(tx.rows(sql.app_states, app_keys=keys), list[AppState])


def begin_app(
    tx: Tx,
    session_id: SessionId,
    app_key: str,
    patterns: Sequence[str],
    registered: Registrations,
    now: Millis,
    instance_index: int = 0,
    secret: str | None = None,
) -> None:
    """Note that an app runs, which events it listens to, and what it has registered. The rest is retired."""
    session_holders.check_holder(tx, session_id, secret)
    _settle(tx, session_id, app_key, instance_index, AppStatus.RUNNING)
    _listen(tx, app_key, patterns)
    records.register(tx, app_key, instance_index, registered, now)


def listen_app(
    tx: Tx,
    session_id: SessionId,
    app_key: str,
    patterns: Sequence[str],
    instance_index: int = 0,
    secret: str | None = None,
) -> None:
    """Note that an app that runs listens to other events than before."""
    session_holders.check_holder(tx, session_id, secret)
    check_owner(tx, session_id, app_key, instance_index)
    _listen(tx, app_key, patterns)


def fail_app(
    tx: Tx,
    session_id: SessionId,
    app_key: str,
    error: RaisedError,
    instance_index: int = 0,
    secret: str | None = None,
) -> None:
    """Note that an app could not start. It keeps its owner, so that nobody else tries the same code."""
    session_holders.check_holder(tx, session_id, secret)
    _settle(tx, session_id, app_key, instance_index, AppStatus.FAILED, error)
    _listen(tx, app_key, ())


def release_app(
    tx: Tx, session_id: SessionId, app_key: str, instance_index: int = 0, secret: str | None = None
) -> None:
    """Give an app back. If that was done before, nothing changes."""
    session_holders.check_holder(tx, session_id, secret)
    tx.run(sql.clear_next_runs, session_id=session_id, app_key=app_key)
    if tx.run(sql.release_app, session_id=session_id, app_key=app_key, instance_index=instance_index):
        _listen(tx, app_key, ())
        tx.changes.topics.add(APPS)


def free_apps(tx: Tx, session_id: SessionId) -> None:
    """Give back the apps of a session that has ended. Their patterns stay, as another session takes over."""
    tx.run(sql.clear_next_runs, session_id=session_id, app_key=None)
    if tx.run(sql.free_apps_of_session, session_id=session_id):
        tx.changes.topics.add(APPS)


def check_owner(tx: Tx, session_id: SessionId, app_key: str, instance_index: int) -> None:
    """Refuse a session that is not the owner of an app."""
    if tx.value(sql.owner_of_app, app_key=app_key, instance_index=instance_index) != session_id:
        raise NotHolder(f"session {session_id} no longer calls the handlers of app {app_key!r}")


def _listen(tx: Tx, app_key: str, patterns: Sequence[str]) -> None:
    owner = pattern_owner(app_key)
    tx.run(sql.delete_patterns_of_owner, owner=owner)
    for pattern in sorted(set(patterns)):
        register_pattern(tx, shape_of(pattern, ()), owner)


def _settle(
    tx: Tx,
    session_id: SessionId,
    app_key: str,
    instance_index: int,
    status: AppStatus,
    error: RaisedError | None = None,
) -> None:
    check_owner(tx, session_id, app_key, instance_index)
    tx.run(
        sql.settle_app,
        session_id=session_id,
        app_key=app_key,
        instance_index=instance_index,
        status=status,
        **telemetry.columns_of(error),
    )
    tx.changes.topics.add(APPS)
