"""Celery on Redis."""

from __future__ import annotations

import logging
import os

from celery import Celery
from celery.signals import worker_ready

from bench.peers.protocol import Contestant, marks, play, store

app = Celery("peer", broker=store)
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=int(os.environ.get("X_PRE", 128)),
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    task_acks_late=False,
    worker_send_task_events=False,
)


@app.task(name="noop")
def noop() -> None:
    """Nothing."""
    marks.job()


@worker_ready.connect
def ready(**_: object) -> None:
    marks.ready()


def work() -> None:
    logging.disable(logging.CRITICAL)
    app.worker_main(
        [
            "worker",
            "--pool",
            os.environ.get("X_POOL", "threads"),
            "--concurrency",
            os.environ.get("X_CONC", "1"),
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
            "--loglevel",
            "CRITICAL",
        ]
    )


if __name__ == "__main__":
    play(Contestant(work=work, enqueue=noop.delay))
