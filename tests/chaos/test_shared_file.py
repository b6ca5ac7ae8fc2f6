"""Several processes on one SQLite file: web processes enqueue, others work, and nobody is in anybody's way."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from holdfast.store.engine import Engine
from tests.chaos import checker
from tests.chaos.conftest import Start
from tests.chaos.database import Database, sessions, states
from tests.chaos.journal import entries
from tests.chaos.processes import until

# One of the producers wants far more than the others.
THREADS = (8, 1, 1, 1)
WORKERS = 2
JOBS = 1_500


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_many_processes_share_one_file(database: Database, engine: Engine, folder: Path, start: Start) -> None:
    workers = [start("worker", *database.args, folder, 5, WORKERS) for _ in range(WORKERS)]
    producers = [start("producer", *database.args, folder, threads) for threads in THREADS]
    until(lambda: len(entries(folder, "ready")) == len(THREADS) + WORKERS, "everybody is ready")
    (folder / "go").touch()
    until(lambda: len(entries(folder, "acked")) >= JOBS, "enough jobs are enqueued")
    (folder / "stop").touch()
    for producer in producers:
        producer.end_well()
    until(lambda: set(states(engine)) == {"DONE"}, "every job is done")
    (folder / "done").touch()
    for worker in workers:
        worker.end_well()

    # No error reached a caller, and no loop had to complain.
    assert [program.said() for program in producers + workers] == [""] * len(producers + workers)
    assert checker.problems(engine, folder) == []
    runs = Counter(entry.about[1] for entry in entries(folder, "start"))
    assert runs == Counter(entry.about[0] for entry in entries(folder, "acked"))
    assert [session["status"] for session in sessions(engine)] == ["success"] * WORKERS
    # They do not begin at the same moment.
    began = {entry.life: entry.at for entry in reversed(entries(folder, "acked"))}
    assert len(began) == len(THREADS)
    commits = Counter(entry.life for entry in entries(folder, "commit") if entry.at > max(began.values()))
    print(f"commits by producer while all were there: {sorted(commits.values())}")
    assert min(commits.values()) > commits.total() / len(THREADS) * 2 / 3, "a producer had to wait for too many others"
