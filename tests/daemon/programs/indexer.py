"""An app that notes what it is told about files and repositories, in the side folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from holdfast import Context, Holdfast
from tests.chaos.journal import Journal

journal = Journal(Path(os.environ["HOLDFAST_TEST_SIDE"]))
hf = Holdfast()


@hf.task
def index(ctx: Context, relative: str, change: str, **about: Any) -> str:
    with journal.run(ctx):
        return relative
