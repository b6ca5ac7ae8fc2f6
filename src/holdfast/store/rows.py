"""Rows as they come from the database, and the core types they become."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.declared import option_kinds
from holdfast.core.declared.option_kinds import RETRY
from holdfast.core.job import (
    Cancelled,
    Done,
    Failed,
    Queued,
    Running,
    Scheduled,
    ScheduleType,
    SkippedDeadline,
    SkippedTtl,
    State,
    StateName,
    Superseded,
)
from holdfast.core.jobs.run import Run, RunStatus
from holdfast.core.jobs.stored_job import Cut, Job
from holdfast.core.rules.tokens import Tokens
from holdfast.core.values.retry import RetryPolicy, Tries
from holdfast.observe.redact import redacted_head
from holdfast.store.option_columns import ANSWERED, LONG, OptionReader, with_columns, with_long_columns

HEAD_CHARS = 256
_ANSWERED_OPTIONS = OptionReader(ANSWERED)


@with_columns
class JobRow(Struct, frozen=True, gc=False):
    """A row of `jobs`, flat."""

    id: str
    number: int
    job_type: str
    position: int
    state: str
    created_at: int
    queued_at: int | None
    started_at: int | None
    finished_at: int | None
    session_id: str | None
    worker_id: str | None
    run_id: str | None
    payload: str
    error_code: str | None
    reason: str | None
    attempts: int
    transient_tries: int
    infra_tries: int
    deaths: int
    retry_of: str | None
    cancel_requested_at: int | None
    parent_job_id: str | None
    group_seq: int | None
    trigger: str | None
    result_summary: str | None
    checkpoint: str | None
    progress: float | None
    progress_text: str | None
    template_id: str | None
    schedule_id: str | None
    fire_time: int | None
    retried_from: str | None
    schedule_type: str
    log_path: str | None
    artifact_path: str | None

    if TYPE_CHECKING:  # Its other columns are those of the options, which are declared once, in `core.options`.

        def __getattr__(self, name: str) -> Any: ...

    def to_job(self, node: str | None) -> Job:
        """The job that this row describes; `node` is the name of the machine that it is tied to."""
        return Job(
            id=self.id,
            number=self.number,
            task=self.job_type,
            state=self._state(),
            payload=self.payload,
            position=self.position,
            created_at=self.created_at,
            tries=tries_of(self),
            attempts=self.attempts,
            group_seq=self.group_seq,
            retry_of=self.retry_of,
            parent_job_id=self.parent_job_id,
            trigger=self.trigger,
            checkpoint=self.checkpoint,
            progress=self.progress,
            progress_text=self.progress_text,
            template_id=self.template_id,
            schedule_id=self.schedule_id,
            fire_time=self.fire_time,
            retried_from=self.retried_from,
            schedule_type=ScheduleType(self.schedule_type),
            log_path=self.log_path,
            artifact_path=self.artifact_path,
            **(_ANSWERED_OPTIONS.read(self) | {"node": node}),
        )

    @property
    def tokens(self) -> Tokens:
        """What it takes of the machine."""
        return Tokens(self.cpu, self.gpu, self.io)

    def _state(self) -> State:
        ended = self.finished_at or 0
        match StateName(self.state):
            case StateName.SCHEDULED:
                return Scheduled(self.scheduled_at, self.reason)
            case StateName.QUEUED:
                return Queued(self.queued_at or self.created_at)
            case StateName.RUNNING:
                return Running(
                    since=self.started_at or self.created_at,
                    run_id=self.run_id or "",
                    session_id=self.session_id or "",
                    worker_id=self.worker_id,
                    cancel_requested_at=self.cancel_requested_at,
                )
            case StateName.DONE:
                return Done(ended, self.result_summary, self.reason)
            case StateName.FAILED:
                return Failed(ended, self.error_code, self.reason, self.result_summary)
            case StateName.CANCELLED:
                return Cancelled(ended, self.reason, self.error_code)
            case StateName.SUPERSEDED:
                return Superseded(ended, self.reason)
            case StateName.SKIPPED_TTL:
                return SkippedTtl(ended, self.reason)
            case StateName.SKIPPED_DEADLINE:
                return SkippedDeadline(ended, self.reason)


@with_long_columns
class ListedRow(JobRow, frozen=True, gc=False):
    """A job as lists read it. Long documents are NULL, with their sizes and their beginnings instead."""

    payload: str | None  # type: ignore[assignment]  # a JobRow has it whole
    payload_bytes: int
    payload_head: str | None
    result_summary_bytes: int | None
    result_summary_head: str | None
    checkpoint_bytes: int | None
    checkpoint_head: str | None

    def to_job(self, node: str | None) -> Job:
        """The job, and what was left out of it."""
        cut = _cut(
            {
                "payload": (self.payload_bytes, self.payload_head),
                "result": (self.result_summary_bytes, self.result_summary_head),
                "checkpoint": (self.checkpoint_bytes, self.checkpoint_head),
            }
            | {
                wire: (getattr(self, f"{column}_bytes"), getattr(self, f"{column}_head"))
                for wire, column in LONG.items()
            }
        )
        return replace(super().to_job(node), cut=cut)


class RunRow(Struct, frozen=True, gc=False):
    """A row of `job_runs`."""

    id: str
    job_id: str
    attempt: int
    status: str | None
    session_id: str | None
    worker_id: str | None
    params_snapshot: str
    started_at: int
    finished_at: int | None
    duration_ms: int | None
    error_kind: str | None
    error_code: str | None
    error: str | None
    traceback: str | None
    exit_code: int | None
    pid: int | None
    pid_started_at: int | None
    trace_id: str | None
    log_path: str | None
    artifacts: str | None
    node: str | None
    template_id: str | None

    def to_run(self) -> Run:
        """The run that this row describes."""
        fields = {name: getattr(self, name) for name in RunRow.__struct_fields__}
        fields["status"] = None if self.status is None else RunStatus(self.status)
        return Run(**fields)


class ListedRunRow(RunRow, frozen=True, gc=False):
    """A run as lists read it."""

    params_snapshot: str | None  # type: ignore[assignment]  # a RunRow has it whole
    params_snapshot_bytes: int
    params_snapshot_head: str | None

    def to_run(self) -> Run:
        """The run, and what was left out of it."""
        cut = _cut({"params_snapshot": (self.params_snapshot_bytes, self.params_snapshot_head)})
        return replace(super().to_run(), cut=cut)


class OwnedRow(Struct, frozen=True, gc=False):
    """A job together with a run of it and what its settlement depends on."""

    job_id: str
    number: int
    queue: str
    job_type: str
    state: str
    open_run_id: str | None
    session_id: str | None
    attempts: int
    retry_mode: str
    max_retries: int
    max_infra: int
    backoff_initial_ms: int
    backoff_factor: float
    backoff_cap_ms: int
    transient_tries: int
    infra_tries: int
    deaths: int
    is_suspect: int
    stop_reason: str | None
    deadline: int | None
    generation: int | None
    lane: int
    trace_id: str | None
    newest_generation: int | None
    result_summary: str | None
    run_id: str | None
    run_status: str | None
    run_error_kind: str | None
    run_error_code: str | None
    run_error: str | None
    run_started_at: int | None
    run_pid: int | None


class HeldRow(OwnedRow, frozen=True, gc=False):
    """The same, and the hash of the secret of the session that began the run, if it has one."""

    secret_hash: str | None


def _cut(documents: Mapping[str, tuple[int | None, str | None]]) -> dict[str, Cut]:
    """The documents that were left out: those that have a beginning."""
    return {
        name: Cut(size or 0, redacted_head(head, HEAD_CHARS))
        for name, (size, head) in documents.items()
        if head is not None
    }


_policy_columns = attrgetter(*RETRY.columns)


def policy_of(row: JobRow | OwnedRow) -> RetryPolicy:
    """The retry policy stored with a job."""
    return option_kinds.policy_in_columns(_policy_columns(row))


def tries_of(row: JobRow | OwnedRow) -> Tries:
    """The tries that a job has used up."""
    return Tries(row.transient_tries, row.infra_tries, row.deaths)
