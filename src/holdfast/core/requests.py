"""What is asked of the store, and what it answers: one definition of each shape for every layer above."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.group import Needs
from holdfast.core.job import JobId, Millis, RunId, SessionId, StateName
from holdfast.core.limits import (
    MAX_INT,
    MAX_NAME,
    MAX_PRIORITY,
    MAX_SUBJECT,
    check_duration,
    check_int,
    check_label,
    check_moment,
    check_name,
    check_payload,
    shown,
)
from holdfast.core.retry import RetryPolicy
from holdfast.core.settle import Outcome
from holdfast.core.subject import DEFAULT_TENANT


class Dependency(Struct, frozen=True):
    """The job must not start before another one is done, or has ended whatever the outcome."""

    job_id: JobId
    needs: Needs = Needs.DONE


class NewJob(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job to be stored. `due` is a moment, `delay_ms` counts from the enqueue; at most one of them is set."""

    id: JobId
    task: str
    queue: str = "default"
    payload: str = "{}"
    priority: int = 0
    tenant: str = DEFAULT_TENANT
    subject: str | None = None
    generation: int | None = None
    stop_older: bool = False
    due: Millis | None = None
    delay_ms: Millis | None = None
    ttl_ms: Millis | None = None
    deadline: Millis | None = None
    timeout_ms: Millis | None = None
    policy: RetryPolicy = RetryPolicy()
    tag: str | None = None
    group_id: str | None = None
    after: tuple[Dependency, ...] = ()
    idempotency_key: str | None = None
    parent_job_id: JobId | None = None
    trace_id: str | None = None
    trigger: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether nothing that is stored already can matter to it but its place in the queue."""
        return self.subject is None and self.idempotency_key is None and self.group_id is None and not self.after


class Enqueued(Struct, frozen=True):
    """The answer to an enqueue. `existing`: an earlier request stands for this one, nothing was stored.

    `id` is None where the earlier job is already gone by retention ("already done").
    """

    id: JobId | None
    state: StateName
    generation: int | None = None
    existing: bool = False


ANY_QUEUE = "*"
SYSTEM_QUEUE = "holdfast"  # the queue of the system's own jobs; others begin with `holdfast.`
COMMAND = "command"  # the task that every worker may offer without code of the user's


class QueueSlots(Struct, frozen=True):
    """How many more jobs of a queue the caller can take; `*` means every queue that is not named beside it."""

    queue: str
    slots: int


class ClaimRequest(Struct, frozen=True, kw_only=True):
    """A worker asks for jobs: at most `slots` in all, of these tasks, from these queues.

    `wild_tasks` are those it takes from queues that it does not name; None: all of them.
    """

    session_id: SessionId
    slots: int
    queues: tuple[QueueSlots, ...]
    tasks: tuple[str, ...]
    worker_id: str | None = None
    wild_tasks: tuple[str, ...] | None = None


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
    group_id: str | None = None
    subject_prefix: str | None = None
    created_after: Millis | None = None
    error_text: str | None = None
    without_system: bool = False


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


def check_new_job(job: NewJob) -> None:
    """Refuse a job that came from outside and does not fit; what the Python surface makes fits by construction."""
    if not _UUID.fullmatch(job.id):
        raise InvalidInput(f"id {shown(job.id)} is not valid: use a UUID in lower case, best a UUIDv7")
    check_name("task", job.task)
    check_name("queue", job.queue)
    check_int("priority", job.priority, -MAX_PRIORITY, MAX_PRIORITY)
    for what, label, longest in (
        ("tenant", job.tenant, MAX_NAME),
        ("tag", job.tag, MAX_NAME),
        ("idempotency_key", job.idempotency_key, MAX_NAME),
        ("subject", job.subject, MAX_SUBJECT),
    ):
        if label is not None:
            check_label(what, label, longest)
    for what, duration in (("delay_ms", job.delay_ms), ("ttl_ms", job.ttl_ms), ("timeout_ms", job.timeout_ms)):
        if duration is not None:
            check_duration(what, duration)
    for what, moment in (("due", job.due), ("deadline", job.deadline)):
        if moment is not None:
            check_moment(what, moment)
    if job.generation is not None:
        check_int("generation", job.generation, 0, MAX_INT)
    encoded = job.payload.encode("utf-8", "surrogatepass")
    check_payload(encoded, "the payload")
    try:
        if not isinstance(msgspec.json.decode(encoded), dict):
            raise InvalidPayload("the payload is not a JSON object: give the task's arguments by name")
    except msgspec.DecodeError as error:
        raise InvalidPayload(f"the payload is not JSON: {error}") from None
