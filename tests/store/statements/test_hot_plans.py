"""Hot statements find their rows by the index that was made for them, and never walk through history."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import pytest

from holdfast.store.engine import Engine, Tx
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.queues.queues import list_queues
from holdfast.store.sqlite.connection import connect
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect, Statement, sql
from tests.store.acts import NOW, execute, open_session, statement, write
from tests.store.expected_plans import NAMES, NUMBERS, PLANS

HISTORY = 3000

JOBS = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
INSERT INTO jobs (
  id, queue, job_type, subject_key, generation, position, state, created_at, queued_at, started_at, finished_at,
  session_id, run_id, payload, attempts, ttl_ms, deadline, scheduled_at, user_tag, group_id, idempotency_key, retry_of,
  is_suspect, stop_reason, schedule_id, fire_time
)
SELECT
  :state || i, 'q' || (i % 5), 't' || (i % 7), CASE WHEN i % 2 = 0 THEN 'c::r::' || :state || i END,
  CASE WHEN i % 2 = 0 THEN 1 END, i * 100, :state, i, i, i, CASE WHEN :ended = 1 THEN i END,
  CASE WHEN :state = 'RUNNING' THEN 's1' END, CASE WHEN :state = 'RUNNING' THEN 'run' || i END, '{}', 1,
  CASE WHEN i % 10 = 1 THEN 5000 END, CASE WHEN i % 10 = 2 THEN 99999999 END,
  CASE WHEN :state = 'SCHEDULED' THEN i END, 'tag' || (i % 300), CASE WHEN i % 30 = 3 THEN 'g' || (i % 90) END,
  CASE WHEN i % 3 = 0 THEN 'key' || :state || i END, CASE WHEN i % 50 = 7 THEN :state || (i - 1) END,
  CASE WHEN i % 60 = 5 THEN 1 ELSE 0 END,
  CASE WHEN :state = 'RUNNING' AND i % 4 = 0 THEN 'cancel' END,
  CASE WHEN i % 4 = 1 THEN 's' || (i % 15) END, CASE WHEN i % 4 = 1 THEN i * 10 + length(:state) - :ended END
FROM n
"""
RUNS = """
INSERT INTO job_runs (id, job_id, attempt, status, session_id, params_snapshot, started_at, finished_at)
SELECT coalesce(run_id, 'run of ' || id), id, 1, CASE WHEN finished_at IS NOT NULL THEN 'COMPLETED' END, 's1', '{}', 1,
  finished_at
FROM jobs
"""
GROUPS = """
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 90)
INSERT INTO job_groups (id, mode, on_failure, created_at) SELECT 'g' || i, 'parallel', 'stop', 1 FROM n
"""
CONDITIONS = """
INSERT INTO job_conditions (job_id, key, value, satisfied_at)
SELECT id, 'after:' || id, 'done', CASE WHEN number % 20 = 0 THEN NULL ELSE 1 END FROM jobs
"""
WEBHOOKS = """
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
INSERT INTO webhooks (id, name, url, secret, patterns, created_at, updated_at)
SELECT 'w' || i, 'w' || i, 'https://x.example/', 's', '[]', 1, 1 FROM n
"""
DELIVERIES = """
INSERT INTO webhook_deliveries (id, webhook_id, event_id, event_name, job_id, created_at)
SELECT 'd' || number, 'w' || (number % 30), 'e' || number, 'x', id, number FROM jobs
"""
SUBJECTS = """
INSERT INTO subjects (job_type, subject_key, generation, updated_at)
SELECT job_type, subject_key, generation, 1 FROM jobs WHERE subject_key IS NOT NULL
"""
LETTERS = """
INSERT INTO dead_letters (job_id, number, fingerprint, kind, failed_at, closed_at, closed_as)
SELECT id, number, 'f' || (number % 60), 'infra', finished_at, CASE WHEN number % 3 > 0 THEN 1 END,
  CASE WHEN number % 3 > 0 THEN 'discarded' END
FROM jobs WHERE state = 'FAILED'
"""

WORKSPACES = """
INSERT INTO workspaces (id, owner_user_id, name, home_store_key, operation, op_started_at, op_id, op_job_id,
  created_at, updated_at, node, command, phase_changed_at)
SELECT 'x' || number, 'local', 'x' || number, 'x', 'STARTING', 1, 'o' || number, id, 1, 1, 'n1', '[]', 1
FROM jobs WHERE number % 60 = 6
"""


