"""A program that fires schedules as fast as it can, by a clock of its own that jumps back and forth as it goes on."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from holdfast.store.scripts.schedules.firing import fire_due
from holdfast.store.scripts.schedules.schedules import find_schedule
from tests.chaos.database import Database
from tests.chaos.journal import Journal
from tests.chaos.scenarios.shared import NOW

JUMP_MS = 10_000

target, schema, side, seed = sys.argv[1:]
folder = Path(side)
engine = Database(target, schema).engine()
chance = random.Random(int(seed))
journal = Journal(folder)
while not (folder / "done").exists():
    front = engine.query(find_schedule, "every-second").settled_until
    # Never so far ahead that ticks would be left out as too many.
    engine.submit(fire_due, max(NOW, front + chance.randrange(-JUMP_MS, JUMP_MS))).result()
    journal.note("fired")
engine.close()
