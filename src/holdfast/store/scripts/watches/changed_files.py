"""The files that a job of a watch is about. They are kept until the job is made, and then stored beside it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from holdfast.core.job import JobId
from holdfast.core.jobs.requests import NewJob
from holdfast.core.messages.watches import ChangedFile, ChangedFiles
from holdfast.core.rules.limits import MOST_CHANGED
from holdfast.core.values.watch import Change, FileChange, below
from holdfast.decoding import decode
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.scripts.watches.watches import WatchRow
from holdfast.store.statements import sql

MOST_LINKS = 100


class Gathered(Struct, frozen=True):
    """The files of a job: paths relative to the folder of the watch."""

    paths: list[str]
    total: int
    truncated: bool
    carried: list[ChangedFile] = []


class _FileTrigger(Struct, frozen=True):
    """The trigger of a job about one file."""

    kind: str
    watch: str
    path: str
    change: Change
    bulk: bool = False


class _List(Struct, frozen=True):
    root: str
    total: int
    truncated: int


class _FileRow(Struct, frozen=True):
    path: str
    change: str


class _Waiting(Struct, frozen=True):
    id: str
    queue: str


def changed_files(tx: Tx, job_id: JobId, after: str = "", limit: int = MOST_CHANGED) -> ChangedFiles:
    """The files that a job of a watch is about, by path. Other jobs have none.

    `after` is the `relative` path of the last file of an earlier answer. A retry is about the same as the job before.
    """
    row = read_jobs.find_row(tx, job_id)
    for _ in range(MOST_LINKS):
        found = tx.one(sql.changed_file_list, _List, job_id=row.id)
        if found is not None:
            page = tx.all(sql.changed_files_behind, _FileRow, job_id=row.id, after=after, limit=limit)
            files = [ChangedFile(below(found.root, item.path), item.path, Change(item.change)) for item in page]
            return ChangedFiles(files, found.total, bool(found.truncated))
        before = row.retry_of or row.retried_from
        link = None if before is None else tx.one(sql.job_by_id, JobRow, id=before)
        if link is None:
            break
        row = link
    return ChangedFiles() if after else _of_trigger(tx, row.trigger)


def keep_changes(tx: Tx, watch_id: str, changes: Sequence[FileChange]) -> None:
    """Keep changed files for the next job, up to the number that a job may have."""
    room = MOST_CHANGED - int(tx.value(sql.count_watch_changes, watch_id=watch_id))
    rows = [{"watch_id": watch_id, "path": item.path, "change": item.change.value} for item in changes[: max(0, room)]]
    if rows:
        tx.run_many(sql.note_watch_change, rows)


def waiting_for(tx: Tx, job: NewJob) -> JobId | None:
    """The waiting job that this one would supersede, in the same queue."""
    found = tx.one(sql.waiting_of_subject, _Waiting, job_type=job.task, subject_key=job.subject)
    return found.id if found is not None and found.queue == job.line[0] else None


def gather(tx: Tx, watch_id: str, root: str, untold: int, before: JobId | None) -> Gathered:
    """The files of the next job of a watch: those that were kept, and those of the job that it supersedes."""
    own = {row["path"] for row in tx.rows(sql.watch_changes, watch_id=watch_id)}
    old = ChangedFiles() if before is None else changed_files(tx, before)
    carried = [file for file in old if file.relative not in own and file.path == below(root, file.relative)]
    paths = sorted(own | {file.relative for file in carried})
    truncated = old.truncated or untold > len(own) or len(paths) > MOST_CHANGED
    total = untold + old.total if truncated else len(paths)
    return Gathered(paths[:MOST_CHANGED], total, truncated, carried[: MOST_CHANGED - len(own)])


def hand_over(tx: Tx, watch_id: str, root: str, job_id: JobId, about: Gathered) -> None:
    """Store the files of a job that is stored already. Nothing is kept any more."""
    tx.run(sql.take_watch_changes, watch_id=watch_id, job_id=job_id)
    tx.run(sql.forget_watch_changes, watch_id=watch_id)
    rows = [{"job_id": job_id, "path": file.relative, "change": file.change.value} for file in about.carried]
    if rows:
        tx.run_many(sql.insert_changed_file, rows)
    tx.run(sql.insert_changed_file_list, job_id=job_id, root=root, total=about.total, truncated=int(about.truncated))


def _of_trigger(tx: Tx, trigger: str | None) -> ChangedFiles:
    """The file in the trigger of a job about one file."""
    try:
        cause = decode(trigger or "", _FileTrigger)
    except msgspec.MsgspecError:
        return ChangedFiles()  # A caller that enqueues a job may give it any trigger.
    if cause.kind != "watch" or cause.bulk:
        return ChangedFiles()
    watch = tx.one(sql.watch_by_name, WatchRow, name=cause.watch)
    relative = cause.path if watch is None else cause.path.removeprefix(f"{watch.path}/")
    return ChangedFiles([ChangedFile(cause.path, relative, cause.change)], 1)
