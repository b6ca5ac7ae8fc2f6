"""A task that fails by the fault of the machine."""

from __future__ import annotations

from holdfast import Holdfast, Infra

hf = Holdfast(concurrency={"fragile": 4, "brief": 4})


@hf.task(queue="fragile")
async def starve() -> None:
    """There is never enough memory for it."""
    raise Infra("there is no memory")
