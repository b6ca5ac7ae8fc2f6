"""The errors a user can meet. Each type has a stable `code`; each message says what was wrong and what to do."""

from __future__ import annotations

from typing import ClassVar


class HoldfastError(Exception):
    """The root of everything Holdfast raises on purpose. Each type has a `code` that stays the same.

    >>> from holdfast import Holdfast, HoldfastError
    >>> try:
    ...     Holdfast("work.db").job("nowhere")
    ... except HoldfastError as error:
    ...     print(f"{error.code}: {error}")
    ERR_NOT_FOUND: there is no job 'nowhere'
    """

    code: ClassVar[str] = "ERR_HOLDFAST"
    # In how many seconds to ask again, if that is known. Then nothing was stored.
    retry_after: float | None = None
    # Whether a caller should ask again by itself. Not if the call has waited for long already.
    is_worth_repeating: bool = True


class InvalidInput(HoldfastError, ValueError):
    """What the caller gave does not fit; nothing was stored or changed.

    >>> from holdfast import Holdfast
    >>> Holdfast("work.db").jobs(limit=0)
    Traceback (most recent call last):
    holdfast.core.errors.InvalidInput: limit 0 is not valid: use a whole number from 1 to 1000
    """

    code = "ERR_INVALID_INPUT"


class InvalidPayload(InvalidInput):
    """The arguments of a job do not fit the task's signature, or are not JSON.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double.enqueue(x="one")
    Traceback (most recent call last):
    holdfast.core.errors.InvalidPayload: the payload does not fit task 'double': Expected `int`, got `str` - at `$.x`
    """

    code = "ERR_INVALID_PAYLOAD"


class Reserved(InvalidInput):
    """A name that belongs to the system: an event such as `job.done`, a queue or a task such as `holdfast.canary`.

    >>> from holdfast import Holdfast
    >>> Holdfast("work.db").emit("job.done")
    Traceback (most recent call last):
    holdfast.core.errors.Reserved: event 'job.done' is reserved: what begins with job. is told by the system; \
choose another name
    """

    code = "ERR_RESERVED"


class NotFound(HoldfastError, LookupError):
    """There is no such job, group, reservation or cursor.

    >>> from holdfast import Holdfast
    >>> Holdfast("work.db").job(1234)
    Traceback (most recent call last):
    holdfast.core.errors.NotFound: there is no job 1234
    """

    code = "ERR_NOT_FOUND"


class UnknownTask(NotFound):
    """No worker has declared a task of this name lately; the message names the nearest one. Nothing was stored.

    >>> from holdfast import Holdfast, UnknownTask
    >>> try:
    ...     Holdfast("work.db").enqueue("clean_up", must_exist=True)
    ... except UnknownTask as error:
    ...     print(error)
    there is no task 'clean_up' (no worker has declared any task yet)
    """

    code = "ERR_UNKNOWN_TASK"


class Elsewhere(NotFound):
    """A log or an artifact is on another machine, which the message names.

    >>> from holdfast import Elsewhere, NotFound
    >>> issubclass(Elsewhere, NotFound)
    True
    """

    code = "ERR_ELSEWHERE"


class Conflict(HoldfastError):
    """Another call was first: the row is no longer in the state that this call expected.

    >>> from holdfast import Conflict, Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def clean() -> None: ...
    >>> job = clean.enqueue()
    >>> hf.drain()
    1
    >>> try:
    ...     job.move("top")
    ... except Conflict:
    ...     print("too late")
    too late
    """

    code = "ERR_CONFLICT"


class Busy(HoldfastError):
    """The scope is reserved by another program.

    >>> from holdfast import Busy
    >>> Busy.code
    'ERR_BUSY'
    """

    code = "ERR_BUSY"


class QueueFull(HoldfastError):
    """A queue has as many waiting jobs as it may; nothing was enqueued. `retry_after` says when to ask again.

    It is None where no waiting helps: for more jobs at once than the queue may ever hold.

    >>> from holdfast import Holdfast, QueueFull
    >>> hf = Holdfast("work.db", wait_for_room=0)
    >>> @hf.task
    ... def clean() -> None: ...
    >>> _ = hf.set_queue("default", max_length=1)
    >>> _ = clean.enqueue()
    >>> try:
    ...     clean.enqueue()
    ... except QueueFull as error:
    ...     print(error.code, error.retry_after)
    ERR_QUEUE_FULL 1.0
    """

    code = "ERR_QUEUE_FULL"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooManyRunning(HoldfastError):
    """As many workspaces as may are or shall be RUNNING; the message names them, and nothing was changed.

    >>> from holdfast import TooManyRunning
    >>> TooManyRunning.code
    'ERR_TOO_MANY_RUNNING'
    """

    code = "ERR_TOO_MANY_RUNNING"


class WorkspaceFailed(HoldfastError):
    """A workspace that somebody waits for is in ERROR; the message says why, and what to do.

    >>> from holdfast import WorkspaceFailed
    >>> WorkspaceFailed.code
    'ERR_WORKSPACE'
    """

    code = "ERR_WORKSPACE"


class InvalidToken(HoldfastError):
    """The token for a daemon is missing, wrong, expired or revoked.

    >>> from holdfast import InvalidToken
    >>> InvalidToken.code
    'ERR_TOKEN'
    """

    code = "ERR_TOKEN"


class NotAllowed(HoldfastError):
    """The role of the caller does not include this; the message names the role that does.

    >>> from holdfast import NotAllowed
    >>> NotAllowed.code
    'ERR_ROLE'
    """

    code = "ERR_ROLE"


