"""A program under load: it enqueues and works at the same time until it is killed, or works until nothing is left.

Every run notes its start and end, and every acknowledgement is noted after it came.
"""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from holdfast import Context, Holdfast, JobHandle, Retry, Snooze, StateName, Transient
from tests.chaos.journal import Journal
from tests.chaos.programs.happenings import Happenings

T = TypeVar("T")

BACKLOG = 40
LIVE = (StateName.SCHEDULED, StateName.QUEUED, StateName.RUNNING)

target, schema, folder, seed, purpose = sys.argv[1:]
journal = Journal(Path(folder))
rng = random.Random(int(seed))
hf = Holdfast(target, schema=schema, concurrency={"default": 6, "edits": 2})

STUBBORN = Retry(3, initial=0.01, factor=1)
CHAINED = Retry(3, initial=0.01, factor=1, mode="chain")


@hf.task(retry=Retry(0, initial=0.01))
def plain(ctx: Context, n: int) -> int:
    with journal.run(ctx):
        time.sleep(0.001 * (n % 5))
        return n


@hf.task(retry=Retry(0, initial=0.01))
async def coroutine(ctx: Context, n: int) -> int:
    with journal.run(ctx):
        await asyncio.sleep(0.001 * (n % 20))
        return n


@hf.task(retry=STUBBORN)
def flaky(ctx: Context, n: int) -> None:
    with journal.run(ctx):
        if (ctx.attempt + n) % 3:
            raise Transient("not yet")


@hf.task(retry=CHAINED)
async def chained(ctx: Context, n: int) -> None:
    with journal.run(ctx):
        if (ctx.attempt + n) % 3:
            raise Transient("not yet")


@hf.task(retry=Retry(2, initial=0.01, mode="chain"))
def hopeless(ctx: Context) -> None:
    with journal.run(ctx):
        raise Transient("never")


@hf.task(retry=Retry(0, infra=0))
def once(ctx: Context) -> None:
    with journal.run(ctx):
        time.sleep(0.005)


@hf.task(queue="edits", subject="load::{file}", stop_older=True, retry=Retry(0, initial=0.01))
async def edit(ctx: Context, file: int) -> None:
    with journal.run(ctx):
        await asyncio.sleep(0.02)


@hf.task(retry=Retry(0, initial=0.01))
def napping(ctx: Context) -> None:
    with journal.run(ctx):
        if ctx.job.checkpoint is None:
            ctx.checkpoint("slept")
            raise Snooze(0.02)


@hf.task(retry=Retry(0, initial=0.01))
def parent(ctx: Context, n: int) -> None:
    with journal.run(ctx):
        acknowledged(ctx.enqueue(plain, n=n))


@hf.task(retry=Retry(0, initial=0.01))
async def slow(ctx: Context) -> None:
    with journal.run(ctx):
        await asyncio.sleep(0.1)


def acknowledged(handle: JobHandle[T]) -> JobHandle[T]:
    journal.note("acked", handle.id)
    return handle


def cancel_one() -> None:
    handle = acknowledged(slow.enqueue())
    time.sleep(rng.choice((0, 0.02)))
    answer = handle.cancel()
    journal.note("cancelled" if answer.cancelled else "asked" if answer.requested else "ended", handle.id)


def depend() -> None:
    first = acknowledged(flaky.enqueue(n=rng.randrange(9)))
    acknowledged(plain.options(after=first).enqueue(n=1))
    acknowledged(plain.options(after_ended=first).enqueue(n=2))


def line_up() -> None:
    group = hf.create_group(mode="sequential", on_failure="continue")
    acknowledged(plain.options(group=group).enqueue(n=1))
    acknowledged(chained.options(group=group).enqueue(n=rng.randrange(9)))
    acknowledged(plain.options(group=group).enqueue(n=2))


def flood() -> None:
    for handle in plain.enqueue_many([{"n": n} for n in range(5)]):
        acknowledged(handle)


def chain() -> None:
    group = hf.chain(plain.call(n=1), [plain.call(n=2), flaky.call(n=rng.randrange(9))], chained.call(n=3))
    for job in group.members():
        journal.note("acked", job.id)


happenings = Happenings(hf, journal, rng)

KINDS: tuple[Callable[[], object], ...] = (
    lambda: acknowledged(plain.enqueue(n=rng.randrange(9))),
    lambda: acknowledged(coroutine.enqueue(n=rng.randrange(99))),
    lambda: acknowledged(flaky.enqueue(n=rng.randrange(9))),
    lambda: acknowledged(chained.enqueue(n=rng.randrange(9))),
    lambda: acknowledged(hopeless.enqueue()),
    lambda: acknowledged(once.enqueue()),
    lambda: acknowledged(edit.enqueue(file=rng.randrange(3))),
    lambda: acknowledged(napping.enqueue()),
    lambda: acknowledged(parent.enqueue(n=rng.randrange(9))),
    cancel_one,
    depend,
    line_up,
    chain,
    flood,
    lambda: happenings.await_one(plain, n=rng.randrange(9)),
    lambda: happenings.await_one(chained, n=rng.randrange(9)),
    happenings.emit,
)


def live_jobs() -> int:
    return sum(count for states in hf.counts().values() for state, count in states.items() if state in LIVE)


def produce() -> None:
    while True:
        if live_jobs() > BACKLOG:
            time.sleep(0.005)
        else:
            rng.choice(KINDS)()


def show_life() -> None:
    while True:
        journal.note("alive")
        time.sleep(0.002)


threading.Thread(target=show_life, daemon=True).start()
# Programs are killed here by the dozen; nobody should wait until the machine is better.
for queue in ("default", "edits"):
    hf.set_queue(queue, breaker=0)
hf.start()
if purpose == "load":
    happenings.put_schedules(plain, n=1)
    produce()
happenings.pause_schedules()
happenings.emit_all()
while live_jobs():
    time.sleep(0.01)
hf.close()
