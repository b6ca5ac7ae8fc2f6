"""The disk fails once, at any request: the one caller it hit is told, everybody else is served, nothing is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec import Struct, field

from holdfast.core.errors import HoldfastError, OutcomeUnknown
from holdfast.store.engine import Engine
from holdfast.store.scripts.maintenance import doctor
from tests.faults.crash_image import Image, Platter, all_of_it, none_of_it, read_image, write_image
from tests.faults.faulty_vfs import Act, Fault, FaultyDisk, How, NewDisk
from tests.faults.story import SHORT, WHOLE, Call, Rows, Story, every_row, states_of

T = TypeVar("T")

QUICK = [
    (Act.WRITE, How.TORN, 4),
    (Act.WRITE, How.FULL, 4),
    (Act.SYNC, How.ERROR, 1),
    (Act.TRUNCATE, How.ERROR, 1),
    (Act.READ, How.ERROR, 12),
    (Act.OPEN, How.ERROR, 1),
    (Act.DELETE, How.ERROR, 1),
]
ALL = [(act, How.ERROR) for act in Act] + [(Act.WRITE, How.TORN), (Act.WRITE, How.FULL)]


class Trial(Struct):
    """One story on one faulty disk: each call is made until it is done, as a careful caller would."""

    story: Story
    engine: Engine
    disk: FaultyDisk
    start: Image
    states: list[Rows]
    errors: list[HoldfastError] = field(default_factory=list)

    def tell(self, number: int, call: Call) -> None:
        """Make a call; after an error look whether it is there, and make it again if not."""
        before, after = self.states[number : number + 2]
        rows = before
        while rows != after:
            known = len(self.errors)
            self._ask(lambda: self.story.tell(self.engine, call))
            error = self.errors[-1] if len(self.errors) > known else None
            killed = Platter(self.start).play(self.disk.tape).image(all_of_it)
            rows = self.look()
            if error is None:
                assert rows == after, f"{call.__name__} was acknowledged and is not there"
            else:
                possible = (before, after) if isinstance(error, OutcomeUnknown) else (before,)
                assert rows in possible, f"{call.__name__}, after {error!r}"
                expect_rows(possible, write_image(killed, Path(f"{self.disk.path}-killed")))

    def look(self) -> Rows:
        """Every row, as the engine itself sees it."""
        rows: Rows | None = None
        while rows is None:
            rows = self._ask(lambda: self.engine.query(every_row))
        return rows

    def _ask(self, question: Callable[[], T]) -> T | None:
        struck = self.disk.struck
        try:
            return question()
        except HoldfastError as error:
            self.errors.append(error)
        assert self.disk.struck > struck, f"the disk did nothing wrong, and yet: {self.errors[-1]}"
        assert self.disk.path in str(self.errors[-1])
        return None


def live_through(fault: Fault, start: Image, calls: tuple[Call, ...], states: list[Rows], disk: FaultyDisk) -> Trial:
    """Tell the story on a disk with a fault, and look what is there afterwards, and after a power cut instead."""
    path = write_image(start, Path(disk.path))
    story = Story()
    engine = story.engine(path, vfs=disk.name)
    trial = Trial(story, engine, disk, start, states)
    disk.break_next(fault)
    for number, call in enumerate(calls):
        trial.tell(number, call)
    synced = Platter(start).play(disk.tape).image(none_of_it)
    engine.close()
    expect_rows(states[-1:], path)
    expect_rows(states[-1:], write_image(synced, Path(f"{path}-cut")))
    return trial


def expect_rows(possible: Sequence[Rows], path: Path) -> None:
    """What somebody finds who opens the file anew."""
    engine = Story().engine(path)
    assert engine.query(every_row) in possible
    assert doctor.examine(engine) == []
    engine.close()


def fail_everywhere(
    act: Act,
    how: How,
    start: Image,
    calls: tuple[Call, ...],
    folder: Path,
    new_disk: NewDisk,
    step: int = 1,
    seed: int = 0,
) -> Counter[str]:
    """Fail one of the first requests of a kind, and each n-th after it until the story passes untouched.

    Answers what callers heard.
    """
    states = states_of(calls, write_image(start, folder / "reference.db"))
    heard: Counter[str] = Counter()
    for nth in count(1 + seed % step, step):
        here = folder / str(nth)
        here.mkdir()
        trial = live_through(Fault(act, nth, how), start, calls, states, new_disk(here / "faulty.db"))
        assert len(trial.errors) <= trial.disk.struck, trial.errors
        heard.update(type(error).__name__ for error in trial.errors)
        if not trial.disk.struck:
            break
        heard["faults"] += 1
    return heard


@pytest.fixture
def in_session(tmp_path: Path) -> Image:
    """A database where somebody is about to work."""
    states_of((Story.open_session,), tmp_path / "in-session.db")
    return read_image(tmp_path / "in-session.db")


@pytest.mark.usefixtures("eager_checkpoints")
@pytest.mark.parametrize(("act", "how", "step"), QUICK)
def test_a_fault_hits_one_caller_and_loses_nothing(
    act: Act, how: How, step: int, seed: int, in_session: Image, tmp_path: Path, new_disk: NewDisk
) -> None:
    heard = fail_everywhere(act, how, in_session, SHORT, tmp_path, new_disk, step, seed)
    assert heard["faults"] > 0


@pytest.mark.parametrize(
    ("act", "step"),
    [
        (Act.WRITE, 60),
        (Act.SYNC, 4),
        (Act.OPEN, 4),
        *(pytest.param(act, 1, marks=pytest.mark.long) for act in (Act.WRITE, Act.SYNC, Act.OPEN)),
    ],
)
def test_a_migration_that_fails_leaves_all_as_it_was(
    act: Act, step: int, seed: int, older: Image, tmp_path: Path, new_disk: NewDisk
) -> None:
    calls = (Story.enqueue_one,)
    heard = fail_everywhere(act, How.ERROR, older, calls, tmp_path, new_disk, step, seed)
    print(f"{act}: {dict(heard)}")
    assert heard["faults"] > 0


@pytest.mark.long
@pytest.mark.usefixtures("eager_checkpoints")
@pytest.mark.parametrize(("act", "how"), ALL)
def test_a_fault_at_any_request_of_the_whole_story_loses_nothing(
    act: Act, how: How, tmp_path: Path, new_disk: NewDisk
) -> None:
    heard = fail_everywhere(act, how, {}, WHOLE, tmp_path, new_disk)
    print(f"{act} {how}: {dict(heard)}")
