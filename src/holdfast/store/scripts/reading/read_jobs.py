"""Read jobs, runs, lists and counts."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from msgspec import Struct, structs

from holdfast.core.declared.option_fields import with_filters
from holdfast.core.declared.options import FILTERS
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.job import JobId, Millis, RunId, StateName
from holdfast.core.jobs import requests
from holdfast.core.jobs.requests import JobFilter
from holdfast.core.jobs.run import Run
from holdfast.core.jobs.stored_job import Job
from holdfast.core.jobs.trigger import by_event, by_retry
from holdfast.core.messages.jobs import Count, Page
from holdfast.core.rules.limits import MAX_INT
from holdfast.store.engine import Tx
from holdfast.store.option_columns import stored_value
from holdfast.store.rows import JobRow, ListedRunRow, RunRow
from holdfast.store.scripts.machines import nodes
from holdfast.store.scripts.reading import pages
from holdfast.store.scripts.reading.pages import HEAD_READ, WHOLE_BYTES
from holdfast.store.statements import Statement, sql


class Link(Struct, frozen=True):
    """The last job of a retry chain, which stands for all of it."""

    id: JobId
    state: str
    generation: int | None
    number: int
    queue: str


def find_row(tx: Tx, ref: JobId | int) -> JobRow:
    """The job with this id or number, or NotFound."""
    number = ref if isinstance(ref, int) else int(ref) if ref.isascii() and ref.isdigit() and len(ref) < 19 else None
    found = (
        tx.one(sql.job_by_id, JobRow, id=ref) if number is None else tx.one(sql.job_by_number, JobRow, number=number)
    )
    if found is None:
        raise NotFound(f"there is no job {ref!r}")
    return found


def find_job(tx: Tx, ref: JobId | int) -> Job:
    """The job with this id or number, or NotFound."""
    [job] = nodes.to_jobs(tx, [find_row(tx, ref)])
    return job


def last_link(tx: Tx, job_id: JobId) -> Link | None:
    """The last job of the retry chain that goes on from this one."""
    return tx.one(sql.last_link, Link, id=job_id)


def is_last_link(tx: Tx, job_id: JobId) -> bool:
    """Whether no other job continues this one."""
    link = last_link(tx, job_id)
    return link is not None and link.id == job_id


def find_last(tx: Tx, job_id: JobId) -> Job:
    """The last job of the retry chain that goes on from this one, or NotFound."""
    link = last_link(tx, job_id)
    if link is None:
        raise NotFound(f"there is no job {job_id!r}")
    return find_job(tx, link.id)


def runs_of(tx: Tx, job_id: JobId) -> list[Run]:
    """Every run of a job and of the links that continue it, oldest first. Long snapshots are cut as in all lists."""
    runs: list[Run] = []
    for link in tx.rows(sql.chain_of_job, id=job_id):
        runs += _runs_of_link(tx, link["id"], runs[-1] if runs else None)
    return runs


def find_run(tx: Tx, run_id: RunId) -> Run:
    """The run with this id, or NotFound."""
    found = tx.one(sql.run_by_id, RunRow, id=run_id)
    if found is None:
        raise NotFound(f"there is no run {run_id!r}")
    listed = next(run for run in _runs_of_link(tx, found.job_id) if run.id == run_id)
    return msgspec.structs.replace(found.to_run(), trigger=listed.trigger)


class Cause(Struct, frozen=True):
    """A row of `trigger_of_job`."""

    trigger: str | None
    retry_of: JobId | None
    event_id: str | None
    event_name: str | None


def _runs_of_link(tx: Tx, job_id: JobId, before: Run | None = None) -> list[Run]:
    """The runs of one job, each with its trigger. `before` is the last run of the link that the job continues."""
    runs: list[Run] = []
    for row in _rows_of_runs(tx, job_id):
        before = runs[-1] if runs else before
        run = row.to_run()
        made = _first_trigger(tx, job_id) if before is None else by_retry(before.id, before.status)
        runs.append(msgspec.structs.replace(run, trigger=made))
    return runs


def _rows_of_runs(tx: Tx, job_id: JobId) -> list[ListedRunRow]:
    return tx.all(sql.runs_of_job, ListedRunRow, job_id=job_id, most=WHOLE_BYTES, head=HEAD_READ)


def _first_trigger(tx: Tx, job_id: JobId) -> str | None:
    cause = tx.one(sql.trigger_of_job, Cause, id=job_id)
    assert cause is not None
    if cause.retry_of is not None:
        earlier = _rows_of_runs(tx, cause.retry_of)
        if earlier:
            last = earlier[-1].to_run()
            return by_retry(last.id, last.status)
    if cause.event_id is not None:
        return by_event(cause.event_id, cause.event_name or "")
    return cause.trigger


def counts(tx: Tx) -> list[Count]:
    """Jobs per queue and state, without a scan."""
    return tx.all(sql.queue_counts, Count)


def list_jobs(tx: Tx, wanted: JobFilter, limit: int = 50, cursor: str | None = None, payloads: bool = False) -> Page:
    """A page of jobs, newest first. It ends at `limit` jobs, or sooner at 2 MiB, with a cursor if there are more.

    A payload, result, checkpoint or `env` of more than 4 KiB is null, and `cut` has its size and how it begins, unless
    `payloads` asks for all of them.
    """
    below = MAX_INT if cursor is None else read_cursor(cursor)
    numbers = newest_numbers(tx, wanted, limit + 1, below)
    page = pages.read_page(tx, numbers[:limit], payloads=payloads)
    return Page(page, make_cursor(page[-1].number) if len(page) < len(numbers) else None)


@with_filters
def jobs_like(
    tx: Tx,
    /,
    state: tuple[StateName, ...] = (),
    task: str | None = None,
    schedule_id: str | None = None,
    subject_prefix: str | None = None,
    created_after: Millis | None = None,
    error_text: str | None = None,
    without_system: bool = False,
    limit: int = 50,
    cursor: str | None = None,
    payloads: bool = False,
    **options: Any,
) -> Page:
    """A page of jobs, newest first, by what they have in common. It is bounded as a page of a search is."""
    wanted = JobFilter(
        states=state,
        task=task,
        schedule_id=schedule_id,
        subject_prefix=subject_prefix,
        created_after=created_after,
        error_text=error_text,
        without_system=without_system,
        **options,
    )
    return list_jobs(tx, wanted, limit, cursor, payloads)


def newest_numbers(tx: Tx, wanted: JobFilter, limit: int, below: int = MAX_INT) -> list[int]:
    """The numbers of the newest jobs that a filter names. Each state is read from the index that fits best."""
    found: list[int] = []
    for statement, params in _lanes(tx, _by_id(tx, wanted)):
        found += tx.all(statement, int, below=below, limit=limit, **params)
    return sorted(found, reverse=True)[:limit]


def _by_id(tx: Tx, wanted: JobFilter) -> JobFilter:
    """The filter with ids in place of the names of a group and a schedule. An id may be of one that is gone."""
    group, schedule = wanted.group_id, wanted.schedule_id
    if group is not None and not tx.rows(sql.group_of_id, id=group):
        group = next((row["id"] for row in tx.rows(sql.group_of_name, name=group)), group)
    if schedule is not None:
        schedule = next((row["id"] for row in tx.rows(sql.schedule_by_name, name=schedule)), schedule)
    return structs.replace(wanted, group_id=group, schedule_id=schedule)


def _lanes(tx: Tx, wanted: JobFilter) -> list[tuple[Statement, dict[str, Any]]]:
    states: tuple[StateName | None, ...] = tuple(dict.fromkeys(wanted.states)) or (None,)
    params = _params(wanted)
    if wanted.schedule_id is not None:
        own = {"schedule_id": wanted.schedule_id}
        return [(sql.list_jobs_by_schedule, params | own | {"state": state}) for state in states]
    if wanted.tag is not None:
        return [(sql.list_jobs_by_tag, params | {"state": state}) for state in states]
    if wanted.group_id is not None:
        return [(sql.list_jobs_by_group, params | {"state": state}) for state in states]
    if wanted.subject_prefix is not None:
        return [(sql.list_jobs_by_subject, params | {"state": state}) for state in states]
    if wanted.states:
        queues = [wanted.queue] if wanted.queue else sorted({count.queue for count in counts(tx)})
        if wanted.without_system and not wanted.queue:
            # The filter would leave them out too, but only after it has read all of their jobs.
            queues = [queue for queue in queues if not requests.is_system_queue(queue)]
        return [(_by_state(state), params | {"state": state, "queue": queue}) for state in states for queue in queues]
    return [(sql.list_jobs, params | {"state": None})]


def _by_state(state: StateName | None) -> Statement:
    return sql.list_jobs_ready if state is StateName.QUEUED else sql.list_jobs_by_state


def _params(wanted: JobFilter) -> dict[str, Any]:
    prefix = wanted.subject_prefix
    text = wanted.error_text
    return {
        **{option.wire: stored_value(option, getattr(wanted, option.wire)) for option in FILTERS},
        "task": wanted.task,
        "subject_from": prefix,
        "subject_to": None if prefix is None else prefix + "\U0010ffff",
        "created_after": wanted.created_after,
        "without_system": int(wanted.without_system and wanted.queue is None),
        "error_text": None if text is None else f"%{_escaped(_lower(text))}%",
    }


def _lower(text: str) -> str:
    """In lower case as both databases do it: letters beyond ASCII stay as they are."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def make_cursor(number: int) -> str:
    """A cursor: what comes below this number."""
    return base64.urlsafe_b64encode(f"n{number}".encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> int:
    """The number in a cursor, or InvalidInput."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        if text.startswith("n") and text[1:].isdigit() and int(text[1:]) <= MAX_INT:
            return int(text[1:])
    except (binascii.Error, ValueError):
        pass
    raise InvalidInput(f"cursor {cursor!r} is not one that a list returned; start without a cursor")
