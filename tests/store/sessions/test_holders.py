"""Only who knows the secret of a session speaks for it, and for the runs that it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.core.access import hash_secret
from holdfast.core.errors import NotHolder
from holdfast.core.job import StateName
from holdfast.core.jobs.requests import Claimed, ClaimRequest, QueueSlots, Report, Settled
from holdfast.core.jobs.settle import Broke, Completed, Outcome
from holdfast.core.messages.runs import Progress
from holdfast.core.messages.sessions import NewSession
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.store.engine import Engine
from holdfast.store.scripts.runs.exchange import exchange
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.runs.progress import note_start, save_checkpoint
from holdfast.store.scripts.sessions.sessions import beat, close_session, open_session, running_sessions
from tests.store.acts import NOW, job, put_one, row, select

SECRET, OTHER = "s" * 43, "o" * 43
BROKE = Broke(Failure(FailureKind.TRANSIENT, "ERR_X", "broken"))


def open_with(engine: Engine, session_id: str, secret: str | None) -> None:
    session = NewSession(session_id, "worker", "here", "b", 1, None, secret=secret)
    engine.run(open_session, session, None, NOW)


def talk(
    engine: Engine,
    session_id: str,
    secret: str | None,
    *reports: Report,
    slots: int = 0,
    progress: list[Progress] | None = None,
    holds: list[str] | None = None,
) -> Any:
    queues = (QueueSlots("default", slots),)
    request = ClaimRequest(session_id=session_id, slots=slots, queues=queues, tasks=("t",), secret=secret)
    return engine.run(exchange, reports, progress or [], request, holds, NOW)


@pytest.fixture
def run(engine: Engine) -> Claimed:
    """A run that a session with a secret holds; beside it there is one with another secret."""
    open_with(engine, "held", SECRET)
    open_with(engine, "other", OTHER)
    put_one(engine, "a")
    [claimed] = talk(engine, "held", SECRET, slots=1).claimed
    assert isinstance(claimed, Claimed)
    return claimed


def report(run: Claimed, outcome: Outcome) -> Report:
    return Report(run.run_id, run.job_id, outcome, 1)


def test_the_secret_is_stored_as_a_hash_and_shown_nowhere(engine: Engine) -> None:
    open_with(engine, "held", SECRET)
    [stored] = select(engine, "SELECT * FROM sessions WHERE id = 'held'")
    assert stored["secret_hash"] == hash_secret(SECRET)
    assert SECRET not in str(stored)
    assert hash_secret(SECRET) not in str(engine.query(running_sessions))
    session = NewSession("x", "worker", "here", "b", 1, None, secret=SECRET)
    request = ClaimRequest(session_id="x", slots=1, queues=(), tasks=(), secret=SECRET)
    assert SECRET not in repr(session) + repr(request)


@pytest.mark.parametrize("outcome", [Completed('"mine"'), BROKE], ids=["completed", "broke"])
@pytest.mark.parametrize("secret", [None, OTHER, ""], ids=["none", "another", "empty"])
@pytest.mark.parametrize("way", ["finish", "exchange"])
def test_a_report_by_anybody_else_is_refused(
    engine: Engine, run: Claimed, way: str, secret: str | None, outcome: Outcome
) -> None:
    settled: Settled
    if way == "finish":
        [settled] = engine.run(finish, [report(run, outcome)], NOW, secret)
    else:
        [settled] = talk(engine, "other" if secret == OTHER else "held", secret, report(run, outcome)).settled
    assert "only its worker reports it" in str(settled.refused)
    assert job(engine, "a").state.name is StateName.RUNNING
    [settled] = engine.run(finish, [report(run, Completed('"right"'))], NOW, SECRET)
    assert (settled.refused, settled.state) == (None, StateName.DONE)


def test_who_does_not_hold_it_learns_nothing_of_a_run_that_has_ended(engine: Engine, run: Claimed) -> None:
    talk(engine, "held", SECRET, report(run, Completed("1")))
    [settled] = engine.run(finish, [report(run, Completed("1"))], NOW, OTHER)
    assert (settled.job_id, settled.state) == (None, None)
    [again] = engine.run(finish, [report(run, Completed("1"))], NOW, SECRET)
    assert (again.refused, again.state) == (None, StateName.DONE)


ACTS: dict[str, Callable[[Engine, Claimed, str | None], object]] = {
    "beat": lambda engine, run, secret: engine.run(beat, "held", NOW, secret),
    "close": lambda engine, run, secret: engine.run(close_session, "held", "success", NOW, secret),
    "start": lambda engine, run, secret: engine.run(note_start, run.run_id, "held", 1, NOW, None, secret),
    "checkpoint": lambda engine, run, secret: engine.run(save_checkpoint, "a", run.run_id, "{}", secret),
    "progress": lambda engine, run, secret: talk(
        engine, "held", secret, progress=[Progress("a", run.run_id, 0.5, "half")]
    ),
    "holds": lambda engine, run, secret: talk(engine, "held", secret, holds=[]),
    "open again": lambda engine, run, secret: open_with(engine, "held", secret),
}


@pytest.mark.parametrize("secret", [None, OTHER], ids=["none", "another"])
@pytest.mark.parametrize("act", ACTS)
def test_nobody_else_speaks_for_a_session(engine: Engine, run: Claimed, act: str, secret: str | None) -> None:
    before = (row(engine, "a"), select(engine, "SELECT * FROM sessions WHERE id = 'held'"))
    with pytest.raises(NotHolder, match="was opened with another secret"):
        ACTS[act](engine, run, secret)
    assert (row(engine, "a"), select(engine, "SELECT * FROM sessions WHERE id = 'held'")) == before
    ACTS[act](engine, run, SECRET)


def test_nobody_else_is_given_jobs_for_a_session(engine: Engine, run: Claimed) -> None:
    put_one(engine, "b")
    with pytest.raises(NotHolder, match="only its worker claims for it"):
        talk(engine, "held", OTHER, slots=1)
    assert job(engine, "b").state.name is StateName.QUEUED


def test_progress_of_another_sessions_run_is_not_noted(engine: Engine, run: Claimed) -> None:
    talk(engine, "other", OTHER, progress=[Progress("a", run.run_id, 0.9, "not true")])
    assert job(engine, "a").progress is None


def test_a_session_without_a_secret_is_spoken_for_without_one(engine: Engine) -> None:
    open_with(engine, "old", None)
    put_one(engine, "a")
    [run] = talk(engine, "old", None, slots=1).claimed
    assert engine.run(beat, "old", NOW)
    engine.run(save_checkpoint, "a", run.run_id, "{}")
    # A secret that somebody makes up opens nothing.
    with pytest.raises(NotHolder):
        engine.run(beat, "old", NOW, OTHER)
    [settled] = talk(engine, "old", None, report(run, Completed("1"))).settled
    assert settled.refused is None
    assert engine.run(close_session, "old", "success", NOW)


def test_a_session_that_was_settled_is_told_so(engine: Engine) -> None:
    open_with(engine, "held", SECRET)
    assert engine.run(close_session, "held", "success", NOW, SECRET)
    assert not engine.run(beat, "held", NOW, SECRET)
    assert not engine.run(beat, "nowhere", NOW, SECRET)
