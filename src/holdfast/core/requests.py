"""What is asked of the store, and what it answers: one definition of each shape for every layer above."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from holdfast.core.group import Needs
from holdfast.core.job import JobId, Millis, RunId, SessionId, StateName
from holdfast.core.retry import RetryPolicy
from holdfast.core.settle import Outcome
from holdfast.core.subject import DEFAULT_TENANT
from holdfast.core.tokens import Tokens


class Dependency(Struct, frozen=True):
    """The job must not start before another one is done, or has ended whatever the outcome."""

    job_id: JobId
    needs: Needs = Needs.DONE


DEFAULT_QUEUE = "default"

Line: TypeAlias = tuple[str, str, int]  # a queue, a tenant and a priority


class NewJob(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job to be stored. `due` is a moment, `delay_ms` counts from the enqueue; at most one of them is set.

    What is None is as its task declares, unless the request is `complete`: then all is said that the task has to say.
    Without a `policy` or a `timeout_ms` after that, it has that of its queue. `node` is the machine that alone may run
    it, by name or id.
    """

    id: JobId
    task: str
    queue: str | None = None
    payload: str = "{}"
    priority: int | None = None
    tenant: str | None = None
    subject: str | None = None
    generation: int | None = None
    stop_older: bool | None = None
    due: Millis | None = None
    delay_ms: Millis | None = None
    ttl_ms: Millis | None = None
    deadline: Millis | None = None
    timeout_ms: Millis | None = None
    policy: RetryPolicy | None = None
    tag: str | None = None
    group_id: str | None = None
    after: tuple[Dependency, ...] = ()
    idempotency_key: str | None = None
    parent_job_id: JobId | None = None
    trace_id: str | None = None
    trigger: str | None = None
    wait_for_idle: bool | None = None
    require_charging: bool | None = None
    wait_for_event: str | None = None
    event_attributes: dict[str, str] = {}
    template_id: str | None = None
    schedule_id: str | None = None
    fire_time: Millis | None = None
    tokens: Tokens | None = None
    node: str | None = None
    complete: bool = False

    @property
    def line(self) -> Line:
        """Where it comes to stand."""
        return self.queue or DEFAULT_QUEUE, self.tenant or DEFAULT_TENANT, self.priority or 0

    @property
    def is_plain(self) -> bool:
        """Whether nothing that is stored already can matter to it but its place in the queue."""
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
    has declared the task lately: the job waits until one does.
    """

    id: JobId | None
    state: StateName
    generation: int | None = None
    existing: bool = False
    known: bool = True


ANY_QUEUE = "*"
SYSTEM_QUEUE = "holdfast"  # the queue of the system's own jobs; others begin with `holdfast.`
COMMAND = "command"  # the task that every worker may offer without code of the user's


class QueueSlots(Struct, frozen=True):
    """How many more jobs of a queue the caller can take; `*` means every queue that is not named beside it."""

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


class Report(Struct, frozen=True, omit_defaults=True):
    """A run's outcome on its way to the store."""

    run_id: RunId
    job_id: JobId
    outcome: Outcome
    duration_ms: int
    exit_code: int | None = None
    traceback: str | None = None
    artifacts: str | None = None
    log_path: str | None = None


class Settled(Struct, frozen=True):
    """What became of the job: its state after the report. `refused` says why a report was not accepted."""

    run_id: RunId
    job_id: JobId | None
    state: StateName | None
    refused: str | None = None


def is_system_queue(name: str) -> bool:
    """Whether the jobs of a queue are the system's own."""
    return name == SYSTEM_QUEUE or name.startswith(f"{SYSTEM_QUEUE}.")


class JobFilter(Struct, frozen=True, kw_only=True):
    """Which jobs a list or a bulk action means; None leaves a field open.

    `without_system` leaves out the system's own jobs, such as canaries, unless their queue is named.
    """

    states: tuple[StateName, ...] = ()
    queue: str | None = None
    task: str | None = None
    tag: str | None = None
    tenant: str | None = None
    group_id: str | None = None
    schedule_id: str | None = None
    subject_prefix: str | None = None
    created_after: Millis | None = None
    error_text: str | None = None
    without_system: bool = False
