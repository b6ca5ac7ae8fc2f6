"""What the database itself refuses, whatever a script may try."""

from __future__ import annotations

import apsw
import psycopg
import pytest

from holdfast.core.errors import StoreError
from holdfast.core.values.group import Dependency, GroupMode
from holdfast.store.engine import Engine
from tests.store.acts import (
    FAILED,
    claim_some,
    dump,
    execute,
    group,
    new_job,
    put,
    put_and_end,
)


def world(engine: Engine) -> None:
    put_and_end(engine, "done", subject="old")
    put_and_end(engine, "failed", FAILED)
    group(engine, "g", GroupMode.SEQUENTIAL)
    put(engine, new_job("running1", group_id="g"), new_job("running2", subject="s"), new_job("keyed", task="u"))
    claim_some(engine)
    put(
        engine,
        new_job("ready"),
        new_job("later", delay_ms=50),
        new_job("child", after=(Dependency("ready"),)),
        new_job("about", subject="s"),
        new_job("other", subject="s2", idempotency_key="k"),
    )
    execute(engine, RESERVE.format("r", "x", "s1"))


RESERVE = (
    "INSERT INTO direct_reservations (id, scope, reserved_by, session_id, status, ttl_ms, reserved_at, expires_at)"
    " VALUES ('{}', '{}', 'me', '{}', 'ACTIVE', 1, 0, 1)"
)
RUN = "INSERT INTO job_runs (id, job_id, attempt, params_snapshot, started_at) VALUES ('x', '{}', {}, '', 0)"
TAKE = "UPDATE jobs SET state = 'RUNNING', started_at = 1, session_id = 's1', run_id = 'x' WHERE id = '{}'"

