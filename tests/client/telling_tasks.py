"""A task that tells an event from a process of its own."""

from __future__ import annotations

from holdfast import Context, Holdfast

hf = Holdfast("nobody-opens-this.db")


@hf.task(subprocess=True, retry=0)
def tell(ctx: Context, name: str) -> str:
    return ctx.emit(name, attributes={"from": "afar"}, data=["far", 1]).id
