"""What a job waits for or has waited for: which conditions came true, when, and by which event."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import WAITING, JobId, Millis, StateName
from holdfast.core.messages.conditions import Condition, ConditionKind
from holdfast.core.values.event import EVENT
from holdfast.core.values.group import Needs
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.statements import sql


class ConditionRow(Struct, frozen=True):
    """A row of `conditions_shown`."""

    key: str
    value: str
    satisfied_at: Millis | None
    satisfied_by: str | None
    event_name: str | None


def conditions_of(tx: Tx, job_id: JobId, now: Millis) -> list[Condition]:
    """Everything that a job waits for or has waited for, except the gates of its queue and of its worker."""
    job = read_jobs.find_row(tx, job_id)
    rows = tx.all(sql.conditions_shown, ConditionRow, job_id=job.id)
    return [
        *_time(job, now),
        *_event(job, rows),
        *(_behind(row) for row in rows if row.key.startswith(("after:", "group:"))),
        *_machine(job),
    ]


def _time(job: JobRow, now: Millis) -> list[Condition]:
    # After the first run, this is the moment of the next try.
    is_first = not job.attempts or (job.attempts == 1 and job.state not in WAITING)
    if job.scheduled_at is None or not is_first:
        return []
    is_met = job.scheduled_at <= now
    return [
        Condition(
            kind=ConditionKind.TIME,
            is_met=is_met,
            met_at=job.scheduled_at if is_met else None,
            at=job.scheduled_at,
        )
    ]


def _event(job: JobRow, rows: list[ConditionRow]) -> list[Condition]:
    found = next((row for row in rows if row.key == EVENT), None)
    if found is None:
        return []
    prefix = f"{EVENT}."
    return [
        Condition(
            kind=ConditionKind.EVENT,
            is_met=found.satisfied_at is not None,
            met_at=found.satisfied_at,
            event=job.wait_for_event,
            attributes={row.key.removeprefix(prefix): row.value for row in rows if row.key.startswith(prefix)},
            event_id=found.satisfied_by,
            event_name=found.event_name,
        )
    ]


def _behind(row: ConditionRow) -> Condition:
    kind, _, before = row.key.partition(":")
    if kind == "group":
        named = ConditionKind.TURN
    else:
        named = ConditionKind.AFTER if row.value == Needs.DONE else ConditionKind.AFTER_ENDED
    return Condition(kind=named, is_met=row.satisfied_at is not None, met_at=row.satisfied_at, job_id=before)


def _machine(job: JobRow) -> list[Condition]:
    wanted = {ConditionKind.IDLE: job.wait_for_idle, ConditionKind.CHARGING: job.require_charging}
    ran = bool(job.attempts) or job.state == StateName.RUNNING
    return [Condition(kind=kind, is_met=ran) for kind, is_wanted in wanted.items() if is_wanted]
