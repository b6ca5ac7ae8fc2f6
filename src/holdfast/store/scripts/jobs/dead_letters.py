"""Dead letters: jobs that failed for good, by the fingerprint of their error. All of one can be dealt with at once."""

from __future__ import annotations

import base64
import binascii

from msgspec import Struct

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.job import Millis
from holdfast.core.jobs import order
from holdfast.core.jobs.fingerprint import pattern_of
from holdfast.core.jobs.order import Ranked
from holdfast.core.jobs.settle import POISON_CODE
from holdfast.core.messages.dead_letters import (
    AT_ONCE,
    ClosedAs,
    Closing,
    DeadLetterJobs,
    DeadLetterPage,
    DeadLetters,
    Example,
)
from holdfast.core.rules.limits import MAX_INT
from holdfast.core.values.retry import FailureKind
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.jobs import dead_letter_rows
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.reading import pages, read_jobs
from holdfast.store.statements import sql

LONGEST_MESSAGE = 1_000
FIRST, BEHIND = "f", "g"  # every fingerprint is between them


class _DeadJobRow(Struct, frozen=True):
    fingerprint: str
    kind: str
    jobs: int
    first_seen: int
    last_seen: int
    error_code: str | None
    reason: str | None
    job_id: str
    number: int
    job_type: str
    queue: str

    def to_letters(self) -> DeadLetters:
        said = self.reason or ""
        return DeadLetters(
            fingerprint=self.fingerprint,
            kind=FailureKind(self.kind),
            code=self.error_code or "",
            pattern=pattern_of(said),
            jobs=self.jobs,
            first_seen=self.first_seen,
            last_seen=self.last_seen,
            is_poison=self.error_code == POISON_CODE,
            example=Example(self.job_id, self.number, self.job_type, self.queue, said[:LONGEST_MESSAGE]),
        )


def list_dead_letters(tx: Tx, limit: int = 50, cursor: str | None = None, poison: bool = False) -> DeadLetterPage:
    """Jobs that failed for good and are not dealt with, by fingerprint, the last seen first.

    With `poison`, only jobs that are parked because process after process died with them.
    """
    moment, fingerprint = (MAX_INT, BEHIND) if cursor is None else _read_cursor(cursor)
    found = tx.all(
        sql.list_dead_letters,
        _DeadJobRow,
        first=FIRST,
        last=BEHIND,
        below_moment=moment,
        below_fingerprint=fingerprint,
        poison=int(poison),
        limit=limit + 1,
    )
    page = [row.to_letters() for row in found[:limit]]
    return DeadLetterPage(page, _make_cursor(page[-1]) if len(found) > limit else None)


def find_dead_letters(
    tx: Tx, fingerprint: str, limit: int = 50, cursor: str | None = None, payloads: bool = False
) -> DeadLetterJobs:
    """The open letters of one fingerprint, with a page of their jobs, newest first. It is bounded as every list."""
    letters = _find(tx, fingerprint)
    below = MAX_INT if cursor is None else read_jobs.read_cursor(cursor)
    numbers = tx.all(sql.list_dead_jobs, int, fingerprint=fingerprint, below=below, limit=limit + 1)
    page = pages.read_page(tx, numbers[:limit], payloads=payloads)
    return DeadLetterJobs(letters, page, read_jobs.make_cursor(page[-1].number) if len(page) < len(numbers) else None)


def retry_dead_letters(
    tx: Tx,
    fingerprint: str,
    now: Millis,
    priority: int | None = None,
    upto: int | None = None,
    limit: int = AT_ONCE,
    trigger: str | None = None,
) -> Closing:
    """Run the jobs of a fingerprint again, as new jobs, at most `limit` at once, in the order of their enqueue.

    Members of a sequential group keep their turns among the jobs of one call.

    Jobs whose subject has a newer generation are not run again: what they would do is out of date.
    """
    last = _find(tx, fingerprint).example.number if upto is None else upto
    found = tx.all(sql.open_dead_letters, int, fingerprint=fingerprint, upto=last, limit=limit + 1)
    jobs = tx.all(sql.ranked_jobs, Ranked, numbers=pages.as_list(found[:limit]))
    retried = outdated = 0
    for job in order.in_turn(jobs[::-1]):
        if _is_outdated(tx, read_jobs.find_row(tx, job.id)):
            outdated += dead_letter_rows.close_letter(
                tx, job.id, ClosedAs.OUTDATED, now, trigger, "a newer generation exists"
            )
            continue
        again = tx.new_id()
        # Closed first: of two retries at the same time, one makes the new job.
        if dead_letter_rows.close_letter(tx, job.id, ClosedAs.RETRIED, now, trigger, retried_as=again):
            retry_job(tx, job.id, now, priority, again, trigger)
            retried += 1
    return Closing(retried, outdated, len(found) > limit, last)


def discard_dead_letters(
    tx: Tx,
    fingerprint: str,
    now: Millis,
    reason: str | None = None,
    upto: int | None = None,
    limit: int = AT_ONCE,
    trigger: str | None = None,
) -> Closing:
    """Take the letters of a fingerprint from the list, at most `limit` at once. Their jobs stay as they are."""
    last = _find(tx, fingerprint).example.number if upto is None else upto
    which = {"fingerprint": fingerprint, "upto": last}
    closed = tx.run(sql.discard_dead_letters, now=now, closed_by=trigger, reason=reason, limit=limit, **which)
    return Closing(closed, 0, bool(tx.rows(sql.open_dead_letters, limit=1, **which)), last)


def _find(tx: Tx, fingerprint: str) -> DeadLetters:
    place = {"below_moment": MAX_INT, "below_fingerprint": BEHIND, "poison": 0}
    found = tx.one(sql.list_dead_letters, _DeadJobRow, first=fingerprint, last=fingerprint, limit=1, **place)
    if found is None:
        raise NotFound(
            f"there are no dead letters with the fingerprint {fingerprint!r}; they may have been retried, discarded "
            "or forgotten with their jobs"
        )
    return found.to_letters()


def _is_outdated(tx: Tx, job: JobRow) -> bool:
    if job.subject_key is None:
        return False
    newest = tx.value(sql.newest_generation, job_type=job.job_type, subject_key=job.subject_key)
    return newest is not None and newest > (job.generation or 0)


def _make_cursor(letters: DeadLetters) -> str:
    return base64.urlsafe_b64encode(f"{letters.last_seen}.{letters.fingerprint}".encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> tuple[Millis, str]:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        moment, dot, fingerprint = text.partition(".")
        if dot and moment.isdigit() and int(moment) <= MAX_INT and fingerprint.isalnum():
            return int(moment), fingerprint
    except (binascii.Error, ValueError):
        pass
    raise InvalidInput(f"cursor {cursor!r} is not one that a list returned; start without a cursor")
