"""Celery on Redis: the settings of its guide for many short tasks, and its fastest pool for one process."""

from __future__ import annotations

import logging
import warnings

from celery import Celery
from celery.signals import worker_ready
from redis import Redis

from bench.peers.protocol import Caller, marks, play, store

app = Celery("peer", broker=store)
app.conf.update(task_ignore_result=True, worker_prefetch_multiplier=128)
WORDS = ("--pool=solo", "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=CRITICAL")


@app.task(name="noop")
def noop() -> None:
    """Nothing."""
    marks.job()


@worker_ready.connect
def ready(**_: object) -> None:
    """It consumes from here on."""
    marks.ready()


def work() -> None:
    """Its worker."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    app.worker_main(["--quiet", "worker", *WORDS])


def caller() -> Caller:
    """One by one: a group sends each of its tasks by itself too."""
    redis = Redis.from_url(store)
    return Caller(enqueue=noop.delay, unfinished=lambda: redis.llen("celery") + redis.hlen("unacked"))


if __name__ == "__main__":
    play(work, caller)