@pytest.fixture(scope="module", params=list(Dialect))
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A long history, and some jobs in every other state."""
    if request.param is Dialect.SQLITE:
        engine: Engine = SqliteEngine(tmp_path_factory.mktemp("plans") / "filled.db", now=lambda: NOW)
    else:
        url = request.getfixturevalue("postgres_url")
        engine = PostgresEngine(url, schema=f"t_{uuid4().hex}", now=lambda: NOW, pool_size=1)
    open_session(engine)
    execute(engine, GROUPS)
    for state, count in (("DONE", HISTORY), ("FAILED", 300), ("QUEUED", 400), ("SCHEDULED", 200), ("RUNNING", 40)):
        execute(engine, JOBS, state=state, count=count, ended=int(state in ("DONE", "FAILED")))
    for fill in (RUNS, CONDITIONS, SUBJECTS, WEBHOOKS, DELIVERIES, LETTERS, WORKSPACES):
        execute(engine, fill)
    # As maintenance does; what it counts must not lead away from these plans.
    maintenance = engine.maintenance()
    for table in maintenance.tables():
        maintenance.analyse(table)
    yield engine
    engine.close()


TOUCHES_JOBS = re.compile(r"\b(?:FROM|JOIN|UPDATE)\s+job(?:s|_runs)\b")


def test_every_statement_that_looks_for_jobs_or_runs_has_a_plan() -> None:
    assert {name for name in sql.names if TOUCHES_JOBS.search(getattr(sql, name).sqlite)} == set(PLANS)


@pytest.mark.parametrize("name", PLANS)
def test_a_statement_uses_the_index_that_was_made_for_it(filled: Engine, name: str) -> None:
    plan = PLANS[name]
    steps = explained(filled, getattr(sql, name), plan.params)
    text = "\n".join(steps)
    for index in plan.indexes:
        assert re.search(NAMES[filled.dialect].get(index, index), text)
    assert [step for step in steps if is_full_scan(step)] == []
    if plan.in_order:
        assert not re.search(r"TEMP B-TREE|Sort", text)


# Rows that the statement itself made, and partial indexes that hold little by their nature.
SMALL = re.compile(
    r"SCAN (?:\(subquery|places"
    r"|asked|awaited|back|links|mine|t\b|u\b|newest|roots|chain|ended|lanes|level|ready|seen|waiting|moments"
    r"|CONSTANT ROW|job_groups"
    r"|\w+ (?:VIRTUAL TABLE|USING (?:COVERING )?INDEX idx_))"
)


def is_full_scan(step: str) -> bool:
    return bool(re.search(r"Seq Scan on job(?:s|_runs)\b", step)) or ("SCAN" in step and not SMALL.search(step))


def explained(engine: Engine, hot: Statement, params: dict[str, Any]) -> list[str]:
    """The plan, one step a line."""
    asked = Statement(f"plan of {hot.name}", f"EXPLAIN QUERY PLAN {hot.sqlite}", f"EXPLAIN (COSTS OFF) {hot.postgres}")

    def explain(tx: Tx) -> list[dict[str, Any]]:
        if tx.dialect is Dialect.POSTGRES:
            # The tables are small here; what is asked is which index would serve when they are too big to be walked.
            for way in ("seqscan", "hashjoin", "mergejoin"):
                tx.run(statement(f"SET LOCAL enable_{way} = off"))
        return tx.rows(asked, **params)

    return [row.get("detail") or row["QUERY PLAN"] for row in write(engine, explain)]


def test_without_its_index_a_statement_would_be_caught(filled: Engine) -> None:
    steps = explained(filled, statement("SELECT id FROM jobs WHERE payload = 'x'"), {})
    assert any(is_full_scan(step) for step in steps)


@pytest.mark.parametrize("name", ["claimable", "ready_suspects", "queue_gates", "arrival", "session_load"])
def test_a_plan_is_made_once_and_not_for_each_call(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "store.db")
    made = SqliteEngine(path, now=lambda: NOW)
    made.query(list_queues)
    made.close()
    asked: list[int] = []

    def allow(*about: object) -> int:
        asked.append(1)
        return apsw.SQLITE_OK

    with closing(connect(path, writable=True, durability="normal")) as connection:
        connection.authorizer = allow  # Whoever makes a plan asks it.
        for value in ("a", "b", "c"):
            params = dict.fromkeys(PLANS[name].params, value) | {"queues": "[]", "tasks": "[]"} | NUMBERS
            connection.execute(getattr(sql, name).sqlite, params).fetchall()
            if value == "a":
                assert asked
                asked.clear()
    assert asked == []
