"""The power goes at any moment: what was acknowledged is there, what was under way is there whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest

from holdfast.store.scripts.maintenance import doctor
from tests.faults.crash_image import Image, Platter, all_of_it, none_of_it, some_of_it, torn, write_image
from tests.faults.faulty_vfs import Act, NewDisk, Op
from tests.faults.recording import Recording, record
from tests.faults.story import WHOLE, Story, every_row
from tests.strides import every

Cut: TypeAlias = Callable[[Platter, Op], Iterator[Image]]


def cuts(recording: Recording, cut: Cut) -> Iterator[tuple[int, Image]]:
    """The images that `cut` makes before each operation, each image once between two calls."""
    platter = Platter(recording.start)
    seen: set[tuple[int, int]] = set()
    for number, op in enumerate(recording.tape):
        for image in cut(platter, op):
            key = (recording.acknowledged_by(number), hash(tuple(sorted(image.items()))))
            if key not in seen:
                seen.add(key)
                yield number, image
        platter.play([op])
    yield len(recording.tape), platter.image(all_of_it)


def survive(
    recording: Recording, cut: Cut, folder: Path, *, step: int = 1, first: int = 0, may_lose_the_last: bool = False
) -> int:
    """Open every n-th image with a fresh engine and look at every row; how many images there were."""
    tried = 0
    for tried, (number, image) in enumerate(cuts(recording, cut), 1):
        if (tried - first) % step and number < len(recording.tape):
            continue
        engine = Story().engine(write_image(image, folder / f"{cut.__name__}-{tried}.db"))
        done = recording.acknowledged_by(number)
        possible = recording.states[0 if may_lose_the_last else done : done + 2]
        assert engine.query(every_row) in possible, f"image {tried}, cut before operation {number}"
        assert doctor.examine(engine) == [], f"image {tried}, cut before operation {number}"
        engine.close()
    return tried


def between_writes(platter: Platter, op: Op) -> Iterator[Image]:
    """At every frame boundary, between the header of a frame and its page, and so on."""
    yield platter.image(all_of_it)


def inside_writes(platter: Platter, op: Op) -> Iterator[Image]:
    """In the middle of every header and every page."""
    if op.act is Act.WRITE:
        yield platter.image(all_of_it, last=torn(op, 0.5))


def with_nothing_unsynced(platter: Platter, op: Op) -> Iterator[Image]:
    """All that was not synced is lost, and files that were removed without a sync of their folder are back."""
    yield platter.image(none_of_it)
    yield platter.image(none_of_it, deletions=False)


def in_any_order(seed: int, *, share: float = 1.0) -> Cut:
    """Of what was not synced, some is lost and some is torn, whatever came first; at a share of the operations."""
    random = Random(seed)

    def cut(platter: Platter, op: Op) -> Iterator[Image]:
        if random.random() < share:
            yield platter.image(some_of_it(random), last=op if op.act is Act.WRITE else None)

    return cut


@pytest.fixture(params=["a WAL that only grows", "checkpoints in between"])
def recording(request: pytest.FixtureRequest, empty: Image, tmp_path: Path, new_disk: NewDisk) -> Recording:
    if request.param == "checkpoints in between":
        request.getfixturevalue("eager_checkpoints")
    return record(WHOLE, empty, tmp_path, new_disk)


@every(4)
@pytest.mark.parametrize("cut", [between_writes, inside_writes, with_nothing_unsynced])
def test_what_was_acknowledged_survives_a_power_cut(
    cut: Cut, step: int, seed: int, recording: Recording, tmp_path: Path
) -> None:
    images = survive(recording, cut, tmp_path, step=step, first=seed)
    assert images > len(WHOLE)
    print(f"{images // step} power cuts survived")


@every(2)
def test_it_survives_when_unsynced_writes_are_lost_in_any_order(
    step: int, seed: int, recording: Recording, tmp_path: Path
) -> None:
    images = survive(recording, in_any_order(seed, share=0.5), tmp_path, step=step, first=seed)
    print(f"{images // step} power cuts survived")


@every(5)
@pytest.mark.parametrize("start", ["nothing", "older"])
def test_a_cut_while_the_database_is_made_or_migrated_leaves_one_that_works(
    start: str, step: int, seed: int, older: Image, tmp_path: Path, new_disk: NewDisk
) -> None:
    recording = record((Story.enqueue_one,), older if start == "older" else {}, tmp_path, new_disk)
    for cut in (with_nothing_unsynced, in_any_order(seed, share=0.2)):
        images = survive(recording, cut, tmp_path, step=step, first=seed)
        assert images > len(recording.acknowledged)
        print(f"{images // step} power cuts survived")


@pytest.mark.usefixtures("eager_checkpoints")
def test_normal_durability_may_lose_the_last_calls_but_stays_consistent(
    empty: Image, tmp_path: Path, new_disk: NewDisk
) -> None:
    recording = record(WHOLE, empty, tmp_path, new_disk, durability="normal")
    survive(recording, with_nothing_unsynced, tmp_path, may_lose_the_last=True)


@pytest.mark.long
def test_it_survives_many_cuts_in_any_order(seed: int, recording: Recording, tmp_path: Path) -> None:
    tried = 0
    for number in range(seed, seed + 30):
        folder = tmp_path / str(number)
        folder.mkdir()
        tried += survive(recording, in_any_order(number), folder)
    print(f"{tried} power cuts survived")


@pytest.mark.long
@pytest.mark.parametrize("cut", [between_writes, inside_writes])
@pytest.mark.parametrize("start", ["nothing", "older"])
def test_a_cut_anywhere_while_the_database_is_made_or_migrated_leaves_one_that_works(
    cut: Cut, start: str, older: Image, tmp_path: Path, new_disk: NewDisk
) -> None:
    recording = record((Story.enqueue_one,), older if start == "older" else {}, tmp_path, new_disk)
    print(f"{survive(recording, cut, tmp_path)} power cuts survived")