REFUSED = {
    "two open runs of a job": RUN.format("running1", 2),
    "two runs with one number": RUN.format("done", 1),
    "a run of no job": RUN.format("nobody", 1),
    "a run that is closed without a moment": "UPDATE job_runs SET status = 'FAILED' WHERE job_id = 'running1'",
    "a run that is open with a moment": "UPDATE job_runs SET finished_at = 5 WHERE job_id = 'running1'",
    "a run with an unknown status": "UPDATE job_runs SET status = 'LOST', finished_at = 5 WHERE job_id = 'running1'",
    "a closed run with another status": "UPDATE job_runs SET status = 'FAILED' WHERE job_id = 'done'",
    "a closed run that is opened": "UPDATE job_runs SET status = NULL, finished_at = NULL WHERE job_id = 'done'",
    "a closed run of another job": "UPDATE job_runs SET job_id = 'ready' WHERE job_id = 'done'",
    "a closed run with another payload": "UPDATE job_runs SET params_snapshot = 'x' WHERE job_id = 'done'",
    "a closed run with another start": "UPDATE job_runs SET started_at = 1 WHERE job_id = 'done'",
    "a closed run with another number": "UPDATE job_runs SET attempt = 9 WHERE job_id = 'done'",
    "a closed run of another session": "UPDATE job_runs SET session_id = NULL WHERE job_id = 'done'",
    "a job that ended and waits again": "UPDATE jobs SET state = 'QUEUED', finished_at = NULL WHERE id = 'done'",
    "a job that ended in another way": "UPDATE jobs SET state = 'FAILED' WHERE id = 'done'",
    "an ended job without a moment": "UPDATE jobs SET finished_at = NULL WHERE id = 'done'",
    "a job that ends without a moment": "UPDATE jobs SET state = 'CANCELLED' WHERE id = 'ready'",
    "a waiting job with a moment": "UPDATE jobs SET finished_at = 5 WHERE id = 'ready'",
    "a ready job that was never queued": "UPDATE jobs SET queued_at = NULL WHERE id = 'ready'",
    "a running job without a run": "UPDATE jobs SET run_id = NULL WHERE id = 'running1'",
    "a running job without a session": "UPDATE jobs SET session_id = NULL WHERE id = 'running1'",
    "a running job of no session": "UPDATE jobs SET session_id = 'nobody' WHERE id = 'running1'",
    "a running job without a start": "UPDATE jobs SET started_at = NULL WHERE id = 'running1'",
    "a waiting job with a run": "UPDATE jobs SET run_id = 'x' WHERE id = 'ready'",
    "a waiting job with a session": "UPDATE jobs SET session_id = 's1' WHERE id = 'ready'",
    "an unknown state": "UPDATE jobs SET state = 'LOST' WHERE id = 'ready'",
    "a job without a queue": "UPDATE jobs SET queue = NULL WHERE id = 'ready'",
    "two jobs with one id": "UPDATE jobs SET id = 'ready' WHERE id = 'later'",
    "a subject without a generation": "UPDATE jobs SET generation = NULL WHERE id = 'about'",
    "a generation without a subject": "UPDATE jobs SET generation = 1 WHERE id = 'ready'",
    "a negative generation": "UPDATE jobs SET generation = -1 WHERE id = 'about'",
    "two running jobs of a subject": TAKE.format("about"),
    "two waiting jobs of a subject": "UPDATE jobs SET subject_key = 's' WHERE id = 'other'",
    "two first jobs of a generation": "UPDATE jobs SET subject_key = 's' WHERE id = 'done'",
    "two running members of a sequence": "UPDATE jobs SET group_id = 'g', group_seq = 2 WHERE id = 'running2'",
    "a member of no group": "UPDATE jobs SET group_id = 'nowhere' WHERE id = 'ready'",
    "two automatic retries": "UPDATE jobs SET retry_of = 'failed' WHERE id IN ('ready', 'later')",
    "two first jobs of a tick": "UPDATE jobs SET schedule_id = 'd', fire_time = 5 WHERE id IN ('ready', 'later')",
    "two jobs with one idempotency key": "UPDATE jobs SET idempotency_key = 'k' WHERE id = 'ready'",
    "fewer than no open conditions": "UPDATE jobs SET open_conditions = -1 WHERE id = 'ready'",
    "more progress than all": "UPDATE jobs SET progress = 1.5 WHERE id = 'running1'",
    "a condition twice": "INSERT INTO job_conditions (job_id, key, value) VALUES ('child', 'after:ready', 'done')",
    "a condition of no job": "INSERT INTO job_conditions (job_id, key, value) VALUES ('nobody', 'after:ready', 'done')",
    "a session that ended without a moment": "UPDATE sessions SET status = 'success'",
    "a session that lives and has ended": "UPDATE sessions SET stopped_at = 5",
    "a session that does not exist any more": "DELETE FROM sessions",
    "a reservation of a reserved queue": RESERVE.format("r2", "x", "s1"),
    "everything reserved beside a queue": RESERVE.format("r2", "*", "s1"),
    "a reservation of no session": RESERVE.format("r2", "y", "nobody"),
    "a reservation that ended without a moment": "UPDATE direct_reservations SET status = 'RELEASED'",
    "a group that has members": "DELETE FROM job_groups",
    "a negative limit": "INSERT INTO queues (name, concurrency) VALUES ('q', -1)",
    "a tenant without weight": "INSERT INTO tenants (queue, tenant, weight) VALUES ('q', 't', 0)",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_the_database_refuses(engine: Engine, text: str) -> None:
    world(engine)
    before = dump(engine)
    with pytest.raises(StoreError) as refusal:
        execute(engine, text)
    assert isinstance(refusal.value.__cause__, apsw.ConstraintError | psycopg.IntegrityError)
    assert dump(engine) == before


ACCEPTED = {
    "a queue beside a reserved one": RESERVE.format("r2", "y", "s1"),
    "a first retry": "UPDATE jobs SET retry_of = 'failed' WHERE id = 'ready'",
    "the key of another task": "UPDATE jobs SET idempotency_key = 'k' WHERE id = 'keyed'",
    "artifacts of a closed run": "UPDATE job_runs SET artifacts = '[]' WHERE job_id = 'done'",
    "a second member that waits": "UPDATE jobs SET group_id = 'g', group_seq = 2 WHERE id = 'ready'",
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_the_database_accepts(engine: Engine, text: str) -> None:
    world(engine)
    assert execute(engine, text) == 1
