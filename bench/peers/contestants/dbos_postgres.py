"""DBOS on PostgreSQL: workflows on a queue without a limit, enqueued by its client, a hundred in a transaction."""

from __future__ import annotations

import logging
import os
import threading

import sqlalchemy
from dbos import DBOS, DBOSClient

from bench.peers.protocol import Contestant, marks, play, store

POLL_SECONDS = float(os.environ.get("X_POLL", "0.01"))
KIND = os.environ.get("X_KIND", "async")
logging.disable(logging.CRITICAL)
dialect_url = store.replace("postgresql://", "postgresql+psycopg://")
OPTIONS = {"workflow_name": "noop", "queue_name": "noops"}


def launch() -> None:
    """What an application of it does at its start."""
    DBOS(config={"name": "peer", "system_database_url": store, "application_version": "1", "log_level": "CRITICAL"})
    if KIND == "async":

        @DBOS.workflow(name="noop")
        async def noop() -> None:
            marks.job()
    else:

        @DBOS.workflow(name="noop")
        def noop() -> None:
            marks.job()

    DBOS.launch()
    DBOS.register_queue("noops", polling_interval_sec=POLL_SECONDS)


def work() -> None:
    """Its worker."""
    launch()
    marks.ready()
    threading.Event().wait()


def caller() -> Contestant:
    """Enqueuing from a program that runs no workflows itself."""
    client = DBOSClient(system_database_url=store)
    engine = sqlalchemy.create_engine(dialect_url)
    looking = engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def enqueue_many(count: int) -> None:
        with engine.begin() as transaction:
            for _ in range(count):
                client.enqueue_in_transaction(transaction, OPTIONS)

    def unfinished() -> int:
        return looking.execute(
            sqlalchemy.text("SELECT count(*) FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')")
        ).scalar()

    return Contestant(
        work=work, enqueue=lambda: client.enqueue(OPTIONS), enqueue_many=enqueue_many, unfinished=unfinished
    )


if __name__ == "__main__":
    import sys

    if sys.argv[1] == "work":
        play(Contestant(work=work, enqueue=work))
    else:
        play(caller())
