"""What a server that is restarted, or goes away, means to a caller."""

from __future__ import annotations

import psycopg
import pytest

from holdfast.core.errors import OutcomeUnknown, StoreUnavailable
from holdfast.store.engine import Tx
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.look import counts
from tests.store.acts import NOW, put_one, statement, write


@pytest.fixture
def engine(postgres_url: str, postgres_schema: str) -> PostgresEngine:
    return PostgresEngine(postgres_url, schema=postgres_schema, now=lambda: NOW)


def cut_all_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
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


def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    engine = PostgresEngine("postgresql://nobody@127.0.0.1:1/none", now=lambda: NOW)
    with pytest.raises(StoreUnavailable, match="check that it runs"):
        write(engine, lambda tx: None)
