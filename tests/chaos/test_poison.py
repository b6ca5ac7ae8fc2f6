"""A job that takes its process down is found out and parked; those that were beside it pay nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.core.values.retry import POISON_DEATHS
from holdfast.store.engine import Engine
from tests.chaos import checker
from tests.chaos.conftest import Start
from tests.chaos.database import Database, select
from tests.chaos.journal import entries

EXIT_CODES = {"kill": -9, "exit": 3, "segfault": -11}
COMPANY = 3


def live_and_die(start: Start, database: Database, folder: Path, way: str, company: int, infra: int) -> int:
    """Start the program again and again until it ends well; how often it died."""
    deaths = 0
    while code := start("doomed", *database.args, folder, way, company, infra).wait():
        assert code == EXIT_CODES[way]
        deaths += 1
    return deaths


def jobs(engine: Engine, task: str) -> list[dict[str, Any]]:
    return select(engine, "SELECT * FROM jobs WHERE job_type = :task", task=task)


@pytest.mark.parametrize(
    ("database", "way"), [("sqlite", way) for way in EXIT_CODES] + [("postgres", "kill")], indirect=["database"]
)
def test_a_job_that_kills_its_process_is_parked_and_the_innocent_are_not_charged(
    database: Database, engine: Engine, folder: Path, start: Start, way: str
) -> None:
    # The first death is nobody's for certain; the next three are its own.
    assert live_and_die(start, database, folder, way, COMPANY, infra=3) == 1 + POISON_DEATHS
    [poison] = jobs(engine, "poison")
    assert (poison["state"], poison["error_code"], poison["deaths"]) == ("FAILED", "ERR_POISON", POISON_DEATHS)
    companions = jobs(engine, "companion")
    assert [(job["state"], job["attempts"], job["infra_tries"]) for job in companions] == [("DONE", 2, 0)] * COMPANY
    bystanders = jobs(engine, "bystander")
    assert [(job["state"], job["attempts"]) for job in bystanders] == [("DONE", 1)] * (1 + POISON_DEATHS)
    assert checker.problems(engine, folder) == []


@pytest.mark.parametrize("company", [0, COMPANY])
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_job_with_no_budget_for_crashes_never_runs_twice(
    database: Database, engine: Engine, folder: Path, start: Start, company: int
) -> None:
    assert live_and_die(start, database, folder, "kill", company, infra=0) == 1
    [poison] = jobs(engine, "poison")
    assert (poison["state"], poison["error_code"]) == ("FAILED", "ERR_CRASH_RECOVERY")
    assert [entry.about[1] for entry in entries(folder, "start")].count(poison["id"]) == 1
    assert [job["state"] for job in jobs(engine, "companion")] == ["DONE"] * company
