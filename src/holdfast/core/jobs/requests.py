"""The requests to the store and its answers. All layers use these definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from holdfast.core.declared.option import SaidIn
from holdfast.core.declared.option_fields import filter_fields, option_fields, told_fields
from holdfast.core.declared.options import OPTIONS, JobOptions
from holdfast.core.job import JobId, Millis, RunId, SessionId, StateName
from holdfast.core.jobs.settle import Outcome

DEFAULT_QUEUE: str = OPTIONS["queue"].default
_TENANT: str = OPTIONS["tenant"].default
_PRIORITY: int = OPTIONS["priority"].default

Line: TypeAlias = tuple[str, str, int]  # a queue, a tenant and a priority


@option_fields(SaidIn.CALL, empty=True)
class NewJob(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job to be stored, with its options as they are sent. At most one of `due` and `delay_ms` is set.

    None means that the task decides, unless the request is `complete`: then the options of the task are in it already.
    If it has no `policy` or `timeout_ms` after that, the queue decides. `node` is the only machine that may run it, by
    name or id.
    """

    id: JobId
    task: str
    payload: str = "{}"
    parent_job_id: JobId | None = None
    trigger: str | None = None
    template_id: str | None = None
    schedule_id: str | None = None
    fire_time: Millis | None = None
    complete: bool = False

    if TYPE_CHECKING:  # Its other fields are the options, which are declared once, in `options`.

        def __init__(self, **fields: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    @property
    def line(self) -> Line:
        """The line that it joins."""
        return self.queue or DEFAULT_QUEUE, self.tenant or _TENANT, self.priority or _PRIORITY

    @property
    def is_plain(self) -> bool:
        """Whether no stored job matters to it, except for its place in the queue."""
        return (
            self.subject is None
            and self.idempotency_key is None
            and self.group_id is None
            and not self.after
            and self.wait_for_event is None
        )


class Enqueued(Struct, frozen=True, gc=False):
    """The answer to an enqueue. `existing`: an earlier request stands for this one, nothing was stored.

    `id` is None where the earlier job is already gone by retention ("already done"). `known` is false where no worker
    has declared the task lately: the job waits until one does. `number` is the job's, which is easier to say than its
    id.
    """

    id: JobId | None
    state: StateName
    generation: int | None = None
    existing: bool = False
    known: bool = True
    number: int | None = None


ANY_QUEUE = "*"
SYSTEM_QUEUE = "holdfast"  # the queue of the system's own jobs; others begin with `holdfast.`
COMMAND = "command"  # the task that every worker may offer, without code of the user
OF_COMMANDS: JobOptions = {"execution": "subprocess"}


class QueueSlots(Struct, frozen=True):
    """How many more jobs of a queue the caller can take. `*` means every queue that is not named."""

    queue: str
    slots: int


class ClaimRequest(Struct, frozen=True, kw_only=True):
    """A worker asks for jobs: at most `slots` in all, of these tasks, from these queues.

    `wild_tasks` are those it takes from queues that it does not name; None: all of them. `secret` is that of the
    session, if it was opened with one.
    """

    session_id: SessionId
    slots: int
    queues: tuple[QueueSlots, ...]
    tasks: tuple[str, ...]
    worker_id: str | None = None
    wild_tasks: tuple[str, ...] | None = None
    secret: str | None = None

    def __repr__(self) -> str:
        return f"<ClaimRequest of session {self.session_id} for {self.slots}>"  # A secret belongs in no log.


@told_fields
class Claimed(Struct, frozen=True, kw_only=True, gc=False):
    """A job handed to a worker, with all it needs to run it."""

    run_id: RunId
    job_id: JobId
    number: int
    task: str
    queue: str
    payload: str
    attempt: int
    started_at: Millis
    subject: str | None
    generation: int | None
    timeout_ms: Millis | None
    deadline: Millis | None
    checkpoint: str | None
    tag: str | None
    trace_id: str | None
    queued_at: Millis | None = None
    env: dict[str, str] | None = None
    execution: str | None = None


class Report(Struct, frozen=True, omit_defaults=True):
    """The outcome of a run, for the store."""

    run_id: RunId
    job_id: JobId
    outcome: Outcome
    duration_ms: int
    exit_code: int | None = None
    traceback: str | None = None
    artifacts: str | None = None
    log_path: str | None = None
    artifact_path: str | None = None


class Settled(Struct, frozen=True):
    """What became of the job: its state after the report. `refused` says why a report was not accepted."""

    run_id: RunId
    job_id: JobId | None
    state: StateName | None
    refused: str | None = None


def is_system_queue(name: str) -> bool:
    """Whether the jobs of a queue are the system's own."""
    return name == SYSTEM_QUEUE or name.startswith(f"{SYSTEM_QUEUE}.")


@filter_fields
class JobFilter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which jobs a list or a bulk action means. None: any.

    `without_system` leaves out the system's own jobs, such as canaries, unless their queue is named.
    """

    states: tuple[StateName, ...] = ()
    task: str | None = None
    schedule_id: str | None = None
    subject_prefix: str | None = None
    created_after: Millis | None = None
    error_text: str | None = None
    without_system: bool = False

    if TYPE_CHECKING:  # Its other fields are options, which are declared once, in `options`.

        def __init__(self, **fields: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
