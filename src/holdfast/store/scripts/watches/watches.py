"""Stored watches: made, changed, paused and removed, by hand or by the settings of the daemon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import Millis
from holdfast.core.messages.watches import Watch
from holdfast.core.watching import planning
from holdfast.core.watching.new_watch import NewWatch, check_watch
from holdfast.store.engine import Tx
from holdfast.store.scripts.machines import nodes
from holdfast.store.scripts.tasks.known_tasks import check_request, is_known
from holdfast.store.setting_columns import WATCH_COLUMNS
from holdfast.store.statements import sql
from holdfast.store.topics import WATCHES

PLACE = frozenset({"kind", "path"})  # where a watch looks
CHOICE = frozenset({"globs", "ignores", "gitignore"})  # and what for


@WATCH_COLUMNS.extend
class WatchRow(Struct, frozen=True):
    """A row of `watches`. `node` is the id of its machine. Its other columns are the settings."""

    id: str
    name: str
    node: str
    origin: str
    path: str
    enabled: int
    revision: int
    problem: str | None
    scanned_at: Millis | None
    changed_at: Millis | None
    changes: int
    jobs: int
    untold: int
    created_at: Millis
    updated_at: Millis
    waits_for: str | None

    @property
    def told(self) -> NewWatch:
        """The settings of the watch."""
        return NewWatch(id=self.id, name=self.name, path=self.path, **WATCH_COLUMNS.load(self))

    def to_watch(self, node_name: str, files: int, known: bool) -> Watch:
        """The watch that this row describes."""
        given = {name: getattr(self, name) for name in Watch.__struct_fields__ if name in WatchRow.__struct_fields__}
        given |= WATCH_COLUMNS.load(self) | {"enabled": bool(self.enabled), "node": node_name, "node_id": self.node}
        return Watch(**given, files=files, known=known)


def add_watch(tx: Tx, watch: NewWatch, now: Millis, replace: bool = False, must_exist: bool = False) -> Watch:
    """Watch a folder or a git repository on the daemon's machine from now on.

    A name that is in use is refused, unless `replace` is set. Then what the watch has seen so far is kept.
    `must_exist`: refuse a task that no worker has declared.
    """
    check_watch(watch)
    if watch.task is not None:
        check_request(tx, watch.task, planning.sample_arguments(watch), must_exist=must_exist)
    found = tx.one(sql.watch_by_name, WatchRow, name=watch.name)
    if found is None:
        taken = tx.one(sql.watch_by_id, WatchRow, id=watch.id)
        if taken is not None:
            raise Conflict(f"the id {watch.id} is that of watch {taken.name!r}; make another one")
        tx.run(sql.insert_watch, id=watch.id, origin="api", node=tx.here(), **_values(watch, now))
    elif found.id != watch.id:
        _refuse_foreign(tx, found)
        if not replace:
            raise Conflict(
                f"there is a watch {watch.name!r} already, of {found.path}; replace it "
                "(--replace, or replace=True), or choose another name"
            )
        _replace(tx, found, watch, now)
    tx.changes.topics.add(WATCHES)
    return find_watch(tx, watch.name)


def find_watch(tx: Tx, ref: str) -> Watch:
    """The watch with this name or id, or NotFound."""
    return _view(tx, _row(tx, ref))


def list_watches(tx: Tx, limit: int = 1_000) -> list[Watch]:
    """Watches by name."""
    return [_view(tx, row) for row in tx.all(sql.list_watches, WatchRow, after="", limit=limit)]


def remove_watch(tx: Tx, ref: str) -> Watch:
    """Watch no longer, and forget what was seen. Jobs that were made stay."""
    row = _row(tx, ref)
    if row.origin == "file":
        raise Conflict(f"the watch {row.name!r} comes from the daemon's settings; remove it there, or pause it")
    watch = _view(tx, row)
    _delete(tx, row)
    return watch


def pause_watch(tx: Tx, ref: str, now: Millis) -> Watch:
    """Make no more jobs until it is resumed. What changes meanwhile is found then."""
    return _enable(tx, ref, False, now)


def resume_watch(tx: Tx, ref: str, now: Millis) -> Watch:
    """Go on, with what changed in the meantime."""
    return _enable(tx, ref, True, now)


def watches_of_node(tx: Tx, node: str) -> list[WatchRow]:
    """The watches for the daemon on a machine."""
    return tx.all(sql.watches_of_node, WatchRow, node=node)


def settle_file_watches(tx: Tx, watches: Sequence[NewWatch], node: str, now: Millis) -> list[str]:
    """Bring the watches of the settings up to date. Return what could not be done, in words."""
    troubles = []
    wanted = {watch.name for watch in watches}
    for row in tx.all(sql.watches_of_node, WatchRow, node=node):
        if row.origin == "file" and row.name not in wanted:
            _delete(tx, row)
    for watch in watches:
        found = tx.one(sql.watch_by_name, WatchRow, name=watch.name)
        if found is None:
            tx.run(sql.insert_watch, id=watch.id, origin="file", node=node, **_values(watch, now))
        elif found.node != node:
            troubles.append(f"{_belongs(tx, found)}; give yours another name")
        elif found.origin != "file":
            troubles.append(f"there is a watch {watch.name!r} that was added by hand; remove it, or rename yours")
        elif _changed(found, _values(watch, now)):
            _replace(tx, found, watch, now)
    tx.changes.topics.add(WATCHES)
    return troubles


def _values(watch: NewWatch, now: Millis) -> dict[str, Any]:
    return {"name": watch.name, "path": watch.path, **WATCH_COLUMNS.store(watch), "now": now}


def _changed(row: WatchRow, values: Mapping[str, Any]) -> set[str]:
    """The columns that would have another value."""
    return {column for column, value in values.items() if column != "now" and getattr(row, column) != value}


def _replace(tx: Tx, old: WatchRow, watch: NewWatch, now: Millis) -> None:
    values = _values(watch, now)
    name = values.pop("name")
    assert name == old.name
    changed = _changed(old, values)
    if changed & PLACE:
        tx.run(sql.forget_watch_files, watch_id=old.id)
        tx.run(sql.forget_watch_changes, watch_id=old.id)
    is_rescanned = bool(changed & (PLACE | CHOICE))
    tx.run(sql.replace_watch, id=old.id, is_rescanned=int(is_rescanned), **values)


def _delete(tx: Tx, row: WatchRow) -> None:
    tx.run(sql.forget_watch_files, watch_id=row.id)
    tx.run(sql.forget_watch_changes, watch_id=row.id)
    tx.run(sql.delete_watch, id=row.id)
    tx.changes.topics.add(WATCHES)


def _enable(tx: Tx, ref: str, enabled: bool, now: Millis) -> Watch:
    row = _row(tx, ref)
    if tx.run(sql.enable_watch, id=row.id, enabled=int(enabled), now=now):
        tx.changes.topics.add(WATCHES)
    return find_watch(tx, row.id)


def _belongs(tx: Tx, row: WatchRow) -> str:
    return f"the watch {row.name!r} belongs to node {nodes.name_of(tx, row.node)!r}"


def _refuse_foreign(tx: Tx, row: WatchRow) -> None:
    if row.node != tx.here():
        raise Conflict(f"{_belongs(tx, row)}; choose another name")
    if row.origin == "file":
        raise Conflict(f"the watch {row.name!r} comes from the daemon's settings; change it there")


def _view(tx: Tx, row: WatchRow) -> Watch:
    task = row.told.task
    known = task is None or is_known(tx, task)
    return row.to_watch(nodes.name_of(tx, row.node), tx.value(sql.count_watch_files, watch_id=row.id), known)


def _row(tx: Tx, ref: str) -> WatchRow:
    found = tx.one(sql.watch_by_name, WatchRow, name=ref) or tx.one(sql.watch_by_id, WatchRow, id=ref)
    if found is None:
        raise NotFound(f"there is no watch {ref!r}; to see which there are: holdfast watch ls")
    return found
