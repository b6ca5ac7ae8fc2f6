"""From changes on the disk to jobs: what was seen is remembered in the transaction that stores the jobs for it.

So a crash at any moment leaves either both or neither, and whatever is left out is found by the next look at the disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.git import Move
from holdfast.core.job import Millis
from holdfast.core.planning import about_change, about_many, about_moves, job_of, trigger_of
from holdfast.core.requests import NewJob
from holdfast.core.subject import DEFAULT_TENANT
from holdfast.core.watch import Change, FileChange, Seen, below, differences
from holdfast.store.engine import Tx
from holdfast.store.scripts.changed_files import gather, hand_over, keep_changes, waiting_for
from holdfast.store.scripts.door import how_many_fit
from holdfast.store.scripts.enqueue import enqueue_any
from holdfast.store.scripts.events import publish
from holdfast.store.scripts.known_tasks import Tasks
from holdfast.store.scripts.queues import find_queue
from holdfast.store.scripts.tenants import notice_work
from holdfast.store.scripts.watches import WatchRow
from holdfast.store.statements import sql

REPOSITORY = ""  # the path under which it is remembered where a repository stands


class Known(Struct, frozen=True, gc=False):
    """What a watch remembers of a path."""

    path: str
    fingerprint: str


class Planned(Struct, frozen=True):
    """How many changes were taken in, and how many jobs they became.

    `held` are the paths, or the moves, for whose jobs the queue has no room; nothing is remembered of them.
    """

    changes: int = 0
    jobs: int = 0
    held: tuple[str, ...] = ()


def files_behind(tx: Tx, watch_id: str, after: str, limit: int) -> list[Known]:
    """A page of what a watch remembers, by path."""
    return tx.all(sql.watch_files_behind, Known, watch_id=watch_id, after=after, limit=limit)


def files_below(tx: Tx, watch_id: str, folder: str, limit: int) -> list[Known]:
    """What a watch remembers of a folder that it is about."""
    # A slash is followed by "0" in the order of the characters.
    return tx.all(sql.watch_files_below, Known, watch_id=watch_id, first=f"{folder}/", behind=f"{folder}0", limit=limit)


def files_at(tx: Tx, watch_id: str, paths: Sequence[str]) -> list[Known]:
    """What a watch remembers of these paths."""
    return tx.all(sql.watch_files_at, Known, watch_id=watch_id, paths=msgspec.json.encode(paths).decode())


def plan(tx: Tx, watch_id: str, revision: int, seen: Sequence[Seen], now: Millis, *, is_first: bool = False) -> Planned:
    """Remember what was seen, and make a job of each difference. What another already took in makes none.

    `is_first`: the watch looks at this part of the disk for the first time, so what is new to it is no news.
    """
    watch = _current(tx, watch_id, revision)
    if watch is None:
        return Planned()
    changes = _differing(tx, watch, seen)
    told = changes
    if is_first and not watch.initial:
        told = [change for change in changes if change.change is Change.MODIFIED]
    made = _fitting(tx, watch, [about_change(watch, change) for change in told])
    held = {change.path for change, job in zip(told, made, strict=True) if job is None} if watch.task else set()
    _remember(tx, watch, [change for change in changes if change.path not in held])
    changes = [change for change in told if change.path not in held]
    if not changes:
        return Planned(held=tuple(sorted(held)))
    jobs = _enqueue(tx, watch, made, now, is_edit=not is_first)
    for change in changes:
        attributes = {"watch": watch.name, "path": below(watch.path, change.path), "change": change.change.value}
        publish(tx, "file:changed", attributes, now, trigger_of(watch, attributes))
    _note(tx, watch, len(changes), jobs, watch.untold, now)
    return Planned(len(changes), jobs, tuple(sorted(held)))


def take_in(tx: Tx, watch_id: str, revision: int, seen: Sequence[Seen], now: Millis) -> Planned:
    """Remember a part of what was seen when that is too much for single jobs; `tell` makes one for all of it."""
    watch = _current(tx, watch_id, revision)
    if watch is None:
        return Planned()
    changes = _differing(tx, watch, seen)
    if changes:
        _remember(tx, watch, changes)
        keep_changes(tx, watch.id, changes)
        _note(tx, watch, len(changes), 0, watch.untold + len(changes), now)
    return Planned(len(changes))


def tell(tx: Tx, watch_id: str, now: Millis) -> Planned:
    """One job for all that was taken in. It takes the place of one that waits, and is about the files of both."""
    watch = tx.one(sql.watch_by_id, WatchRow, id=watch_id)
    if watch is None or not watch.untold:
        return Planned()
    [job] = _fitting(tx, watch, [about_many(watch, watch.untold, [])])
    if job is None and watch.task is not None:
        return Planned(held=("",))
    about = gather(tx, watch.id, watch.path, watch.untold, None if job is None else waiting_for(tx, job))
    if job is not None:
        job = _job(Tasks(tx), watch, about_many(watch, about.total, about.paths), job.id)
    jobs = _enqueue(tx, watch, [job], now)
    if job is not None:
        hand_over(tx, watch.id, watch.path, job.id, about)
    tx.run(sql.forget_watch_changes, watch_id=watch.id)
    attributes = {"watch": watch.name, "path": watch.path, "change": Change.MODIFIED.value, "bulk": "true"}
    publish(tx, "file:changed", attributes, now, trigger_of(watch, attributes))
    _note(tx, watch, 0, jobs, 0, now)
    return Planned(0, jobs)


def plan_moves(
    tx: Tx,
    watch_id: str,
    revision: int,
    known: str | None,
    fingerprint: str,
    moves: Sequence[Move],
    now: Millis,
) -> Planned:
    """Remember where a repository stands, and make a job of each move; nothing if another did so first.

    Moves of which only some would find room in their queue are told in one job.
    """
    watch = _current(tx, watch_id, revision)
    if watch is None or where_it_stood(tx, watch_id) != known:
        return Planned()
    told = about_moves(watch, moves, watch.max_jobs)
    made = _fitting(tx, watch, told)
    if watch.task is not None and None in made:
        if not any(made):
            return Planned(held=tuple(move.new for move in moves))
        told = about_moves(watch, moves, 1)
        made = _fitting(tx, watch, told)
    tx.run(sql.remember_watch_file, watch_id=watch_id, path=REPOSITORY, fingerprint=fingerprint)
    jobs = _enqueue(tx, watch, made, now)
    for fields in told:
        attributes = {name: str(fields[name]) for name in ("watch", "repo", "path", "branch", "head", "old_head")}
        publish(tx, f"git:{fields['event']}", attributes, now, trigger_of(watch, fields))
    if moves:
        _note(tx, watch, len(moves), jobs, watch.untold, now)
    return Planned(len(moves), jobs)


def where_it_stood(tx: Tx, watch_id: str) -> str | None:
    """What is remembered of a repository."""
    found = files_at(tx, watch_id, [REPOSITORY])
    return found[0].fingerprint if found else None


def note_scanned(tx: Tx, watch_id: str, revision: int, now: Millis) -> None:
    """The watch has seen everything once; from now on what is new is news."""
    tx.run(sql.note_watch_scanned, id=watch_id, revision=revision, now=now)


def note_waits(tx: Tx, watch_id: str, waits_for: str | None) -> None:
    """What keeps changes from becoming jobs, in words; None if nothing does."""
    tx.run(sql.note_watch_waits, id=watch_id, waits_for=waits_for)


def note_problem(tx: Tx, watch_id: str, problem: str | None) -> None:
    """What keeps the watch from seeing, in words; None if nothing does."""
    tx.run(sql.note_watch_problem, id=watch_id, problem=problem)


def _current(tx: Tx, watch_id: str, revision: int) -> WatchRow | None:
    """The watch, unless it was changed, paused or removed since somebody looked at the disk for it."""
    watch = tx.one(sql.watch_by_id, WatchRow, id=watch_id)
    return watch if watch is not None and watch.enabled and watch.revision == revision else None


def _differing(tx: Tx, watch: WatchRow, seen: Sequence[Seen]) -> list[FileChange]:
    before = {known.path: known.fingerprint for known in files_at(tx, watch.id, [item.path for item in seen])}
    return differences(before, seen)


def _remember(tx: Tx, watch: WatchRow, changes: Sequence[FileChange]) -> None:
    there = [change for change in changes if change.fingerprint is not None]
    gone = [change for change in changes if change.fingerprint is None]
    if there:
        rows = [{"watch_id": watch.id, "path": item.path, "fingerprint": item.fingerprint} for item in there]
        tx.run_many(sql.remember_watch_file, rows)
    if gone:
        tx.run_many(sql.forget_watch_file, [{"watch_id": watch.id, "path": item.path} for item in gone])


def _note(tx: Tx, watch: WatchRow, changes: int, jobs: int, untold: int, now: Millis) -> None:
    tx.run(sql.note_watch_changes, id=watch.id, changes=changes, jobs=jobs, untold=untold, now=now)


def _fitting(tx: Tx, watch: WatchRow, told: Sequence[Mapping[str, Any]]) -> list[NewJob | None]:
    """A job for each, or None for those that its queue has no room for; without a task there are none at all."""
    if watch.task is None:
        return [None] * len(told)
    tasks = Tasks(tx)
    jobs = [_job(tasks, watch, fields, tx.new_id()) for fields in told]
    if not jobs or find_queue(tx, jobs[0].line[0]).max_length is None:
        return [*jobs]
    # One that takes the place of another, in the queue or among these, needs no room.
    subjects: set[str | None] = set()
    needing = []
    for job in jobs:
        if job.subject not in subjects and waiting_for(tx, job) is None:
            needing.append(job)
        subjects.add(job.subject)
    left_out = {job.subject for job in needing[how_many_fit(tx, needing) :]}
    return [None if job.subject in left_out else job for job in jobs]


def _enqueue(tx: Tx, watch: WatchRow, made: Sequence[NewJob | None], now: Millis, *, is_edit: bool = True) -> int:
    """Store the jobs. Whoever edits works with their tenants, whose word counts more for a while."""
    jobs = [job for job in made if job is not None]
    tenants = {job.line[1] for job in jobs} or {watch.tenant or DEFAULT_TENANT}
    for tenant in sorted(tenants - {DEFAULT_TENANT}) if is_edit and made else ():
        notice_work(tx, tenant, now)
    return len(enqueue_any(tx, jobs, now)) if jobs else 0


def _job(tasks: Tasks, watch: WatchRow, fields: Mapping[str, Any], job_id: str) -> NewJob:
    """The job for a change. Nobody is there to hear that its arguments do not fit its task: the run says so.

    It is about what its task says; about the file, where the task says nothing, or makes no subject of the change.
    """
    assert watch.task is not None
    if tasks.options_of(watch.task).subject is not None:
        job = tasks.resolve(job_of(watch, fields, job_id, task_has_subject=True))
        if job.subject is not None:
            return job
    return tasks.resolve(job_of(watch, fields, job_id))
