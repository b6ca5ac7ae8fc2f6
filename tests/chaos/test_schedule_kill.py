"""A tick fires exactly once, whoever races for it, by whatever clock, and whoever is killed meanwhile."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.store.engine import Engine
from holdfast.store.scripts.schedules.schedules import put_schedule
from holdfast.store.scripts.schedules.templates import put_template
from tests.chaos.conftest import Start
from tests.chaos.database import Database, select
from tests.chaos.journal import entries
from tests.chaos.processes import until
from tests.chaos.scenarios.shared import NOW

SECOND = 1_000
KILLS = 3


def fired(engine: Engine) -> list[int]:
    """The seconds after the beginning whose tick has fired, in order."""
    rows = select(engine, "SELECT fire_time FROM jobs ORDER BY fire_time")
    return [(row["fire_time"] - NOW) // SECOND for row in rows]


def both_have_raced(folder: Path, lives: int) -> bool:
    """Whether every process that ever lived has fired some 20 times."""
    rounds = Counter(entry.life for entry in entries(folder, "fired"))
    return len(rounds) == lives and min(rounds.values()) >= 20


def test_racing_processes_that_are_killed_fire_every_tick_once(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    engine.submit(put_template, NewTemplate(id="t", name="clean", task="work"), NOW).result()
    every_second = NewSchedule(
        id="s",
        name="every-second",
        template="clean",
        cron="* * * * * *",
        misfire=Misfire.ALL,
        overlap=Overlap.ALLOW,
    )
    engine.submit(put_schedule, every_second, NOW).result()
    survivor = start("ticker", *database.args, folder, 0)
    for seed in range(1, KILLS + 1):
        victim = start("ticker", *database.args, folder, seed)
        until(partial(both_have_raced, folder, seed + 1), "both have fired for a while")
        victim.kill()
    (folder / "done").touch()
    survivor.end_well()
    ticks = fired(engine)
    assert len(ticks) > KILLS
    assert ticks == list(range(1, len(ticks) + 1))
