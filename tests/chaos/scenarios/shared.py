"""What every scenario is made of: the moment, short ways to act on an engine, and what a scenario is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from holdfast.core.jobs.requests import Claimed, ClaimRequest, NewJob, QueueSlots, Report
from holdfast.core.jobs.settle import Broke, Completed
from holdfast.core.machine.maintenance import MAINTENANCE, Chore, task_of
from holdfast.core.messages.sessions import NewSession
from holdfast.core.tasks.reserved import BENCH, WORKSPACE, WORKSPACE_QUEUE
from holdfast.core.values.group import Dependency
from holdfast.core.values.retry import Failure, FailureKind, RetryMode, RetryPolicy
from holdfast.core.webhooks.webhook import WEBHOOK, WEBHOOK_QUEUE
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance.clockwork import tick
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.sessions import close_session, open_session

NOW = 1_700_000_000_000
DAY = 86_400_000
MINUTE = 60_000
DOOMED = "doomed"
SUBJECT = "editor::repo::file"

AGAIN = RetryPolicy(retries=1)
CHAIN = RetryPolicy(retries=1, mode=RetryMode.CHAIN)
ONCE = RetryPolicy(infra=0)
BROKE = Broke(Failure(FailureKind.TRANSIENT, "ERR_TEST", "it broke"))
KILLED = Broke(Failure(FailureKind.INFRA, "SIGNAL_9", "it was killed"))
HOPELESS = Broke(Failure(FailureKind.PERMANENT, "ERR_TEST", "it never works"))

QUEUES = tuple(QueueSlots(queue, 50) for queue in ("default", WEBHOOK_QUEUE, WORKSPACE_QUEUE, MAINTENANCE, BENCH))
CHORES = tuple(task_of(chore, "") for chore in (Chore.RETENTION, Chore.EVENTS, Chore.LETTERS, Chore.POSITIONS))
TASKS = ("work", WEBHOOK, WORKSPACE, BENCH, *CHORES)

Act: TypeAlias = Callable[[Engine, dict[str, Claimed]], None]


class Scenario(Struct, frozen=True):
    """`prepare` stores a world and claims in it for the doomed session; `act`, with so many `commits`, is cut short.

    `can_repeat`: a caller who got no answer may do all of it once more, and has done it once.
    """

    prepare: Callable[[Engine], dict[str, Claimed]]
    act: Act
    commits: int = 1
    can_repeat: bool = True


def job(job_id: str, **options: Any) -> NewJob:
    """A request for a job of the one task there is."""
    return NewJob(**{"id": job_id, "task": "work"} | options)


def after(job_id: str) -> tuple[Dependency, ...]:
    """Waits for that job."""
    return (Dependency(job_id),)


def put(engine: Engine, *jobs: NewJob) -> None:
    """Enqueue in one transaction, once however often."""
    engine.submit(enqueue, jobs, NOW, repeated=True).result()


def request(session: str) -> ClaimRequest:
    """A session asks for all there is."""
    return ClaimRequest(session_id=session, slots=50, queues=QUEUES, tasks=TASKS)


def begin(engine: Engine, session: str) -> None:
    """A session without a lock file, on a machine of its own."""
    engine.submit(open_session, NewSession(session, "embedded", "node", "boot", 1, None), None, NOW).result()


def take(engine: Engine, session: str, now: int = NOW) -> dict[str, Claimed]:
    """Claim all there is; the runs by their jobs."""
    return {run.job_id: run for run in engine.submit(claim, request(session), now).result()}


def work_off(engine: Engine, session: str, now: int) -> None:
    """Another session completes whatever is left, however long it has to wait; what it waits for comes true."""
    begin(engine, session)
    engine.submit(emit, f"end-{session}", "siege:go", {"branch": "main"}, now).result()
    idle = False
    while not idle:
        now += DAY
        while engine.submit(tick, now).result().more:
            pass
        runs = take(engine, session, now).values()
        engine.submit(finish, [Report(run.run_id, run.job_id, Completed("1"), 5) for run in runs], now).result()
        idle = not runs
    engine.submit(close_session, session, "success", now).result()
