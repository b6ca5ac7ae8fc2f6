"""Dramatiq on Redis: eight threads, its default, and a long prefetch, which it reads when it is imported."""

from __future__ import annotations

import logging
import os
import threading

os.environ["dramatiq_queue_prefetch"] = "1000"  # noqa: SIM112 - its name for it

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench.peers.protocol import Caller, marks, play, store

broker = RedisBroker(url=store)
dramatiq.set_broker(broker)


@dramatiq.actor(actor_name="noop", queue_name="noops")
def noop() -> None:
    """Nothing."""
    marks.job()


def work() -> None:
    """Its worker, as its command starts it in each process."""
    logging.disable(logging.CRITICAL)
    worker = dramatiq.Worker(broker, worker_threads=8)
    marks.ready()
    worker.start()
    threading.Event().wait()


def caller() -> Caller:
    """One by one: a group sends each of its messages by itself too."""
    return Caller(enqueue=noop.send, unfinished=lambda: broker.client.hlen("dramatiq:noops.msgs"))


if __name__ == "__main__":
    play(work, caller)
