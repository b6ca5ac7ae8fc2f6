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


@hf.task
async def list_files(ctx: Context, **about: Any) -> list[str]:
    return [f"{file.change} {file.relative}" for file in await ctx.achanged_files()]


@hf.task(subprocess=True)
def list_files_alone(ctx: Context, paths: list[str]) -> list[Any]:
    return [[file.path for file in ctx.changed_files()], paths]
