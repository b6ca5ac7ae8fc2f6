"""The tasks that workers have declared, with their recent versions."""

from __future__ import annotations

from itertools import groupby

import msgspec
from msgspec import Struct

from holdfast.core.job import Millis, SessionId
from holdfast.core.jobs.requests import COMMAND
from holdfast.core.messages.tasks import KnownTask, TaskVersion, UndeclaredTask
from holdfast.core.tasks.reserved import BEHIND_SYSTEM_TASKS, SYSTEM_TASKS
from holdfast.core.tasks.task import DeclaredTask, TaskOptions, check_declared
from holdfast.decoding import decode
from holdfast.store.engine import Tx
from holdfast.store.scripts.tasks import offers
from holdfast.store.scripts.tasks.known_tasks import MOST_NAMES, known_names, nearest_name, unknown_task
from holdfast.store.statements import sql

MOST_UNDECLARED = 10
LONGEST_LISTED = 2_048  # characters of the arguments


class VersionRow(Struct, frozen=True):
    """A row of `task_versions`, and how many workers offer it now."""

    task: str
    digest: str
    options: str
    arguments: str | None
    source: str | None
    doc: str | None
    live_since: Millis
    offered_at: Millis
    declared_at: Millis
    workers: int


def declare_tasks(
    tx: Tx, worker_id: str, declared: tuple[DeclaredTask, ...], offered: tuple[str, ...], now: Millis
) -> None:
    """Store the tasks that a worker declares. A version that other workers offer already is left alone."""
    check_declared(declared, offered)
    for task in declared:
        known, version = _versions(tx, task.name), {"task": task.name, "digest": task.digest}
        if not any(row.digest == task.digest and row.live_since for row in known):
            tx.run(
                sql.put_task_version,
                options=msgspec.json.encode(task.options).decode(),
                arguments=task.schema,
                source=task.source,
                doc=task.doc,
                # Later than every other version, even if the clock was set back.
                live_since=max([now, 1, *(row.live_since + 1 for row in known)]),
                now=now,
                **version,
            )
        tx.run(sql.insert_task_offer, worker_id=worker_id, **version)


def withdraw_tasks(tx: Tx, session_id: SessionId, now: Millis) -> None:
    """Note that the workers of a session offer nothing any more. Called before their rows are deleted."""
    tx.run(sql.rest_task_versions, session_id=session_id, now=now)


def list_tasks(tx: Tx, after: str = "", limit: int = 1_000) -> list[KnownTask]:
    """The tasks that workers have declared, by name. With `after`, those after this name."""
    rows = tx.all(sql.list_task_versions, VersionRow, after=after, limit=limit, longest=LONGEST_LISTED)
    return [_known(name, list(versions)) for name, versions in groupby(rows, key=lambda row: row.task)]


def find_task(tx: Tx, name: str) -> KnownTask:
    """A task that workers have declared, with all its versions, or UnknownTask."""
    rows = _versions(tx, name)
    if not rows:
        raise unknown_task(tx, name)
    return _known(name, rows)


def list_undeclared(tx: Tx) -> list[UndeclaredTask]:
    """Tasks that jobs wait for, and that no worker has declared lately or offers now: the ten with the most jobs."""
    offered = {task for worker in offers.living_workers(tx) for task in msgspec.json.decode(worker.tasks)}
    which = {"command": COMMAND, "first": SYSTEM_TASKS, "behind": BEHIND_SYSTEM_TASKS}
    rows = tx.rows(sql.undeclared_tasks, limit=MOST_NAMES, **which)
    names = sorted({*known_names(tx), *offered})
    found = [row for row in rows if row["task"] not in offered][:MOST_UNDECLARED]
    return [UndeclaredTask(**row, nearest=nearest_name(row["task"], names)) for row in found]


def forget_tasks(tx: Tx, before: Millis, limit: int) -> int:
    """Delete versions that no worker has offered since `before`. Return how many."""
    found = tx.rows(sql.old_task_versions, before=before, limit=limit)
    if found:
        tx.run_many(sql.delete_task_version, found)
    return len(found)


def _versions(tx: Tx, task: str) -> list[VersionRow]:
    return tx.all(sql.versions_of_task, VersionRow, task=task)


def _known(name: str, rows: list[VersionRow]) -> KnownTask:
    return KnownTask(name=name, workers=sum(row.workers for row in rows), versions=[_version(row) for row in rows])


def _version(row: VersionRow) -> TaskVersion:
    return TaskVersion(
        digest=row.digest,
        options=decode(row.options, TaskOptions),
        arguments=None if row.arguments is None else msgspec.json.decode(row.arguments),
        source=row.source,
        doc=row.doc,
        workers=row.workers,
        declared_at=row.declared_at,
        offered_at=row.offered_at,
    )
