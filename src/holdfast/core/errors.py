"""The errors a user can meet. Each type has a stable `code`; each message says what was wrong and what to do."""

from __future__ import annotations

from typing import ClassVar


class HoldfastError(Exception):
    """The root of everything Holdfast raises on purpose."""

    code: ClassVar[str] = "ERR_HOLDFAST"


class InvalidInput(HoldfastError, ValueError):
    """What the caller gave does not fit; nothing was stored or changed."""

    code = "ERR_INVALID_INPUT"


class InvalidPayload(InvalidInput):
    """The arguments of a job do not fit the task's signature, or are not JSON."""

    code = "ERR_INVALID_PAYLOAD"


class NotFound(HoldfastError, LookupError):
    """There is no such job, group, reservation or cursor."""

    code = "ERR_NOT_FOUND"


class Conflict(HoldfastError):
    """Somebody was first: the row is no longer in the state that the call expected."""

    code = "ERR_CONFLICT"


class Busy(HoldfastError):
    """The scope is reserved by somebody else."""

    code = "ERR_BUSY"


class StoreError(HoldfastError):
    """The database could not do what was asked."""

    code = "ERR_STORE"


class StoreUnavailable(StoreError):
    """The database cannot be opened or used: not a database, read-only, closed, corrupt, unreachable."""

    code = "ERR_STORE_UNAVAILABLE"


class StoreBusy(StoreError):
    """A foreign program kept the database locked for too long. Nothing was written; try again."""

    code = "ERR_STORE_BUSY"


class StoreFull(StoreError):
    """The disk is full. Nothing was written."""

    code = "ERR_STORE_FULL"


class StoreCorrupt(StoreUnavailable):
    """The file is damaged, or is not a database."""

    code = "ERR_STORE_CORRUPT"


class OutcomeUnknown(StoreError):
    """The commit failed half-way: it may or may not be there. Repeat with the same idempotency key."""

    code = "ERR_OUTCOME_UNKNOWN"


class SchemaMismatch(StoreError):
    """The database's schema is newer than this program, or was changed by hand."""

    code = "ERR_SCHEMA"


class JobError(HoldfastError):
    """A job ended without a result. `job_id` and `state` say which and how."""

    code = "ERR_JOB"

    def __init__(self, message: str, *, job_id: str, state: str, error_code: str | None = None) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.state = state
        self.error_code = error_code


class JobFailed(JobError):
    """The job's last try failed; `error_code` and the message are those of that try."""

    code = "ERR_JOB_FAILED"


class JobCancelled(JobError):
    """The job was cancelled, superseded or skipped before it had a result."""

    code = "ERR_JOB_CANCELLED"


class StillRunning(HoldfastError, TimeoutError):
    """The time-out of a wait passed before the job ended. The job itself is untouched."""

    code = "ERR_WAIT_TIMEOUT"
