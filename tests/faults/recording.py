"""A story on tape: what it did to the disk, and which of its calls had been acknowledged by when."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from msgspec import Struct

from tests.faults.crash_image import Image, write_image
from tests.faults.faulty_vfs import NewDisk, Op
from tests.faults.story import Call, Rows, Story, states_of


class Recording(Struct):
    """The tape, its length when each call was acknowledged, and the rows before the first call and after each."""

    start: Image
    tape: list[Op]
    acknowledged: list[int]
    states: list[Rows]

    def acknowledged_by(self, ops: int) -> int:
        """How many calls had been answered when this much was on the tape."""
        return bisect_right(self.acknowledged, ops)


def record(
    calls: tuple[Call, ...], start: Image, folder: Path, new_disk: NewDisk, durability: str = "full"
) -> Recording:
    """Tell a story from its beginning to the close of the engine."""
    path = write_image(start, folder / "recorded.db")
    disk = new_disk(path)
    story = Story()
    engine = story.engine(path, vfs=disk.name, durability=durability)
    acknowledged = []
    for call in calls:
        story.tell(engine, call)
        acknowledged.append(len(disk.tape))
    engine.close()
    return Recording(start, disk.tape, acknowledged, states_of(calls, write_image(start, folder / "reference.db")))
