"""taskiq on Redis: streams read by the hundred, uvloop, orjson, arguments not parsed, a prefetch of a hundred."""

from __future__ import annotations

import asyncio
import logging

import uvloop
from redis import Redis
from taskiq.api import run_receiver_task
from taskiq.serializers import ORJSONSerializer
from taskiq_redis import RedisStreamBroker

from bench.peers.protocol import Caller, marks, play, store

# From the first message on: by default a new group sees only what comes after it.
broker = RedisStreamBroker(store, consumer_id="0", xread_count=100).with_serializer(ORJSONSerializer())


@broker.task(task_name="noop")
async def noop() -> None:
    """Nothing."""
    marks.job()


def work() -> None:
    """Its worker, as its command starts it in each process."""
    logging.disable(logging.CRITICAL)
    uvloop.run(_work())


async def _work() -> None:
    broker.is_worker_process = True
    marks.ready()
    await run_receiver_task(broker, run_startup=True, validate_params=False, max_async_tasks=100, max_prefetch=100)


def caller() -> Caller:
    """A hundred calls at the same time: there is no call for many."""
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    runner.run(broker.startup())

    async def one() -> None:
        await noop.kiq()

    async def at_once(count: int) -> None:
        await asyncio.gather(*(noop.kiq() for _ in range(count)))

    redis = Redis.from_url(store)
    return Caller(
        enqueue=lambda: runner.run(one()),
        enqueue_many=lambda count: runner.run(at_once(count)),
        unfinished=lambda: redis.xpending("taskiq", "taskiq")["pending"],
    )


if __name__ == "__main__":
    play(work, caller)
