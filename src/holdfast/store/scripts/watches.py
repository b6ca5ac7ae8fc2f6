"""Watches as they are stored: made, changed, paused and removed, by hand or by the daemon's settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import Millis
from holdfast.core.planning import sample_arguments
from holdfast.core.retry import RetryPolicy
from holdfast.core.tokens import Tokens
from holdfast.core.watch import NewWatch, check_watch
from holdfast.store.engine import Tx
from holdfast.store.scripts.known_tasks import check_request, is_known
from holdfast.store.scripts.nodes import name_of
from holdfast.store.scripts.queues import policy_in
from holdfast.store.statements import sql


class WatchRow(Struct, frozen=True):
    """A row of `watches`; `node` is the id of its machine."""

    id: str
    name: str
    node: str
    origin: str
    kind: str
    path: str
    globs: str
    ignores: str
    gitignore: int
    job_type: str | None
    payload: str
    subject: str | None
    tenant: str | None
    debounce_ms: Millis | None
    max_wait_ms: Millis | None
    max_jobs: int
    initial: int
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
    settle_ms: Millis | None
    timeout_ms: Millis | None
    retry: str | None
    cpu: int
    gpu: int
    io: int
    waits_for: str | None
    queue: str | None
    priority: int | None

    @property
    def policy(self) -> RetryPolicy | None:
        """How its jobs are tried again; None, if it does not say."""
        return policy_in(self.retry)

    @property
    def tokens(self) -> Tokens:
        """What its jobs take of the machine."""
        return Tokens(self.cpu, self.gpu, self.io)

    @property
    def task(self) -> str | None:
        """The task of the jobs that it makes."""
        return self.job_type

    def to_watch(self, node_name: str, files: int, known: bool) -> Watch:
        """The watch that this row describes."""
        given = {name: getattr(self, name) for name in Watch.__struct_fields__ if name in self.__struct_fields__}
        for name in ("globs", "ignores"):
            given[name] = msgspec.json.decode(given[name], type=list[str])
        for name in ("gitignore", "initial", "enabled"):
            given[name] = bool(given[name])
        given |= {"node": node_name, "policy": self.policy, "tokens": self.tokens}
        return Watch(**given, node_id=self.node, task=self.job_type, files=files, known=known)


class Watch(Struct, frozen=True, kw_only=True):
    """A watch, how it stands, and what it has done so far. `known`: whether workers have declared its task lately.

    >>> from holdfast import Holdfast, Watch
    >>> hf = Holdfast("work.db")
    >>> watch = hf.add_watch("src", globs=["*.py"], task="index_file")
    >>> watch.name, watch.enabled, watch.jobs
    ('src', True, 0)
    """

    id: str
    name: str
    node: str
    node_id: str
    origin: str
    kind: str
    path: str
    globs: list[str]
    ignores: list[str]
    gitignore: bool
    task: str | None
    queue: str | None
    payload: str
    subject: str | None
    tenant: str | None
    priority: int | None
    debounce_ms: Millis | None
    max_wait_ms: Millis | None
    max_jobs: int
    initial: bool
    settle_ms: Millis | None
    timeout_ms: Millis | None
    policy: RetryPolicy | None
    tokens: Tokens
    enabled: bool
    problem: str | None
    waits_for: str | None
    scanned_at: Millis | None
    changed_at: Millis | None
    changes: int
    jobs: int
    files: int
    created_at: Millis
    updated_at: Millis
    known: bool


def add_watch(tx: Tx, watch: NewWatch, now: Millis, replace: bool = False, must_exist: bool = False) -> Watch:
    """Watch a folder or a git repository on the daemon's machine from now on.

    A name that is in use is refused, unless `replace` is set; what the watch has seen so far then stays known.
    `must_exist`: refuse a task that no worker has declared.
    """
    check_watch(watch)
    if watch.task is not None:
        check_request(tx, watch.task, sample_arguments(watch), must_exist=must_exist)
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
    tx.changes.watches = True
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
    """Make no more jobs until it is resumed; what changes meanwhile is found then."""
    return _enable(tx, ref, False, now)


def resume_watch(tx: Tx, ref: str, now: Millis) -> Watch:
    """Go on, with what changed in the meantime."""
    return _enable(tx, ref, True, now)


def watches_of_node(tx: Tx, node: str) -> list[WatchRow]:
    """The watches that the daemon on a machine has to care for."""
    return tx.all(sql.watches_of_node, WatchRow, node=node)


def settle_file_watches(tx: Tx, watches: Sequence[NewWatch], node: str, now: Millis) -> list[str]:
    """Make the watches that come from the settings those that stand there now; what could not be done, in words."""
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
        elif any(getattr(found, key) != value for key, value in _values(watch, now).items() if key != "now"):
            _replace(tx, found, watch, now)
    tx.changes.watches = True
    return troubles


def _values(watch: NewWatch, now: Millis) -> dict[str, Any]:
    return {
        "name": watch.name,
        "kind": watch.kind,
        "path": watch.path,
        "globs": msgspec.json.encode(watch.globs).decode(),
        "ignores": msgspec.json.encode(watch.ignores).decode(),
        "gitignore": int(watch.gitignore),
        "job_type": watch.task,
        "queue": watch.queue,
        "payload": watch.payload,
        "subject": watch.subject,
        "tenant": watch.tenant,
        "priority": watch.priority,
        "debounce_ms": watch.debounce_ms,
        "max_wait_ms": watch.max_wait_ms,
        "max_jobs": watch.max_jobs,
        "initial": int(watch.initial),
        "settle_ms": watch.settle_ms,
        "timeout_ms": watch.timeout_ms,
        "retry": None if watch.policy is None else msgspec.json.encode(watch.policy).decode(),
        "cpu": watch.tokens.cpu,
        "gpu": watch.tokens.gpu,
        "io": watch.tokens.io,
        "now": now,
    }


def _replace(tx: Tx, old: WatchRow, watch: NewWatch, now: Millis) -> None:
    values = _values(watch, now)
    name = values.pop("name")
    assert name == old.name
    if (old.kind, old.path) != (watch.kind, watch.path):
        tx.run(sql.forget_watch_files, watch_id=old.id)
        tx.run(sql.forget_watch_changes, watch_id=old.id)
    looks = ("kind", "path", "globs", "ignores", "gitignore")
    is_rescanned = any(getattr(old, field) != values[field] for field in looks)
    tx.run(sql.replace_watch, id=old.id, is_rescanned=int(is_rescanned), **values)


def _delete(tx: Tx, row: WatchRow) -> None:
    tx.run(sql.forget_watch_files, watch_id=row.id)
    tx.run(sql.forget_watch_changes, watch_id=row.id)
    tx.run(sql.delete_watch, id=row.id)
    tx.changes.watches = True


def _enable(tx: Tx, ref: str, enabled: bool, now: Millis) -> Watch:
    row = _row(tx, ref)
    if tx.run(sql.enable_watch, id=row.id, enabled=int(enabled), now=now):
        tx.changes.watches = True
    return find_watch(tx, row.id)


def _belongs(tx: Tx, row: WatchRow) -> str:
    return f"the watch {row.name!r} belongs to node {name_of(tx, row.node)!r}"


def _refuse_foreign(tx: Tx, row: WatchRow) -> None:
    if row.node != tx.here():
        raise Conflict(f"{_belongs(tx, row)}; choose another name")
    if row.origin == "file":
        raise Conflict(f"the watch {row.name!r} comes from the daemon's settings; change it there")


def _view(tx: Tx, row: WatchRow) -> Watch:
    known = row.job_type is None or is_known(tx, row.job_type)
    return row.to_watch(name_of(tx, row.node), tx.value(sql.count_watch_files, watch_id=row.id), known)


def _row(tx: Tx, ref: str) -> WatchRow:
    found = tx.one(sql.watch_by_name, WatchRow, name=ref) or tx.one(sql.watch_by_id, WatchRow, id=ref)
    if found is None:
        raise NotFound(f"there is no watch {ref!r}; to see which there are: holdfast watch ls")
    return found
