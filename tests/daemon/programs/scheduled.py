"""An app with a schedule in its code, for workers of a daemon. Every run is noted in the side folder."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast import Context, Holdfast
from tests.chaos.journal import Journal

journal = Journal(Path(os.environ["HOLDFAST_TEST_SIDE"]))
hf = Holdfast()


@hf.task
def note(ctx: Context, word: str) -> str:
    with journal.run(ctx):
        return word


if "HOLDFAST_TEST_NO_CRON" not in os.environ:
    # Every second: nobody waits long for it.
    hf.cron("* * * * * *", name="often", payload={"word": "tick"}, overlap="allow", misfire="all")(note)
