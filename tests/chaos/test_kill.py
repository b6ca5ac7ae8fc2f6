"""Kill -9 at any instant loses nothing: programs under load are killed and restarted, and at the end all is right."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from holdfast.store.scripts.maintenance.doctor import examine
from tests.chaos import checker
from tests.chaos.conftest import Start
from tests.chaos.database import Database, select
from tests.chaos.journal import entries
from tests.chaos.processes import Program, until

AT_ONCE = 2
STARTING_S = 0.4
WORKING_S = 0.2
LOOKS = 15


class Siege:
    """Keeps programs running and kills them, all by one seed."""

    def __init__(self, database: Database, folder: Path, start: Start, seed: int) -> None:
        self.database = database
        self.folder = folder
        self.start = start
        self.random = random.Random(seed)
        self.living: list[Program] = []
        self.closed_runs: dict[str, dict[str, object]] = {}
        self.kills = 0

    def cycle(self) -> None:
        """Start what is missing, wait for a moment, kill one or all."""
        while len(self.living) < AT_ONCE:
            self.living.append(self._begin("load"))
        if self.random.random() < 0.3:
            time.sleep(self.random.uniform(0, STARTING_S))
        else:
            until(lambda: self._works(self.living[-1]), "the program works")
            time.sleep(self.random.uniform(0, WORKING_S))
        for doomed in self.random.choice((self.living[:1], self.living[1:], list(self.living))):
            assert doomed.is_running, doomed.said()
            doomed.kill()
            self.living.remove(doomed)
            self.kills += 1

    def finish(self) -> None:
        """Kill the rest, and let one last program bring everything to its end."""
        for program in self.living:
            program.kill()
            self.kills += 1
        self._begin("finish").end_well()
        self.look()

    def look(self) -> None:
        """At every instant the invariants hold, and a run that was seen closed is never seen otherwise."""
        engine = self.database.engine()
        assert examine(engine) == []
        closed = {row["id"]: row for row in select(engine, "SELECT * FROM job_runs WHERE status IS NOT NULL")}
        engine.close()
        assert {run_id: closed.get(run_id) for run_id in self.closed_runs} == self.closed_runs
        self.closed_runs = closed

    def _begin(self, purpose: str) -> Program:
        return self.start("load", *self.database.args, self.folder, self.random.randrange(2**32), purpose)

    def _works(self, program: Program) -> bool:
        assert program.is_running, program.said()
        journals = self.folder.glob(f"{program.pid}-*.journal")
        return any(b" start " in journal.read_bytes() for journal in journals)


@pytest.fixture
def siege(database: Database, folder: Path, start: Start, seed: int) -> Siege:
    """A siege that nobody has begun."""
    return Siege(database, folder, start, seed)


def besiege(siege: Siege, cycles: int) -> None:
    for _ in range(cycles):
        siege.cycle()
        if siege.random.random() < LOOKS / cycles:
            siege.look()
    siege.finish()
    engine = siege.database.engine()
    found = checker.problems(engine, siege.folder)
    print(f"{siege.kills} kills, {checker.summary(engine, siege.folder)}")
    engine.close()
    assert found == []
    assert entries(siege.folder, "acked")


@pytest.mark.parametrize(("database", "cycles"), [("sqlite", 10), ("postgres", 4)], indirect=["database"])
def test_killed_at_any_moment_nothing_is_lost(siege: Siege, cycles: int) -> None:
    besiege(siege, cycles)


@pytest.mark.long
@pytest.mark.parametrize(("database", "cycles"), [("sqlite", 500), ("postgres", 100)], indirect=["database"])
def test_killed_hundreds_of_times_nothing_is_lost(siege: Siege, cycles: int) -> None:
    besiege(siege, cycles)
