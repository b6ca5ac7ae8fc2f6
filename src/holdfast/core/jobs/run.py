"""A run: one try at a job. Open while its status is None; once closed, its status never changes."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import JobId, Millis, RunId, SessionId
from holdfast.core.jobs.stored_job import Cut


class RunStatus(StrEnum):
    """How a run ended, as stored.

    >>> from holdfast import Holdfast, RunStatus, Skip
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def index(path: str) -> None:
    ...     raise Skip("the file is unchanged")
    >>> job = index.enqueue(path="a.py")
    >>> hf.drain()
    1
    >>> job.runs[0].status is RunStatus.SKIPPED
    True
    """

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"
    YIELDED = "YIELDED"


class Run(Struct, frozen=True, kw_only=True):
    """One try at a job, as it stands in the store. `trigger` says what made it happen, as JSON, `node` on
    which machine it was, `template_id` which template its job was made from.

    In a list, a `params_snapshot` of more than 4 KiB is None, and `cut` tells of it.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def divide(a: int, b: int) -> float:
    ...     return a / b
    >>> job = divide.enqueue(a=1, b=0)
    >>> hf.drain()
    1
    >>> for run in job.runs:
    ...     print(run.attempt, run.status, run.error_code, run.error)
    1 FAILED ZeroDivisionError division by zero
    """

    id: RunId
    job_id: JobId
    attempt: int
    status: RunStatus | None
    session_id: SessionId | None
    worker_id: str | None
    params_snapshot: str | None
    started_at: Millis
    finished_at: Millis | None
    duration_ms: int | None
    error_kind: str | None
    error_code: str | None
    error: str | None
    traceback: str | None
    exit_code: int | None
    pid: int | None
    pid_started_at: Millis | None
    trace_id: str | None
    log_path: str | None
    artifacts: str | None
    trigger: str | None = None
    cut: dict[str, Cut] = {}
    node: str | None = None
    template_id: str | None = None
