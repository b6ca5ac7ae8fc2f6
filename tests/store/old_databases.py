"""What the databases of earlier programs held, and which migrations were applied to one."""

from __future__ import annotations

from holdfast.store.engine import Engine
from holdfast.store.migrate import migrations
from holdfast.store.statements import Dialect
from tests.store.acts import execute, select

EVERY = [migration.name for migration in migrations(Dialect.SQLITE)]
JOB = "INSERT INTO jobs (id, queue, job_type, position, state, created_at, payload, {}) VALUES ({})"
ROWS = [
    "INSERT INTO sessions (id, kind, status, node, boot_id, pid, started_at, last_heartbeat_at)"
    " VALUES ('s1', 'embedded', 'running', 'n', 'b', 1, 1, 1)",
    "INSERT INTO queues (name, concurrency) VALUES ('slow', 2)",
    "INSERT INTO subjects (job_type, subject_key, generation, updated_at) VALUES ('t', 's', 5, 1)",
    JOB.format("queued_at", "'ready', 'default', 't', 100, 'QUEUED', 1, '{}', 1"),
    JOB.format("finished_at", "'done', 'default', 't', 100, 'DONE', 1, '{}', 2"),
    JOB.format(
        "subject_key, generation, started_at, session_id, run_id",
        "'running', 'default', 't', 100, 'RUNNING', 1, '{}', 's', 5, 1, 's1', 'r1'",
    ),
    "INSERT INTO job_runs (id, job_id, attempt, session_id, params_snapshot, started_at)"
    " VALUES ('r1', 'running', 1, 's1', '{}', 1)",
]


def applied(engine: Engine) -> list[str]:
    return [row["name"] for row in select(engine, "SELECT name FROM schema_version ORDER BY version")]


def put_row(engine: Engine) -> None:
    execute(engine, ROWS[3])
