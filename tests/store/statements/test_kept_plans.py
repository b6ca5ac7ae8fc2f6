"""PostgreSQL keeps a plan. What was planned on empty tables must not read them whole when they have grown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from uuid import uuid4

import pytest

from holdfast.core.jobs.requests import ClaimRequest, QueueSlots
from holdfast.store.engine import Tx
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.runs.finish import finish
from tests.store.acts import NOW, QUEUE, SESSION, TABLES, TASK, new_job, open_session, put, report, statement, write

BATCH = 10
ENOUGH_TO_BE_KEPT = 20
GROWN = 2_000

ROWS_READ = statement("""
SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0) FROM pg_stat_xact_user_tables
WHERE schemaname = current_schema() AND relname IN ('jobs', 'job_runs')
""")


@pytest.fixture
def engine(postgres_url: str) -> Iterator[PostgresEngine]:
    """With few connections, so that each of them keeps its plans soon; the server analyses only when it is told to."""
    engine = PostgresEngine(postgres_url, schema=f"t_{uuid4().hex}", now=lambda: NOW, pool_size=1)
    open_session(engine)
    with engine.connect() as connection:
        for table in TABLES:
            connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    yield engine
    engine.close()


@pytest.mark.parametrize("analysed_after", [None, 1, 2, 6, 13, ENOUGH_TO_BE_KEPT - 1])
def test_a_claim_and_its_end_read_no_more_when_the_tables_have_grown(
    engine: PostgresEngine, analysed_after: int | None
) -> None:
    for n in range(ENOUGH_TO_BE_KEPT):
        put(engine, *(new_job(f"first{n}-{m}") for m in range(BATCH)))
        write(engine, claim_and_finish)
        if n == analysed_after:
            # As the server does by itself, at a moment of its own.
            with engine.connect() as connection:
                connection.execute("ANALYZE")
    check_that_little_is_read_of_much(engine)


@pytest.mark.parametrize("seed", [1, 5, 6])
def test_nor_do_they_when_each_connection_has_planned_at_another_moment(engine: PostgresEngine, seed: int) -> None:
    random = Random(seed)
    for n in range(ENOUGH_TO_BE_KEPT + random.randrange(10)):
        with some_connections_busy(engine, random):
            put(engine, *(new_job(f"first{n}-{m}") for m in range(BATCH)))
        with some_connections_busy(engine, random):
            write(engine, claim_and_finish)
    check_that_little_is_read_of_much(engine)


@contextmanager
def some_connections_busy(engine: PostgresEngine, random: Random) -> Iterator[None]:
    """Meanwhile the pool gives away another connection than it would."""
    with ExitStack() as busy:
        for _ in range(random.choice([0, 0, 0, 1, 2])):
            busy.enter_context(engine._opened().connection())
        yield


def check_that_little_is_read_of_much(engine: PostgresEngine) -> None:
    put(engine, *(new_job(f"more{n}") for n in range(GROWN)))
    read = [write(engine, claim_and_finish) for _ in range(ENOUGH_TO_BE_KEPT)]
    # A plan that is kept shows again and again. One that is made for a single time may be worse.
    assert sorted(read)[-2] < GROWN / 4, read


def claim_and_finish(tx: Tx) -> int:
    """Ten jobs. How many rows of jobs and runs were read for that, from the tables or by an index."""
    before = tx.value(ROWS_READ)
    queues = (QueueSlots(QUEUE, BATCH),)
    runs = claim(tx, ClaimRequest(session_id=SESSION, slots=BATCH, queues=queues, tasks=(TASK,), worker_id="w1"), NOW)
    assert len(runs) == BATCH
    finish(tx, [report(run) for run in runs], NOW)
    return int(tx.value(ROWS_READ) - before)
