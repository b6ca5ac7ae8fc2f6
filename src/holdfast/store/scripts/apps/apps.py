"""The apps as people see them, and what they want of them."""

from __future__ import annotations

import msgspec

from holdfast.core.apps.status import Wanted
from holdfast.core.errors import NotFound
from holdfast.core.messages.apps import AppView
from holdfast.store.engine import Tx
from holdfast.store.statements import sql
from holdfast.store.topics import APPS


def list_apps(tx: Tx) -> list[AppView]:
    """Every app that a process has ever offered, by its key."""
    return msgspec.convert(tx.rows(sql.list_apps), list[AppView])


def find_app(tx: Tx, app_key: str) -> AppView:
    """An app by its key."""
    rows = tx.rows(sql.find_app, app_key=app_key)
    if not rows:
        raise NotFound(f"there is no app {app_key!r}; holdfast apps lists them")
    return msgspec.convert(rows[0], AppView)


def start_app(tx: Tx, app_key: str) -> AppView:
    """Let an app run again that was stopped, or try one again that failed."""
    return _want(tx, app_key, Wanted.RUNNING)


def stop_app(tx: Tx, app_key: str) -> AppView:
    """Stop an app, until it is started again. Its process is told."""
    return _want(tx, app_key, Wanted.STOPPED)


def _want(tx: Tx, app_key: str, wanted: Wanted) -> AppView:
    find_app(tx, app_key)
    tx.run(sql.want_app, app_key=app_key, wanted=wanted)
    tx.changes.topics.add(APPS)
    return find_app(tx, app_key)
