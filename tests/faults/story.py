"""The life of a few jobs as a list of calls, the same in every run, and the state of all rows after each call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from holdfast.core.jobs.requests import ClaimRequest, NewJob, QueueSlots, Report
from holdfast.core.jobs.settle import Broke, Completed, Outcome
from holdfast.core.messages.sessions import NewSession
from holdfast.core.values.group import Dependency
from holdfast.core.values.retry import Failure, FailureKind, RetryMode, RetryPolicy
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.reading.read_jobs import find_row
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.scripts.sessions.sessions import open_session
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Statement

NOW = 1_700_000_000_000
SESSION = "session"
PATIENCE_S = 60.0

Rows: TypeAlias = dict[str, list[tuple[Any, ...]]]


def job(job_id: str, **fields: Any) -> NewJob:
    """A job of the one task there is."""
    return NewJob(id=job_id, task="work", **fields)


def report(engine: Engine, job_id: str, outcome: Outcome) -> Report:
    """The outcome of a job's open run. Whoever claimed it may never have heard of it, so the store is asked."""
    return Report(engine.query(find_row, job_id).run_id or "", job_id, outcome, duration_ms=5)


class Story:
    """Tells its calls to an engine. A call that is told or tried again uses the same ids again."""

    def __init__(self) -> None:
        self._ids: Iterator[str] = iter(())
        self._name = ""

    def new_id(self) -> str:
        """The engine's source of ids."""
        return next(self._ids)

    def engine(self, path: Path, *, vfs: str | None = None, durability: str = "full") -> SqliteEngine:
        """An engine that takes its ids from here."""
        return SqliteEngine(path, now=lambda: NOW, ids=self.new_id, vfs=vfs, durability=durability)

    def tell(self, engine: Engine, call: Call) -> None:
        """One call; returns when it is acknowledged, raises what the engine raises."""
        self._name = call.__name__
        call(self, engine)

    def _write(self, engine: Engine, script: Callable[..., object], *args: object) -> None:
        def run(tx: Tx) -> object:
            self._ids = (f"{self._name}-{number}" for number in count())
            return script(tx, *args)

        engine.submit(run).result()

    def enqueue_one(self, engine: Engine) -> None:
        self._write(engine, enqueue, [job("one")], NOW)

    def enqueue_many(self, engine: Engine) -> None:
        plain = [job(f"many-{n}", payload='{"text": "' + "x" * 400 + '"}', tag="many") for n in range(6)]
        later = [job("later", delay_ms=60_000), job("follower", after=(Dependency("one"),))]
        self._write(engine, enqueue, plain + later, NOW)

    def enqueue_subject(self, engine: Engine) -> None:
        self._write(engine, enqueue, [job("subject-1", subject="editor::repo::a.py")], NOW)

    def supersede_subject(self, engine: Engine) -> None:
        self._write(engine, enqueue, [job("subject-2", subject="editor::repo::a.py", priority=9)], NOW + 1)

    def enqueue_stubborn(self, engine: Engine) -> None:
        chain = RetryPolicy(retries=2, mode=RetryMode.CHAIN)
        jobs = [job("again", priority=8, policy=RetryPolicy(retries=2)), job("chain", priority=8, policy=chain)]
        self._write(engine, enqueue, jobs, NOW + 2)

    def open_session(self, engine: Engine) -> None:
        session = NewSession(SESSION, "embedded", "node", "boot", 1, None)
        self._write(engine, open_session, session, None, NOW + 3)

    def claim(self, engine: Engine) -> None:
        request = ClaimRequest(
            session_id=SESSION, slots=5, queues=(QueueSlots("default", 5),), tasks=("work",), worker_id=None
        )
        self._write(engine, claim, request, NOW + 4)

    def finish(self, engine: Engine) -> None:
        broke = Broke(Failure(FailureKind.TRANSIENT, "ERR_NET", "no answer"))
        ends: dict[str, Outcome] = {"subject-2": Completed("{}"), "again": broke, "chain": broke}
        reports = [report(engine, name, outcome) for name, outcome in ends.items()]
        self._write(engine, finish, reports, NOW + 5)

    def finish_one(self, engine: Engine) -> None:
        self._write(engine, finish, [report(engine, "one", Completed("{}"))], NOW + 5)

    def retry(self, engine: Engine) -> None:
        self._write(engine, retry_job, "subject-2", NOW + 6)

    def cancel(self, engine: Engine) -> None:
        self._write(engine, cancel_job, "many-5", NOW + 7)

    def cancel_running(self, engine: Engine) -> None:
        self._write(engine, cancel_job, "one", NOW + 8)

    def recover(self, engine: Engine) -> None:
        self._write(engine, recover, SESSION, False, NOW + 9)


Call: TypeAlias = Callable[[Story, Engine], None]

WHOLE: tuple[Call, ...] = (
    Story.enqueue_one,
    Story.enqueue_many,
    Story.enqueue_subject,
    Story.supersede_subject,
    Story.enqueue_stubborn,
    Story.open_session,
    Story.claim,
    Story.finish,
    Story.retry,
    Story.cancel,
    Story.cancel_running,
    Story.recover,
)

SHORT: tuple[Call, ...] = (Story.enqueue_one, Story.claim, Story.finish_one)


def every_row(tx: Tx) -> Rows:
    """All rows of all tables, for comparison."""
    tables = [row["name"] for row in tx.rows(_statement("SELECT name FROM sqlite_master WHERE type = 'table'"))]
    return {
        table: sorted((tuple(row.values()) for row in tx.rows(_statement(f'SELECT * FROM "{table}"'))), key=repr)
        for table in tables
    }


def until_it_writes(engine: Engine) -> None:
    """Wait until the engine has found out by itself that it can write again."""
    began = time.monotonic()
    while engine.troubles.current is not None:
        assert time.monotonic() - began < PATIENCE_S, engine.troubles.current
        time.sleep(0.01)


def _statement(text: str) -> Statement:
    return Statement(text, text, text)


def states_of(calls: tuple[Call, ...], path: Path) -> list[Rows]:
    """The rows before the first call and after each, on a disk that works."""
    story = Story()
    engine = story.engine(path)
    states = [engine.query(every_row)]
    for call in calls:
        story.tell(engine, call)
        states.append(engine.query(every_row))
    engine.close()
    return states
