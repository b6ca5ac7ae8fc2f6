"""RQ on Redis: the SimpleWorker, which its notes on performance name for very short jobs."""

from __future__ import annotations

import logging

from redis import Redis
from rq import Queue, SimpleWorker

from bench.peers.protocol import Caller, marks, play, store

NOOP = "bench.peers.contestants.rq_redis.noop"
connection = Redis.from_url(store)
queue = Queue("noops", connection=connection)


def noop() -> None:
    """Nothing."""
    marks.job()


def work() -> None:
    """Its worker."""
    logging.disable(logging.CRITICAL)
    worker = SimpleWorker([queue], connection=connection)
    marks.ready()
    worker.work()


def caller() -> Caller:
    """Many in one pipeline."""
    return Caller(
        enqueue=lambda: queue.enqueue(NOOP),
        enqueue_many=lambda count: queue.enqueue_many([Queue.prepare_data(NOOP) for _ in range(count)]),
        unfinished=lambda: len(queue) + len(queue.started_job_registry),
    )


if __name__ == "__main__":
    play(work, caller)
