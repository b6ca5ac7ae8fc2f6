"""DBOS on PostgreSQL: coroutine workflows on a queue without a limit; its client enqueues many in one transaction."""

from __future__ import annotations

import logging
import threading
from typing import Any

import sqlalchemy
from dbos import DBOS, DBOSClient

from bench.peers.protocol import Caller, marks, play, store

POLL_SECONDS = 0.01
NOOP: Any = {"workflow_name": "noop", "queue_name": "noops"}
UNFINISHED = "SELECT count(*) FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')"
logging.disable(logging.CRITICAL)


def launch() -> None:
    """What an application does at its start."""
    DBOS(config={"name": "peer", "system_database_url": store, "application_version": "1"})

    @DBOS.workflow(name="noop")
    async def noop() -> None:
        marks.job()

    DBOS.launch()


def prepare() -> None:
    """Its tables and the queue, which lives in one of them."""
    launch()
    DBOS.register_queue("noops", polling_interval_sec=POLL_SECONDS)
    DBOS.destroy()


def work() -> None:
    """Its worker, which looks at the queue from the launch on."""
    launch()
    marks.ready()
    threading.Event().wait()


def caller() -> Caller:
    """A program that runs no workflows itself."""
    client = DBOSClient(system_database_url=store)
    engine = sqlalchemy.create_engine(store.replace("postgresql:", "postgresql+psycopg:", 1))
    looking = engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def enqueue_many(count: int) -> None:
        with engine.begin() as transaction:
            for _ in range(count):
                client.enqueue_in_transaction(transaction, NOOP)

    return Caller(
        enqueue=lambda: client.enqueue(NOOP),
        enqueue_many=enqueue_many,
        unfinished=lambda: int(looking.execute(sqlalchemy.text(UNFINISHED)).scalar_one()),
    )


if __name__ == "__main__":
    play(work, caller, prepare)
