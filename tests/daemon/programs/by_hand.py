"""The code of a worker that a person starts."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast import Context, Holdfast
from tests.chaos.journal import Journal
from tests.chaos.processes import until

folder = Path(os.environ["HOLDFAST_TEST_SIDE"])
journal = Journal(folder)
hf = Holdfast()


@hf.task(queue="theirs")
def theirs(ctx: Context) -> str:
    """Ends when the file `theirs` is there."""
    with journal.run(ctx):
        until((folder / "theirs").exists, "the work is done")
        return "finished"


if __name__ == "__main__":
    hf.run()
