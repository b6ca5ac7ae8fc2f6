"""RQ on Redis: its SimpleWorker."""

from __future__ import annotations

import logging

from redis import Redis
from rq import Queue, SimpleWorker

from bench.peers.protocol import Contestant, marks, play, store

NOOP = "bench.peers.contestants.rq_redis.noop"
connection = Redis.from_url(store)
queue = Queue("noops", connection=connection)


def noop() -> None:
    """Nothing."""
    marks.job()


def work() -> None:
    logging.disable(logging.CRITICAL)
    worker = SimpleWorker([queue], connection=connection)
    worker.log_job_description = False
    from bench.peers.contestants import rq_redis

    rq_redis.marks.ready()
    worker.work(logging_level="CRITICAL")


if __name__ == "__main__":
    data = Queue.prepare_data(NOOP, result_ttl=0)
    play(
        Contestant(
            work=work,
            enqueue=lambda: queue.enqueue(NOOP, result_ttl=0),
            enqueue_many=lambda count: queue.enqueue_many(
                [Queue.prepare_data(NOOP, result_ttl=0) for _ in range(count)]
            ),
        )
    )
