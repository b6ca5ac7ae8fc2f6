"""What tests of tokens do: machines that have some, jobs that need some, and what is in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core.job import JobId, Millis
from holdfast.core.jobs.requests import Claimed, ClaimRequest, NewJob
from holdfast.core.messages.machines import NodeTokens, TokenSetting
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.rules.tokens import Tokens
from holdfast.store.engine import Changes, Engine
from holdfast.store.scripts.machines.tokens import list_tokens
from holdfast.store.scripts.runs.exchange import exchange
from holdfast.store.scripts.sessions import sessions
from tests.store import acts
from tests.store.acts import (
    NOW,
    TASK,
    put,
    report,
    select,
    settle,
    write,
)

KINDS = ("cpu", "gpu", "io")
HAS = Tokens(cpu=4, gpu=1, io=2)
LATE = NOW + 30_000


def worker(
    engine: Engine,
    session: str,
    node: str = "node",
    *,
    has: Tokens = HAS,
    queues: tuple[str, ...] = ("default",),
    kind: str = "worker",
) -> str:
    """A worker begins on a machine that has these tokens."""
    offer = Offer(f"w of {session}", "w", (TASK, "other"), queues, 100)
    row = NewSession(session, kind, node, "boot", 1, None, TokenSetting(tokens=has))
    write(engine, sessions.open_session, row, offer, NOW)
    return session


def new_job(job_id: JobId, **options: Any) -> NewJob:
    """A request for a job that needs so much of each kind."""
    tokens = Tokens(**{kind: options.pop(kind) for kind in KINDS if kind in options})
    return acts.new_job(job_id, tokens=tokens, **options)


def put_one(engine: Engine, job_id: JobId, now: Millis = NOW, **options: Any) -> None:
    """Enqueue such a job."""
    put(engine, new_job(job_id, **options), now=now)


def in_use(engine: Engine, node: str = "node") -> Tokens:
    """What runs use on a machine."""
    return of_node(engine, node).in_use


def of_node(engine: Engine, node: str = "node") -> NodeTokens:
    """A machine and its tokens."""
    return next(found for found in engine.query(list_tokens) if found.node == node)


def passed_since(engine: Engine, job_id: JobId) -> Millis | None:
    """Since when others have passed a job."""
    [found] = select(engine, "SELECT tokens_since FROM jobs WHERE id = :id", id=job_id)
    return found["tokens_since"]  # type: ignore[no-any-return]


def told_of(engine: Engine, act: Callable[[], object]) -> set[str]:
    """The queues that an act wakes."""
    heard = Changes()
    stop = engine.listen(heard.merge)
    act()
    settle(engine)
    stop()
    return heard.ready


def exchange_end(engine: Engine, session: str, run: Claimed) -> None:
    """A worker reports the end of a run, and can take nothing else."""
    request = ClaimRequest(session_id=session, slots=0, queues=(), tasks=(TASK,))
    write(engine, exchange, [report(run)], [], request, None, NOW)
