"""Pages of jobs, bounded in bytes: long documents are left out, and a page ends before it grows too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from holdfast.core.jobs.stored_job import Job
from holdfast.store.engine import Tx
from holdfast.store.rows import HEAD_CHARS, JobRow, ListedRow
from holdfast.store.scripts.machines import nodes
from holdfast.store.statements import sql

WHOLE_BYTES = 4 << 10
PAGE_BYTES = 2 << 20
ROWS_AT_ONCE = 100
# More than is shown: a secret at its end is recognised by what follows it.
HEAD_READ = 4 * HEAD_CHARS


def read_page(tx: Tx, numbers: Sequence[int], *, payloads: bool) -> list[Job]:
    """The jobs with these numbers, in this order, as many as a page takes. `payloads`: with whole documents."""
    jobs: list[Job] = []
    size = 0
    for job in _listed(tx, numbers):
        if payloads and job.cut:
            row = tx.one(sql.job_by_number, JobRow, number=job.number)
            assert row is not None
            [job] = nodes.to_jobs(tx, [row])
        size += len(msgspec.json.encode(job))
        if jobs and size > PAGE_BYTES:
            break
        jobs.append(job)
    return jobs


def as_list(numbers: Sequence[int]) -> str:
    """Numbers as a JSON list, for a statement."""
    return msgspec.json.encode(numbers).decode()


def _listed(tx: Tx, numbers: Sequence[int]) -> Iterator[Job]:
    for start in range(0, len(numbers), ROWS_AT_ONCE):
        wanted = numbers[start : start + ROWS_AT_ONCE]
        rows = tx.all(sql.listed_jobs, ListedRow, numbers=as_list(wanted), most=WHOLE_BYTES, head=HEAD_READ)
        found = {job.number: job for job in nodes.to_jobs(tx, rows)}
        yield from (found[number] for number in wanted if number in found)