class NotHolder(HoldfastError):
    """The caller acts for a session, or reports a run, without the secret that the session was opened with.

    >>> from holdfast import NotHolder
    >>> NotHolder.code
    'ERR_NOT_HOLDER'
    """

    code = "ERR_NOT_HOLDER"


class StoreError(HoldfastError):
    """The database could not do what was asked.

    >>> from holdfast import Holdfast, StoreError
    >>> try:
    ...     Holdfast("missing/work.db").counts()
    ... except StoreError as error:
    ...     print(error.code)
    ERR_STORE_UNAVAILABLE
    """

    code = "ERR_STORE"


class StoreUnavailable(StoreError):
    """The database cannot be opened or used: not a database, read-only, closed, corrupt, unreachable.

    >>> from holdfast import Holdfast, StoreUnavailable
    >>> try:
    ...     Holdfast("missing/work.db").counts()
    ... except StoreUnavailable as error:
    ...     print(str(error).endswith("missing does not exist; create it first"))
    True
    """

    code = "ERR_STORE_UNAVAILABLE"


class NoDaemon(StoreUnavailable):
    """No daemon answers: none runs, or it is not reached at this address. `holdfast up` starts one.

    >>> from holdfast import Holdfast, NoDaemon
    >>> try:
    ...     Holdfast("http://127.0.0.1:1").counts()
    ... except NoDaemon as error:
    ...     print(error.code)
    ERR_NO_DAEMON
    """

    code = "ERR_NO_DAEMON"


class StoreBusy(StoreError):
    """Another program kept the database locked, or its write-ahead log is too long. Nothing was written; try again.

    >>> from holdfast import StoreBusy, StoreError
    >>> issubclass(StoreBusy, StoreError)
    True
    """

    code = "ERR_STORE_BUSY"


class StoreFull(StoreError):
    """The disk is full, or nearly so that no new jobs are taken. Nothing was written.

    >>> from holdfast import StoreError, StoreFull
    >>> issubclass(StoreFull, StoreError)
    True
    """

    code = "ERR_STORE_FULL"


class StoreCorrupt(StoreUnavailable):
    """The file is damaged, or is not a database.

    >>> from pathlib import Path
    >>> from holdfast import Holdfast, StoreCorrupt
    >>> _ = Path("letter.txt").write_text("Dear Ada, " * 100)
    >>> try:
    ...     Holdfast("letter.txt").counts()
    ... except StoreCorrupt as error:
    ...     print(error.code)
    ERR_STORE_CORRUPT
    """

    code = "ERR_STORE_CORRUPT"


class OutcomeUnknown(StoreError):
    """The commit failed half-way: it may or may not be there. Repeat with the same idempotency key.

    >>> from holdfast import Holdfast, OutcomeUnknown
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def ship(order: int) -> None: ...
    >>> once = ship.options(idempotency_key="order 5")
    >>> try:
    ...     job = once.enqueue(order=5)
    ... except OutcomeUnknown:
    ...     job = once.enqueue(order=5)
    >>> once.enqueue(order=5).id == job.id
    True
    """

    code = "ERR_OUTCOME_UNKNOWN"


class SchemaMismatch(StoreError):
    """The database's schema is newer than this program, or was changed by hand.

    >>> from holdfast import SchemaMismatch
    >>> SchemaMismatch.code
    'ERR_SCHEMA'
    """

    code = "ERR_SCHEMA"


class JobError(HoldfastError):
    """A job ended without a result. `job_id` and `state` say which and how.

    >>> from holdfast import Holdfast, JobError
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def clean() -> None: ...
    >>> job = clean.enqueue()
    >>> _ = job.cancel()
    >>> try:
    ...     job.result()
    ... except JobError as error:
    ...     print(error.state)
    CANCELLED
    """

    code = "ERR_JOB"

    def __init__(self, message: str, *, job_id: str, state: str, error_code: str | None = None) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.state = state
        self.error_code = error_code


class JobFailed(JobError):
    """The job's last try failed; `error_code` and the message are those of that try.

    >>> from holdfast import Holdfast, JobFailed
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def divide(a: int, b: int) -> float:
    ...     return a / b
    >>> job = divide.enqueue(a=1, b=0)
    >>> hf.drain()
    1
    >>> try:
    ...     job.result()
    ... except JobFailed as error:
    ...     print(error.error_code)
    ZeroDivisionError
    """

    code = "ERR_JOB_FAILED"


class JobCancelled(JobError):
    """The job was cancelled, superseded or skipped before it had a result.

    >>> from holdfast import Holdfast, JobCancelled
    >>> hf = Holdfast("work.db")
    >>> @hf.task(subject="file::{path}")
    ... def index(path: str) -> None: ...
    >>> older, newer = index.enqueue(path="a.py"), index.enqueue(path="a.py")
    >>> try:
    ...     older.result()
    ... except JobCancelled as error:
    ...     print(error.state)
    SUPERSEDED
    """

    code = "ERR_JOB_CANCELLED"


class StillRunning(HoldfastError, TimeoutError):
    """The time-out of a wait passed before the job ended. The job itself is untouched.

    >>> from holdfast import Holdfast, StillRunning
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def clean() -> None: ...
    >>> try:
    ...     clean.enqueue().result(timeout=0.1)
    ... except StillRunning:
    ...     print("later, then")
    later, then
    """

    code = "ERR_WAIT_TIMEOUT"
