"""Make jobs of changes on the disk. What was seen is remembered in the transaction that stores the jobs for it.

So a crash leaves either both or neither. What is left out is found by the next look at the disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.jobs.requests import NewJob
from holdfast.core.values.subject import DEFAULT_TENANT
from holdfast.core.values.watch import Change, FileChange, SeenFile, below, differences
from holdfast.core.watching import planning
from holdfast.core.watching.git import GitMove
from holdfast.core.watching.planning import WatchRule
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import publish
from holdfast.store.scripts.jobs import admission, enqueue
from holdfast.store.scripts.queues.queues import find_queue
from holdfast.store.scripts.queues.tenants import notice_work
from holdfast.store.scripts.tasks.known_tasks import Tasks
from holdfast.store.scripts.watches import changed_files
from holdfast.store.scripts.watches.watches import WatchRow
from holdfast.store.statements import sql

REPOSITORY = ""  # the path of the row that remembers a repository


class Known(Struct, frozen=True, gc=False):
    """What a watch remembers of a path."""

    path: str
    fingerprint: str


class Planned(Struct, frozen=True):
    """How many changes were taken in, and how many jobs they became.

    `held` are the paths, or the moves, for whose jobs the queue has no room. They are not remembered.
    """

    changes: int = 0
    jobs: int = 0
    held: tuple[str, ...] = ()


def files_behind(tx: Tx, watch_id: str, after: str, limit: int) -> list[Known]:
    """A page of what a watch remembers, by path."""
    return tx.all(sql.watch_files_behind, Known, watch_id=watch_id, after=after, limit=limit)


def files_below(tx: Tx, watch_id: str, folder: str, limit: int) -> list[Known]:
    """What a watch remembers of the files below a folder."""
    # A slash is followed by "0" in the order of the characters.
    return tx.all(sql.watch_files_below, Known, watch_id=watch_id, first=f"{folder}/", behind=f"{folder}0", limit=limit)


def files_at(tx: Tx, watch_id: str, paths: Sequence[str]) -> list[Known]:
    """What a watch remembers of these paths."""
    return tx.all(sql.watch_files_at, Known, watch_id=watch_id, paths=msgspec.json.encode(paths).decode())


def plan(
    tx: Tx, watch_id: str, revision: int, seen: Sequence[SeenFile], now: Millis, *, is_first: bool = False
) -> Planned:
    """Remember what was seen, and make a job of each difference. A change that another planner took in makes none.

    `is_first`: the planner looks for the first time, so files that are new to the watch make no jobs. If another
    planner has looked at everything since, they do.
    """
    watch = _current(tx, watch_id, revision)
    if watch is None:
        return Planned()
    is_first = is_first and watch.scanned_at is None
    changes = _differing(tx, watch, seen)
    told = changes
    rule = watch.told
    if is_first and not rule.initial:
        told = [change for change in changes if change.change is Change.MODIFIED]
    made = _fitting(tx, rule, [planning.about_change(rule, change) for change in told])
    held = {change.path for change, job in zip(told, made, strict=True) if job is None} if rule.task else set()
    _remember(tx, watch, [change for change in changes if change.path not in held])
    changes = [change for change in told if change.path not in held]
    if not changes:
        return Planned(held=tuple(sorted(held)))
    jobs = _enqueue(tx, rule, made, now, is_edit=not is_first)
    for change in changes:
        attributes = {"watch": watch.name, "path": below(watch.path, change.path), "change": change.change.value}
        publish(tx, "file:changed", attributes, now, planning.trigger_of(rule, attributes))
    _note(tx, watch, len(changes), jobs, watch.untold, now)
    return Planned(len(changes), jobs, tuple(sorted(held)))


def take_in(tx: Tx, watch_id: str, revision: int, seen: Sequence[SeenFile], now: Millis) -> Planned:
    """Remember a part of what was seen, if that is too much for single jobs. `tell` makes one job for all of it."""
    watch = _current(tx, watch_id, revision)
    if watch is None:
        return Planned()
    changes = _differing(tx, watch, seen)
    if changes:
        _remember(tx, watch, changes)
        changed_files.keep_changes(tx, watch.id, changes)
        _note(tx, watch, len(changes), 0, watch.untold + len(changes), now)
    return Planned(len(changes))


def tell(tx: Tx, watch_id: str, now: Millis) -> Planned:
    """Make one job for all that was taken in. It supersedes one that waits, and has the files of both."""
    watch = tx.one(sql.watch_by_id, WatchRow, id=watch_id)
    if watch is None or not watch.untold:
        return Planned()
    rule = watch.told
    [job] = _fitting(tx, rule, [planning.about_many(rule, watch.untold, [])])
    if job is None and rule.task is not None:
        return Planned(held=("",))
    about = changed_files.gather(
        tx, watch.id, watch.path, watch.untold, None if job is None else changed_files.waiting_for(tx, job)
    )
    if job is not None:
        job = _job(Tasks(tx), rule, planning.about_many(rule, about.total, about.paths), job.id)
    jobs = _enqueue(tx, rule, [job], now)
    if job is not None:
        changed_files.hand_over(tx, watch.id, watch.path, job.id, about)
    tx.run(sql.forget_watch_changes, watch_id=watch.id)
    attributes = {"watch": watch.name, "path": watch.path, "change": Change.MODIFIED.value, "bulk": "true"}
    publish(tx, "file:changed", attributes, now, planning.trigger_of(rule, attributes))
    _note(tx, watch, 0, jobs, 0, now)
    return Planned(0, jobs)


def plan_moves(
    tx: Tx,
    watch_id: str,
    revision: int,
    known: str | None,
    fingerprint: str,
    moves: Sequence[GitMove],
    now: Millis,
) -> Planned:
    """Remember the state of a repository, and make a job of each move. Nothing is done if another planner was first.

    If the queue has room for only some of the moves, one job tells them all.
    """
    watch = _current(tx, watch_id, revision)
    if watch is None or where_it_stood(tx, watch_id) != known:
        return Planned()
    rule = watch.told
    told = planning.about_moves(rule, moves, rule.max_jobs)
    made = _fitting(tx, rule, told)
    if rule.task is not None and None in made:
        if not any(made):
            return Planned(held=tuple(move.new for move in moves))
        told = planning.about_moves(rule, moves, 1)
        made = _fitting(tx, rule, told)
    tx.run(sql.remember_watch_file, watch_id=watch_id, path=REPOSITORY, fingerprint=fingerprint)
    jobs = _enqueue(tx, rule, made, now)
    for fields in told:
        attributes = {name: str(fields[name]) for name in ("watch", "repo", "path", "branch", "head", "old_head")}
        publish(tx, f"git:{fields['event']}", attributes, now, planning.trigger_of(rule, fields))
    if moves:
        _note(tx, watch, len(moves), jobs, watch.untold, now)
    return Planned(len(moves), jobs)


def where_it_stood(tx: Tx, watch_id: str) -> str | None:
    """What is remembered of a repository."""
    found = files_at(tx, watch_id, [REPOSITORY])
    return found[0].fingerprint if found else None


def note_scanned(tx: Tx, watch_id: str, revision: int, now: Millis) -> None:
    """Note that the watch has seen everything once. From now on new files make jobs."""
    tx.run(sql.note_watch_scanned, id=watch_id, revision=revision, now=now)


def note_waits(tx: Tx, watch_id: str, waits_for: str | None) -> None:
    """Store what keeps changes from becoming jobs, in words. None if nothing does."""
    tx.run(sql.note_watch_waits, id=watch_id, waits_for=waits_for)


def note_problem(tx: Tx, watch_id: str, problem: str | None) -> None:
    """Store what keeps the watch from seeing changes, in words. None if nothing does."""
    tx.run(sql.note_watch_problem, id=watch_id, problem=problem)


def _current(tx: Tx, watch_id: str, revision: int) -> WatchRow | None:
    """The watch. None if it was changed, paused or removed since the planner looked at the disk."""
    watch = tx.one(sql.watch_by_id, WatchRow, id=watch_id)
    return watch if watch is not None and watch.enabled and watch.revision == revision else None


def _differing(tx: Tx, watch: WatchRow, seen: Sequence[SeenFile]) -> list[FileChange]:
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


def _fitting(tx: Tx, rule: WatchRule, told: Sequence[Mapping[str, Any]]) -> list[NewJob | None]:
    """A job for each, or None if its queue has no room. Without a task there are no jobs."""
    if rule.task is None:
        return [None] * len(told)
    tasks = Tasks(tx)
    jobs = [_job(tasks, rule, fields, tx.new_id()) for fields in told]
    if not jobs or find_queue(tx, jobs[0].line[0]).max_length is None:
        return [*jobs]
    # A job that supersedes another, in the queue or among these, needs no room.
    subjects: set[str | None] = set()
    needing = []
    for job in jobs:
        if job.subject not in subjects and changed_files.waiting_for(tx, job) is None:
            needing.append(job)
        subjects.add(job.subject)
    left_out = {job.subject for job in needing[admission.how_many_fit(tx, needing) :]}
    return [None if job.subject in left_out else job for job in jobs]


def _enqueue(tx: Tx, rule: WatchRule, made: Sequence[NewJob | None], now: Millis, *, is_edit: bool = True) -> int:
    """Store the jobs. An edit is activity of their tenants, which weigh more for a while."""
    jobs = [job for job in made if job is not None]
    tenants = {job.line[1] for job in jobs} or {rule.tenant or DEFAULT_TENANT}
    for tenant in sorted(tenants - {DEFAULT_TENANT}) if is_edit and made else ():
        notice_work(tx, tenant, now)
    return len(enqueue.enqueue_any(tx, jobs, now)) if jobs else 0


def _job(tasks: Tasks, rule: WatchRule, fields: Mapping[str, Any], job_id: str) -> NewJob:
    """The job for a change. If its arguments do not fit its task, the run says so, as there is no caller.

    Its subject is that of its task. If the task has none, or makes none of the change, it is the file.
    """
    assert rule.task is not None
    if tasks.options_of(rule.task).subject is not None:
        job = tasks.resolve(planning.job_of(rule, fields, job_id, task_has_subject=True))
        if job.subject is not None:
            return job
    return tasks.resolve(planning.job_of(rule, fields, job_id))
