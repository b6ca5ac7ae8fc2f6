"""What a job came after, and what became of it: results travel from predecessors to successors."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.job import JobId, StateName
from holdfast.store.engine import Tx
from holdfast.store.scripts.look import find_row, last_link
from holdfast.store.statements import sql


class Predecessor(Struct, frozen=True):
    """A job that another one came after, as its last link. `result_json` is there if it is DONE.

    `is_previous`: it stands before the other one in a sequential group.
    """

    id: JobId
    number: int
    task: str
    state: StateName
    result_json: str | None = None
    is_previous: bool = False

    @property
    def result(self) -> Any:
        """What it returned; None if it returned nothing, or has no result."""
        return None if self.result_json is None else msgspec.json.decode(self.result_json)


class _Row(Struct, frozen=True):
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
    """What a job runs after: the member before it in a sequential group, then those it was told to come after."""
    mine = find_row(tx, job_id)
    found = [row.seen() for row in tx.all(sql.predecessors, _Row, job_id=mine.id)]
    if mine.group_seq is None:
        return found
    before: JobId | None = tx.value(sql.previous_member, job_id=mine.id)
    link = None if before is None else last_link(tx, before)
    if link is None:
        return found
    row = find_row(tx, link.id)
    previous = _Row(row.id, row.number, row.job_type, row.state, row.result_summary).seen(is_previous=True)
    return [previous, *(one for one in found if one.id != previous.id)]
