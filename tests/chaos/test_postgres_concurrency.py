"""Several processes on one PostgreSQL database claim at once: each job is handed out once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.store.engine import Engine
from holdfast.store.scripts.queues.queues import list_queues
from tests.chaos import checker
from tests.chaos.conftest import Start
from tests.chaos.database import Database, sessions, states
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, until

WORKERS = 4
JOBS = 400


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_processes_that_claim_at_once_run_each_job_once(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    with_tasks = Holdfast(database.target, schema=database.schema)

    @with_tasks.task
    def note() -> None: ...

    jobs = {handle.id for handle in note.enqueue_many([{}] * JOBS)}
    with_tasks.close()
    workers = [start("worker", *database.args, folder, 2, WORKERS) for _ in range(WORKERS)]
    until(lambda: len(entries(folder, "ready")) == WORKERS, "everybody is ready")
    (folder / "go").touch()
    until(lambda: set(states(engine)) == {"DONE"}, "every job is done")
    (folder / "done").touch()
    for worker in workers:
        worker.end_well()

    assert [worker.said() for worker in workers] == [""] * WORKERS
    assert checker.problems(engine, folder) == []
    starts = entries(folder, "start")
    assert Counter(entry.about[1] for entry in starts) == Counter(jobs)
    assert len({entry.life for entry in starts}) == WORKERS
    assert [session["status"] for session in sessions(engine)] == ["success"] * WORKERS


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_a_process_that_stands_still_in_a_transaction_does_not_stop_the_others(
    database: Database, engine: Engine, start: Start
) -> None:
    silent = start("silent", *database.args, 0.5)
    until(lambda: silent.is_frozen, "it stands still")
    engine.submit(list_queues).result(PATIENCE_S)
