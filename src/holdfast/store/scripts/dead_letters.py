"""Dead letters: what failed for good, by what it failed of, and how to deal with all of one kind at once."""

from __future__ import annotations

import base64
import binascii

from msgspec import Struct

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.fingerprint import pattern_of
from holdfast.core.job import Job, JobId, Millis
from holdfast.core.limits import MAX_INT
from holdfast.core.order import Ranked, in_turn
from holdfast.core.retry import FailureKind
from holdfast.core.settle import POISON_CODE
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.letters import ClosedAs, close_letter
from holdfast.store.scripts.look import find_row, make_cursor, read_cursor
from holdfast.store.scripts.pages import as_keys, read_page
from holdfast.store.scripts.retry import retry_job
from holdfast.store.statements import sql

AT_ONCE = 200
LONGEST_MESSAGE = 1_000
FIRST, BEHIND = "f", "g"  # every fingerprint is between them


class Example(Struct, frozen=True):
    """The newest job of a fingerprint, and what it failed of in its own words; long ones are cut."""

    job_id: JobId
    number: int
    task: str
    queue: str
    message: str


class DeadLetters(Struct, frozen=True):
    """Every open letter of one fingerprint. `pattern` is what their messages have in common.

    `is_poison`: their jobs are parked, because three processes died with each of them alone in it.
    """

    fingerprint: str
    kind: FailureKind
    code: str
    pattern: str
    jobs: int
    first_seen: Millis
    last_seen: Millis
    is_poison: bool
    example: Example


class DeadLetterPage(Struct, frozen=True):
    """Some fingerprints, those that were seen last first, and the cursor of the next page if there is one."""

    letters: list[DeadLetters]
    cursor: str | None


class DeadLetterJobs(Struct, frozen=True):
    """The letters of one fingerprint with some of their jobs, newest first, and the cursor of the next page."""

    letters: DeadLetters
    jobs: list[Job]
    cursor: str | None


class Closing(Struct, frozen=True):
    """How many letters were dealt with. `outdated` are those of older generations, which do not run again.

    `more`: there are others, up to the job with the number `upto`; go on with that, so that jobs that fail again
    meanwhile are left alone.
    """

    jobs: int
    outdated: int
    more: bool
    upto: int


class _Row(Struct, frozen=True):
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
    """What failed for good and nobody has dealt with, by fingerprint; what was seen last comes first.

    With `poison`, only jobs that are parked because process after process died with them.
    """
    moment, fingerprint = (MAX_INT, BEHIND) if cursor is None else _read_cursor(cursor)
    found = tx.all(
        sql.list_dead_letters,
        _Row,
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
    """The open letters of one fingerprint with a page of their jobs, newest first, bounded as every list of jobs."""
    letters = _find(tx, fingerprint)
    below = MAX_INT if cursor is None else read_cursor(cursor)
    numbers = tx.all(sql.list_dead_jobs, int, fingerprint=fingerprint, below=below, limit=limit + 1)
    page = read_page(tx, numbers[:limit], payloads=payloads)
    return DeadLetterJobs(letters, page, make_cursor(page[-1].number) if len(page) < len(numbers) else None)


def retry_dead_letters(
    tx: Tx,
    fingerprint: str,
    now: Millis,
    priority: int | None = None,
    upto: int | None = None,
    limit: int = AT_ONCE,
    trigger: str | None = None,
) -> Closing:
    """Run the jobs of a fingerprint again, as new ones, at most `limit` at once, in the order of their enqueue.

    Of those that are dealt with at once, members of a sequential group keep their turns.

    Those whose subject has a newer generation are not run again: what they would do is out of date.
    """
    last = _find(tx, fingerprint).example.number if upto is None else upto
    found = tx.all(sql.open_dead_letters, int, fingerprint=fingerprint, upto=last, limit=limit + 1)
    jobs = tx.all(sql.ranked_jobs, Ranked, numbers=as_keys(found[:limit]))
    retried = outdated = 0
    for job in in_turn(jobs[::-1]):
        if _is_outdated(tx, find_row(tx, job.id)):
            outdated += close_letter(tx, job.id, ClosedAs.OUTDATED, now, trigger, "a newer generation exists")
            continue
        again = tx.new_id()
        # Closed first: of two who retry at the same time, one makes the new job.
        if close_letter(tx, job.id, ClosedAs.RETRIED, now, trigger, retried_as=again):
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
    """Take the letters of a fingerprint from the list, at most `limit` at once; their jobs stay as they are."""
    last = _find(tx, fingerprint).example.number if upto is None else upto
    which = {"fingerprint": fingerprint, "upto": last}
    closed = tx.run(sql.discard_dead_letters, now=now, closed_by=trigger, reason=reason, limit=limit, **which)
    return Closing(closed, 0, bool(tx.rows(sql.open_dead_letters, limit=1, **which)), last)


def _find(tx: Tx, fingerprint: str) -> DeadLetters:
    place = {"below_moment": MAX_INT, "below_fingerprint": BEHIND, "poison": 0}
    found = tx.one(sql.list_dead_letters, _Row, first=fingerprint, last=fingerprint, limit=1, **place)
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
