"""An app whose process runs every event loop by uvloop."""

from __future__ import annotations

import asyncio

import uvloop

from holdfast import Holdfast

uvloop.install()
hf = Holdfast(concurrency=8)


@hf.task
async def which_loop() -> str:
    """The kind of loop that this runs on."""
    await asyncio.sleep(0)
    return type(asyncio.get_running_loop()).__module__
