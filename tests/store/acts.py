"""What tests of the store do to an engine, each in one short call. `NOW` is the moment unless a test says another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from holdfast.core.job import JobId, Millis, RunId, SessionId, StateName
from holdfast.core.jobs.requests import Claimed, ClaimRequest, Enqueued, NewJob, QueueSlots, Report, Settled
from holdfast.core.jobs.run import Run
from holdfast.core.jobs.settle import Broke, Completed, Outcome
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.values.group import GroupMode, OnFailure
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.store.engine import Engine, Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.groups.groups import create_group
from holdfast.store.scripts.jobs.enqueue import enqueue_any
from holdfast.store.scripts.maintenance.clockwork import Ticked, tick
from holdfast.store.scripts.reading.read_jobs import find_job, find_last, find_row, runs_of
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.sessions.recover import Recovered, recover
from holdfast.store.statements import Statement, pyformat, strip_comments

T = TypeVar("T")
P = ParamSpec("P")

NOW: Millis = 1_700_000_000_000
SESSION: SessionId = "s1"
TASK = "t"
QUEUE = "default"
PATIENCE_S = 30

DONE = Completed("1")
FAILURE = Failure(FailureKind.TRANSIENT, "ERR_TEST", "it broke")
FAILED = Broke(FAILURE)
FAILED_FOR_GOOD = Broke(Failure(FailureKind.PERMANENT, "ERR_TEST", "it never works"))


def write(engine: Engine, script: Callable[Concatenate[Tx, P], T], *args: P.args, **kw: P.kwargs) -> T:
    """Run a writing script to its end."""
    return engine.submit(script, *args, **kw).result(PATIENCE_S)


def settle(engine: Engine) -> None:
    """Wait until all that was written before has been announced and counted: a caller is answered before that."""
    write(engine, lambda tx: None)


def new_job(job_id: JobId, **options: Any) -> NewJob:
    """A request for a job of the task that `claim_some` offers."""
    return NewJob(**{"id": job_id, "task": TASK} | options)


def put(engine: Engine, *jobs: NewJob, now: Millis = NOW) -> list[Enqueued]:
    """Enqueue in one transaction, as callers and the system itself do."""
    return write(engine, enqueue_any, jobs, now)


def put_one(engine: Engine, job_id: JobId, *, now: Millis = NOW, **options: Any) -> Enqueued:
    """Enqueue one job."""
    return put(engine, new_job(job_id, **options), now=now)[0]


def open_session(
    engine: Engine,
    session_id: SessionId = SESSION,
    now: Millis = NOW,
    *,
    lock_path: str | None = None,
    offer: Offer | None = None,
) -> SessionId:
    """A process that claims begins its life."""
    session = NewSession(session_id, "embedded", "node", "boot", 4711, lock_path)
    write(engine, sessions.open_session, session, offer, now)
    return session_id


def claim_some(
    engine: Engine,
    slots: int = 100,
    *,
    queues: tuple[str, ...] = (QUEUE,),
    tasks: tuple[str, ...] = (TASK,),
    session: SessionId = SESSION,
    now: Millis = NOW,
) -> list[Claimed]:
    """Claim for a session, as many of each queue as there are slots in all."""
    lanes = tuple(QueueSlots(queue, slots) for queue in queues)
    request = ClaimRequest(session_id=session, slots=slots, queues=lanes, tasks=tasks, worker_id="w1")
    return write(engine, claim, request, now)


def claim_one(engine: Engine, *, session: SessionId = SESSION, now: Millis = NOW, **options: Any) -> Claimed:
    """Claim exactly one job; there must be one."""
    [run] = claim_some(engine, 1, session=session, now=now, **options)
    return run


def claimed_ids(engine: Engine, slots: int = 100, **options: Any) -> list[JobId]:
    """The ids of what is claimed, in the order it comes."""
    return [run.job_id for run in claim_some(engine, slots, **options)]


def report(run: Claimed, outcome: Outcome = DONE) -> Report:
    """The end of a run, as its worker tells it."""
    return Report(run.run_id, run.job_id, outcome, 5)


def end(engine: Engine, run: Claimed, outcome: Outcome = DONE, now: Millis = NOW) -> Settled:
    """Finish one run."""
    [settled] = write(engine, finish, [report(run, outcome)], now)
    return settled


def put_and_end(engine: Engine, job_id: JobId, outcome: Outcome = DONE, now: Millis = NOW, **options: Any) -> Settled:
    """A job that is enqueued, claimed and finished; nothing else may be ready."""
    put_one(engine, job_id, now=now, **options)
    return end(engine, claim_one(engine, now=now), outcome, now)


def let_time_pass(engine: Engine, now: Millis) -> Ticked:
    """Let the clock reach a moment."""
    return write(engine, tick, now)


def lose(engine: Engine, session: SessionId = SESSION, now: Millis = NOW, *, rebooted: bool = False) -> Recovered:
    """A session's process is gone: settle what it left."""
    return write(engine, recover, session, rebooted, now)


