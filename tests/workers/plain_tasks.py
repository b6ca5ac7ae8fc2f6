"""Tasks that run inside their worker unless a job says otherwise, on the database that the environment names."""

from __future__ import annotations

import os
from typing import Any

from holdfast import Context, Holdfast, Retry

hf = Holdfast(os.environ.get("PLAIN_DB", "nobody-opens-this.db"))
other = Holdfast("nobody-opens-that.db")


def told(ctx: Context) -> dict[str, Any]:
    return {"pid": os.getpid(), "ctx": dict(ctx.env), "environ": os.environ.get("COLOUR"), "run": ctx.run_id}


@hf.task
def tell(ctx: Context) -> dict[str, Any]:
    return told(ctx)


@hf.task
async def tell_later(ctx: Context) -> dict[str, Any]:
    return told(ctx)


@hf.task(execution="subprocess", env={"COLOUR": "of the task"})
def tell_alone(ctx: Context) -> dict[str, Any]:
    return told(ctx) | {"forged": os.environ["HOLDFAST_RUN_ID"]}


@hf.task(subprocess=True)
def always_alone() -> int:
    return os.getpid()


@other.task(name="tell")
def tell_nothing() -> str:
    return "of another Holdfast"


@other.task(name="always_alone")
def never_alone() -> str:
    return "of another Holdfast"


@hf.task
def fail_first(ctx: Context) -> dict[str, Any]:
    if ctx.attempt == 1:
        raise ValueError("not yet")
    return told(ctx)


@hf.task(retry=Retry(0, infra=0))
def crash() -> None:
    os._exit(3)


def make_nested() -> Any:
    """A task that a process of its own does not find: nobody makes it when the module is loaded."""

    @hf.task
    def nested() -> int:
        return 1

    return nested
