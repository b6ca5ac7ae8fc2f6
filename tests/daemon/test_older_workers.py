"""Workers of 0.4 outlive the upgrade of their daemon: they know of no secrets, and finish what they hold."""

from __future__ import annotations

import json

from holdfast.runtime.clock import SystemClock
from holdfast.store.sqlite.engine import SqliteEngine
from tests.daemon.house import APPS, House, Process
from tests.store.acts import execute

SESSION, RUN, JOB = "0190aaaa-0000-7000-8000-000000000001", "run-of-0.4", "job-of-0.4"
LAST_OF_0_4 = 17


def begin_in_0_4(house: House) -> None:
    """A database as 0.4 left it while a worker of its daemon, on another machine, was at a job."""
    house.home.folder.mkdir(mode=0o700, exist_ok=True)
    now = SystemClock().now()
    engine = SqliteEngine(house.home.database, now=SystemClock().now, migrate_to=LAST_OF_0_4)
    for text in (
        "INSERT INTO sessions (id, kind, status, node, boot_id, pid, started_at, last_heartbeat_at)"
        f" VALUES ('{SESSION}', 'worker', 'running', 'elsewhere', 'b', 1, {now}, {now})",
        "INSERT INTO jobs (id, queue, job_type, position, state, created_at, payload, started_at, session_id, run_id)"
        f" VALUES ('{JOB}', 'old', 'old', 100, 'RUNNING', {now}, '{{}}', {now}, '{SESSION}', '{RUN}')",
        "INSERT INTO job_runs (id, job_id, attempt, session_id, params_snapshot, started_at)"
        f" VALUES ('{RUN}', '{JOB}', 1, '{SESSION}', '{{}}', {now})",
    ):
        execute(engine, text)
    engine.close()


def old_worker(house: House) -> Process:
    return house.python(str(APPS / "protocol_one.py"), str(house.home.socket), SESSION, RUN, JOB)


def test_a_worker_of_0_4_finishes_its_run_across_the_upgrade(house: House) -> None:
    begin_in_0_4(house)
    house.settings('[daemon]\nlease = "10m"\n')
    daemon = house.up()
    later = house.enqueue("old", queue="old")
    worker = old_worker(house)
    worker.end_well()
    assert json.loads(worker.said()) == [1, True, None, None, True]
    assert house.client().job(JOB).result() == "from before"
    assert later.result() == "and after"
    house.down(daemon)


def test_where_a_secret_is_required_it_is_refused(house: House) -> None:
    begin_in_0_4(house)
    house.settings('[daemon]\nlease = "10m"\n[api]\nrequire_session_secret = true\n')
    daemon = house.up()
    worker = old_worker(house)
    assert worker.wait() == 1
    assert "ERR_NOT_HOLDER: this daemon takes no sessions without a secret" in worker.said()
    assert house.client().job(JOB).state == "RUNNING"
    # Those of this version have one.
    assert house.client().command("true").result(30) == {"exit_code": 0}
    house.down(daemon)
