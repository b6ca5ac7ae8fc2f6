"""taskiq on Redis"""

from __future__ import annotations

import asyncio
import logging
import os

from taskiq.api import run_receiver_task
from taskiq_redis import ListQueueBroker, RedisStreamBroker

from bench.peers.protocol import Contestant, marks, play, store

broker = (
    ListQueueBroker(store)
    if os.environ.get("X_KIND") == "list"
    else RedisStreamBroker(store, consumer_id="0", xread_count=int(os.environ.get("X_COUNT", 100)))
)
if os.environ.get("X_JSON"):
    from taskiq.serializers import ORJSONSerializer

    broker = broker.with_serializer(ORJSONSerializer())


@broker.task(task_name="noop")
async def noop() -> None:
    """Nothing."""
    marks.job()


def work() -> None:
    logging.disable(logging.CRITICAL)
    if os.environ.get("X_UV"):
        import uvloop

        uvloop.run(_work())
    asyncio.run(_work())


async def _work():
    broker.is_worker_process = True
    marks.ready()
    await run_receiver_task(
        broker,
        run_startup=True,
        validate_params=not os.environ.get("X_NOPARSE"),
        max_async_tasks=int(os.environ.get("X_CONC", 100)),
        max_prefetch=int(os.environ.get("X_PRE", 0)),
    )


def caller():
    if os.environ.get("X_UV"):
        import uvloop

        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    else:
        runner = asyncio.Runner()
    runner.run(broker.startup())

    async def many(count):
        await asyncio.gather(*[noop.kiq() for _ in range(count)])

    async def one():
        await noop.kiq()

    return Contestant(
        work=work,
        enqueue=lambda: runner.run(one()),
        enqueue_many=(lambda c: runner.run(many(c))) if os.environ.get("X_GATHER") else None,
    )


if __name__ == "__main__":
    import sys

    play(Contestant(work=work, enqueue=work) if sys.argv[1] == "work" else caller())
