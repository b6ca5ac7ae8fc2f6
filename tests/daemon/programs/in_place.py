"""A process that is in a place for workers, and notes the signals that it gets. It ends a moment after the first.

Its words: the name of the place, and those of a worker there.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from holdfast.wire.home import find_home
from holdfast.wire.places import WorkerPlace, take

MOMENT_S = 0.5


def note(number: int, frame: FrameType | None) -> None:
    with (Path(os.environ["HOLDFAST_TEST_SIDE"]) / "signals").open("a") as file:
        file.write(f"{signal.Signals(number).name}\n")


signal.signal(signal.SIGTERM, note)
name, *words = sys.argv[1:]
lock = take(find_home(), WorkerPlace(name, tuple(words)))
signal.pause()
time.sleep(MOMENT_S)
