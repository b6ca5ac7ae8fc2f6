"""A disk that says "synced" and is not: after a power cut the database is an older one, or says that it is damaged.

One thing nobody can find out: a page that is missing in the database file while nearly all around it is there looks
like an older page. The long test counts how seldom that stays unseen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest

from holdfast.core.errors import StoreCorrupt
from holdfast.store.scripts.maintenance import doctor
from tests.faults.crash_image import Image, Platter, Survives, all_of_it, some_of_it, torn, write_image
from tests.faults.faulty_vfs import NewDisk, Op
from tests.faults.recording import Recording, record
from tests.faults.story import WHOLE, Rows, Story, every_row

Loss: TypeAlias = Callable[[Random], Survives]
Cut: TypeAlias = Callable[[Recording, Random], tuple[Platter, list[Op]]]

OLDER, DAMAGED, MIXED = "an earlier state", "damaged and said so", "mixed"


def verdict(image: Image, states: list[Rows], path: Path) -> str:
    """What a fresh engine makes of the files."""
    engine = Story().engine(write_image(image, path))
    try:
        if doctor.examine(engine):
            return DAMAGED
        rows = engine.query(every_row)
    except StoreCorrupt:
        return DAMAGED
    finally:
        engine.close()
    return OLDER if any(_same(rows, state) for state in states) else MIXED


def _same(rows: Rows, state: Rows) -> bool:
    # SQLite's own counter may lag behind: it never gives out a number that a row has.
    return {**rows, "sqlite_sequence": []} == {**state, "sqlite_sequence": []}


def lose_little(random: Random) -> Survives:
    """Nearly everything is there."""
    share = random.choice((0.02, 0.1, 0.3))

    def survives(op: Op) -> Op | None:
        if random.random() >= share:
            return op
        return random.choice((None, torn(op, random.random())))

    return survives


def cut_somewhere(recording: Recording, random: Random) -> tuple[Platter, list[Op]]:
    """The power goes at some moment, and no sync since a while before that was a true one."""
    cut = random.randrange(len(recording.tape))
    honest = max(0, cut - random.choice((10, 30, 100, len(recording.tape))))
    on_disk = Platter(recording.start).play(recording.tape[:honest]).image(all_of_it)
    return Platter(on_disk, lies=True), recording.tape[honest:cut]


def cut_late(recording: Recording, random: Random) -> tuple[Platter, list[Op]]:
    """The power goes in the later half, and no sync was ever a true one."""
    cut = random.randrange(len(recording.tape) // 2, len(recording.tape))
    return Platter(recording.start, lies=True), recording.tape[:cut]


def verdicts(recording: Recording, cut: Cut, loss: Loss, random: Random, tries: int, folder: Path) -> Counter[str]:
    """Cut and look, this many times."""
    found: Counter[str] = Counter()
    for number in range(tries):
        platter, ops = cut(recording, random)
        image = platter.play(ops).image(loss(random))
        found[verdict(image, recording.states, folder / f"lied-{number}.db")] += 1
    return found


@pytest.fixture
def log_only(empty: Image, tmp_path: Path, new_disk: NewDisk) -> Recording:
    """A story up to its last call: all of it is in the WAL."""
    recording = record(WHOLE, empty, tmp_path, new_disk)
    recording.tape = recording.tape[: recording.acknowledged[-1]]
    return recording


@pytest.fixture
def moved(empty: Image, eager_checkpoints: None, tmp_path: Path, new_disk: NewDisk) -> Recording:
    """A story whose pages are moved from the WAL into the database all the time."""
    return record(WHOLE, empty, tmp_path, new_disk)


@pytest.mark.parametrize("loss", [lose_little, some_of_it])
def test_what_is_lost_of_the_log_leaves_an_earlier_state(
    loss: Loss, log_only: Recording, seed: int, tmp_path: Path
) -> None:
    found = verdicts(log_only, cut_somewhere, loss, Random(seed), 100, tmp_path)
    assert found.keys() == {OLDER}, found


def test_what_is_lost_of_the_database_itself_is_found_out(
    moved: Recording,
    seed: int,
    tmp_path: Path,
) -> None:
    found = verdicts(moved, cut_late, some_of_it, Random(seed), 150, tmp_path)
    assert found[MIXED] == 0, found
    assert found[DAMAGED] > 0, "nothing was lost"


@pytest.mark.long
def test_a_little_that_is_lost_of_the_database_is_nearly_always_found_out(
    moved: Recording, seed: int, tmp_path: Path
) -> None:
    found = verdicts(moved, cut_somewhere, lose_little, Random(seed), 5_000, tmp_path)
    print(dict(found))
    assert found[MIXED] < 0.01 * found.total()