def group(engine: Engine, group_id: str, mode: GroupMode, on_failure: OnFailure = OnFailure.STOP) -> str:
    """An empty group."""
    return write(engine, create_group, group_id, None, mode, on_failure, NOW)


def job(engine: Engine, job_id: JobId) -> Job:
    """The job as it stands."""
    return engine.query(find_job, job_id)


def last(engine: Engine, job_id: JobId) -> Job:
    """The last link of the job's retry chain."""
    return engine.query(find_last, job_id)


def row(engine: Engine, job_id: JobId) -> JobRow:
    """The job's row."""
    return engine.query(find_row, job_id)


def state(engine: Engine, job_id: JobId) -> StateName:
    """The state the job is in."""
    return StateName(row(engine, job_id).state)


def states(engine: Engine, *job_ids: JobId) -> list[StateName]:
    """The states the jobs are in."""
    return [state(engine, job_id) for job_id in job_ids]


def reason(engine: Engine, job_id: JobId) -> str | None:
    """What the job says about the state it is in."""
    return row(engine, job_id).reason


def runs(engine: Engine, job_id: JobId) -> list[Run]:
    """The job's runs, and those of the links behind it."""
    return engine.query(runs_of, job_id)


def run_of(engine: Engine, job_id: JobId, run_id: RunId) -> Run:
    """One run of the job."""
    [found] = [run for run in runs(engine, job_id) if run.id == run_id]
    return found


def statement(text: str) -> Statement:
    """SQL of a test's own; `:name` parameters, both dialects."""
    return Statement(text, strip_comments(text), pyformat(strip_comments(text)))


def execute(engine: Engine, text: str, **params: object) -> int:
    """Run SQL of a test's own, past every script; how many rows changed."""
    return write(engine, lambda tx: tx.run(statement(text), **params))


def select(engine: Engine, text: str, **params: object) -> list[dict[str, Any]]:
    """Read with SQL of a test's own."""
    return engine.query(lambda tx: tx.rows(statement(text), **params))


TABLES = (
    "workspace_changes",
    "workspaces",
    "controllers",
    "users",
    "nodes",
    "file_requests",
    "watch_changes",
    "task_offers",
    "task_versions",
    "watch_files",
    "watches",
    "webhook_deliveries",
    "webhooks",
    "dead_letters",
    "job_conditions",
    "job_runs",
    "changed_files",
    "changed_file_lists",
    "jobs",
    "queue_counts",
    "job_groups",
    "events",
    "event_patterns",
    "machines",
    "schedule_skips",
    "schedules",
    "job_templates",
    "handler_invocations",
    "job_executions",
    "listeners",
    "scheduled_jobs",
    "apps",
    "direct_reservations",
    "workers",
    "sessions",
    "subjects",
    "tenants",
    "queue_clocks",
    "queue_starts",
    "queue_pressure",
    "queue_breakers",
    "node_tokens",
    "maintenance",
    "clock_steps",
    "queues",
)


def emptying(table: str) -> str:
    """SQL that removes all rows of a table, but for what the migrations have stored there."""
    return f"DELETE FROM {table}" + (" WHERE id <> 'local'" if table == "users" else "")


def dump(engine: Engine) -> dict[str, list[str]]:
    """Every row of every table."""
    return {table: sorted(map(repr, select(engine, f"SELECT * FROM {table}"))) for table in TABLES}
