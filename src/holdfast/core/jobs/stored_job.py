"""A job as answers have it."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.declared.option_fields import answers_options
from holdfast.core.declared.option_kinds import Execution
from holdfast.core.job import JobId, Millis, ScheduleType, State
from holdfast.core.rules.tokens import NO_TOKENS, Tokens
from holdfast.core.values.retry import RetryPolicy, Tries


class Cut(Struct, frozen=True):
    """A document that a list leaves out: how many bytes it has, and how it begins, without what looks secret."""

    bytes: int
    head: str


@answers_options
class Job(Struct, frozen=True, kw_only=True):
    """One request to run a task, as it stands in the store.

    Lists leave out a payload, result, checkpoint or `env` of more than 4 KiB: it is None there, and `cut` tells of it
    by its name. Ask for the job itself to have it, or for a list with `payloads=True`.

    `schedule_type` says what it waited for at first. `log_path` and `artifact_path` are folders on the machine of
    its last run.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task(queue="maths", priority=5)
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> job = double.enqueue(x=21).job
    >>> job.task, job.queue, job.priority, job.payload, job.state.name
    ('double', 'maths', 5, '{"x":21}', <StateName.QUEUED: 'QUEUED'>)
    """

    id: JobId
    number: int
    task: str
    queue: str
    state: State
    payload: str | None
    priority: int
    position: int
    tenant: str
    created_at: Millis
    subject: str | None = None
    generation: int | None = None
    policy: RetryPolicy = RetryPolicy()
    tries: Tries = Tries()
    attempts: int = 0
    ttl_ms: Millis | None = None
    deadline: Millis | None = None
    timeout_ms: Millis | None = None
    tag: str | None = None
    group_id: str | None = None
    group_seq: int | None = None
    retry_of: JobId | None = None
    parent_job_id: JobId | None = None
    trigger: str | None = None
    trace_id: str | None = None
    idempotency_key: str | None = None
    checkpoint: str | None = None
    progress: float | None = None
    progress_text: str | None = None
    wait_for_idle: bool = False
    require_charging: bool = False
    wait_for_event: str | None = None
    template_id: str | None = None
    schedule_id: str | None = None
    fire_time: Millis | None = None
    tokens: Tokens = NO_TOKENS
    env: dict[str, str] | None = None
    execution: Execution = "in_process"
    stop_older: bool = False
    retried_from: JobId | None = None
    node: str | None = None
    schedule_type: ScheduleType = ScheduleType.IMMEDIATE
    log_path: str | None = None
    artifact_path: str | None = None
    cut: dict[str, Cut] = {}
