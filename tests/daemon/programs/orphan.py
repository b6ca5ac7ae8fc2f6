"""A worker that a daemon would restart, which ends when it has seen no daemon for so many seconds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from holdfast import Holdfast
from holdfast.hosting.host_settings import HostSettings
from holdfast.hosting.replacement import KeptBy
from holdfast.wire.home import find_home
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
    # In no place, because the daemon would clear one that it does not want.
    hf._configure(HostSettings(kept=KeptBy(find_home(), float(sys.argv[1]))))
    hf.run()
