"""Tasks that run in processes of their own, on the database that the environment names."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from holdfast import Context, Holdfast, Permanent, Retry, Skip, Snooze

hf = Holdfast(os.environ.get("ISOLATED_DB", "nobody-opens-this.db"))
ONCE = Retry(0, infra=0)


@hf.task(subprocess=True)
def tell(ctx: Context, number: int) -> dict[str, Any]:
    print("printed")
    print("complained", file=sys.stderr)
    ctx.log.info("logged %d", number)
    ctx.log.debug("not for the log")
    ctx.artifact("made/by.txt").write_text("hello")
    child = ctx.enqueue(add, a=number, b=1)
    return {
        "pid": os.getpid(),
        "main_thread": threading.current_thread() is threading.main_thread(),
        "stdin": sys.stdin.read(),
        "run_id": os.environ["HOLDFAST_RUN_ID"],
        "secret": os.environ.get("OF_THE_WORKER"),
        "child": child.id,
        "attempt": ctx.attempt,
    }


@hf.task(subprocess=True)
async def add(ctx: Context, a: int, b: int) -> int:
    await ctx.acheckpoint("kept")
    return a + b


@hf.task(subprocess=True)
def step(ctx: Context) -> list[int]:
    done: list[int] = ctx.job.checkpoint or []
    ctx.checkpoint([*done, ctx.attempt])
    ctx.progress(0.5, "half-way")
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return [*done, ctx.attempt]


@hf.task(subprocess=True, retry=ONCE)
def crash(way: str) -> Any:
    print("last words", flush=True)
    match way:
        case "exit":
            os._exit(7)
        case "segfault":
            ctypes.string_at(0)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise KeyError("no such thing")
        case "permanent":
            raise Permanent("never", code="ERR_NEVER")
        case "system exit":
            sys.exit(3)
        case "skip":
            raise Skip("unchanged")
        case "snooze":
            raise Snooze(3600)
        case "not json":
            return object()
    return None


@hf.task(subprocess=True, memory_mb=600, retry=ONCE)
def eat(megabytes: int) -> int:
    return len(bytearray(megabytes << 20))


@hf.task(subprocess=True, grace=30, retry=ONCE)
def wait_politely(ctx: Context) -> None:
    ctx.log.info("ready")
    while not ctx.cancelled:
        time.sleep(0.01)
    print("tidied up")
    ctx.check()


@hf.task(subprocess=True, grace=30, retry=ONCE)
async def wait_awaiting(ctx: Context) -> None:
    ctx.log.info("ready")
    try:
        await asyncio.sleep(3600)
    finally:
        print("tidied up")


@hf.task(subprocess=True, grace=30, retry=ONCE)
def wait_for_a_program(ctx: Context) -> None:
    ctx.log.info("ready")
    subprocess.run(["sleep", "3600"], check=True)


@hf.task(subprocess=True, grace=0.2, retry=ONCE)
def wait_deaf(ctx: Context) -> None:
    ctx.log.info("ready")
    while True:
        time.sleep(3600)


@hf.task(subprocess=True, grace=0.2)
def hang_on_the_way_out() -> str:
    threading.Thread(target=time.sleep, args=(3600,)).start()
    return "done"


def make_one_more() -> None:
    """A task that is not there when the module is loaded."""

    @hf.task(subprocess=True, retry=ONCE, name="made_later")
    def made_later() -> None: ...
