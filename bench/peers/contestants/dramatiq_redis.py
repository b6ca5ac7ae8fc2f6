"""Dramatiq on Redis."""

from __future__ import annotations

import logging
import os
import threading

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench.peers.protocol import Contestant, marks, play, store

broker = RedisBroker(url=store)
dramatiq.set_broker(broker)


@dramatiq.actor(actor_name="noop", queue_name="noops")
def noop() -> None:
    """Nothing."""
    marks.job()


def work() -> None:
    logging.disable(logging.CRITICAL)
    worker = dramatiq.Worker(broker, worker_threads=int(os.environ.get("X_CONC", 8)))
    marks.ready()
    worker.start()
    threading.Event().wait()


if __name__ == "__main__":
    play(Contestant(work=work, enqueue=noop.send))
