"""What a server that is restarted, or goes away, means to a caller."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any

import psycopg
import pytest

from holdfast.core.errors import OutcomeUnknown, StoreUnavailable
from holdfast.store.engine import Changes, Tx
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.reading.read_jobs import counts
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.sessions import beat
from holdfast.store.topics import UNKNOWN
from tests.store.acts import NOW, claim_some, new_job, open_session, put, put_one, report, statement, write


@pytest.fixture
def engine(postgres_url: str, postgres_schema: str) -> PostgresEngine:
    return PostgresEngine(postgres_url, schema=postgres_schema, now=lambda: NOW)


def cut_all_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )


def test_connections_that_died_while_idle_are_nobodys_problem(engine: PostgresEngine, postgres_url: str) -> None:
    put_one(engine, "before")
    cut_all_connections(postgres_url)
    put_one(engine, "after")
    cut_all_connections(postgres_url)
    assert [count.jobs for count in engine.query(counts)] == [2]
    engine.close()


def test_a_connection_that_dies_in_a_script_is_an_error_and_changes_nothing(
    engine: PostgresEngine, postgres_url: str
) -> None:
    def die(tx: Tx) -> None:
        put = "INSERT INTO queues (name) VALUES ('half')"
        tx.run(statement(put))
        cut_all_connections(postgres_url)
        tx.run(statement("SELECT 1"))

    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        write(engine, die)
    assert engine.query(lambda tx: tx.value(statement("SELECT count(*) FROM queues"))) == 0
    engine.close()


def test_a_connection_that_dies_before_the_commit_leaves_the_outcome_unknown(
    engine: PostgresEngine, postgres_url: str
) -> None:
    def die_at_the_end(tx: Tx) -> None:
        tx.run(statement("INSERT INTO queues (name) VALUES ('maybe')"))
        cut_all_connections(postgres_url)

    with pytest.raises(OutcomeUnknown, match="idempotency key"):
        write(engine, die_at_the_end)
    engine.close()


def test_more_rows_than_one_document_holds_are_written_in_order(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.store.postgres.connection.LARGEST_DOCUMENT", 2_000)
    names = [f"j{number:02}" for number in range(40)]
    put(engine, *map(new_job, names))
    open_session(engine)
    runs = claim_some(engine, 40)
    assert [run.job_id for run in runs] == names
    assert all(settled.refused is None for settled in write(engine, finish, [report(run) for run in runs], NOW))
    engine.close()


def test_a_notification_that_is_not_ours_is_a_reason_to_look_and_no_more(
    engine: PostgresEngine, postgres_url: str, postgres_schema: str
) -> None:
    heard: SimpleQueue[Changes] = SimpleQueue()
    leave = engine.listen(heard.put)
    assert UNKNOWN in heard.get(timeout=30).topics  # it listens
    with psycopg.connect(postgres_url, autocommit=True) as server:
        for text in ("hello", "{}", '{"sender": 1}'):
            server.execute("SELECT pg_notify(%s, %s)", (f"holdfast_{postgres_schema}", text))
            assert UNKNOWN in heard.get(timeout=30).topics
    leave()
    engine.close()


def test_a_heartbeat_does_not_wait_behind_the_calls_of_users(engine: PostgresEngine) -> None:
    open_session(engine)
    begin, order = threading.Event(), []

    def block(tx: Tx) -> None:
        begin.wait(30)

    def done(name: str) -> Callable[[object], None]:
        return lambda _: order.append(name)

    calls: list[Future[Any]] = [engine.submit(block), *(engine.submit(counts) for _ in range(200))]
    for call in calls:
        call.add_done_callback(done("user"))
    heartbeat = engine.submit(beat, "s1", NOW)
    heartbeat.add_done_callback(done("heartbeat"))
    begin.set()
    wait(calls)
    heartbeat.result(30)
    assert order.index("heartbeat") < 50
    engine.close()


def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    engine = PostgresEngine("postgresql://nobody@127.0.0.1:1/none", now=lambda: NOW)
    with pytest.raises(StoreUnavailable, match="check that it runs"):
        write(engine, lambda tx: None)
