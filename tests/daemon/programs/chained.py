"""Tasks for chains: inside the worker, in a process of their own, and one that would wait for itself."""

from __future__ import annotations

from typing import Any

from holdfast import Context, Holdfast

hf = Holdfast()


@hf.task
def fetch(url: str) -> dict[str, str]:
    return {"url": url}


@hf.task(subprocess=True)
def parse(ctx: Context, page: dict[str, str], words: list[str]) -> list[Any]:
    [before] = ctx.predecessors()
    return [page["url"], before.task, ctx.results(), words]


@hf.task(subprocess=True)
async def collect(ctx: Context) -> list[Any]:
    return await ctx.aresults()


@hf.task
async def reserve(scope: str) -> None:
    async with hf.reserve(scope, wait=0):
        pass
