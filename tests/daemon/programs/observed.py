"""Code that tells which trace it runs in."""

from __future__ import annotations

from holdfast import Context, Holdfast
from holdfast.observe import trace

hf = Holdfast()


@hf.task
def look(ctx: Context) -> str | None:
    """The trace of this run."""
    ctx.log.warning("seen with password=hunter2")
    return trace.current_id()


@hf.task
def parent(ctx: Context) -> str:
    """Enqueues a child; its id."""
    return str(ctx.enqueue(look).id)
