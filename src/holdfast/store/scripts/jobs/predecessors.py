"""The jobs that a job comes after, with their results."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import JobId, StateName
from holdfast.core.messages.jobs import Predecessor
from holdfast.store.engine import Tx
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.statements import sql


class _PredecessorRow(Struct, frozen=True):
    id: str
    number: int
    task: str
    state: str
    result_summary: str | None

    def seen(self, is_previous: bool = False) -> Predecessor:
        state = StateName(self.state)
        result = (self.result_summary or "null") if state is StateName.DONE else None
        return Predecessor(self.id, self.number, self.task, state, result, is_previous)


def predecessors(tx: Tx, job_id: JobId) -> list[Predecessor]:
    """The jobs that a job runs after: the member before it in a sequential group, then those of its `after`."""
    mine = read_jobs.find_row(tx, job_id)
    found = [row.seen() for row in tx.all(sql.predecessors, _PredecessorRow, job_id=mine.id)]
    if mine.group_seq is None:
        return found
    before: JobId | None = tx.value(sql.previous_member, job_id=mine.id)
    link = None if before is None else read_jobs.last_link(tx, before)
    if link is None:
        return found
    row = read_jobs.find_row(tx, link.id)
    previous = _PredecessorRow(row.id, row.number, row.job_type, row.state, row.result_summary).seen(is_previous=True)
    return [previous, *(one for one in found if one.id != previous.id)]
