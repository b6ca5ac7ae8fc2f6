"""Jobs that failed for good, by the fingerprint of their error."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import JobId, Millis
from holdfast.core.jobs.stored_job import Job
from holdfast.core.values.retry import FailureKind

AT_ONCE = 200  # jobs that one call retries or discards


class ClosedAs(StrEnum):
    """How a letter was dealt with. Outdated: a newer generation of its subject replaces its job."""

    RETRIED = "retried"
    DISCARDED = "discarded"
    OUTDATED = "outdated"


class Letter(Struct, frozen=True):
    """The letter of a job that failed for good, and who has dealt with it, if that was done.

    `retried_as` is the job that was made of it; `closed_by` is a trigger, like those of jobs.
    """

    job_id: JobId
    number: int
    fingerprint: str
    kind: FailureKind
    failed_at: Millis
    closed_at: Millis | None = None
    closed_as: ClosedAs | None = None
    closed_by: str | None = None
    reason: str | None = None
    retried_as: JobId | None = None


class Example(Struct, frozen=True):
    """The newest job of a fingerprint, with the message of its failure. Long ones are cut."""

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
    """Some fingerprints, the last seen first, and the cursor of the next page if there is one."""

    letters: list[DeadLetters]
    cursor: str | None


class DeadLetterJobs(Struct, frozen=True):
    """The letters of one fingerprint with some of their jobs, newest first, and the cursor of the next page."""

    letters: DeadLetters
    jobs: list[Job]
    cursor: str | None


class Closing(Struct, frozen=True):
    """How many letters were dealt with. `outdated` are those of older generations, which do not run again.

    `more`: there are others, up to the job with the number `upto`. Give that to the next call, so that jobs that fail
    again meanwhile are left alone.
    """

    jobs: int
    outdated: int
    more: bool
    upto: int
