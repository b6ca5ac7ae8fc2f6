"""A worker in a place of a daemon, which ends when it has seen no daemon for so many seconds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from holdfast import Holdfast
from holdfast.hosting.worker import serve
from tests.chaos.processes import until

folder = Path(os.environ["HOLDFAST_TEST_SIDE"])
hf = Holdfast()


@hf.task
def noted(needs: str | None = None) -> int:
    if needs is not None:
        (folder / "began").touch()
        until((folder / needs).exists, "the work is done")
        (folder / "noted").touch()
    return os.getpid()


if __name__ == "__main__":
    serve([f"{__file__}:hf"], place="orphan", alone_s=float(sys.argv[1]))
