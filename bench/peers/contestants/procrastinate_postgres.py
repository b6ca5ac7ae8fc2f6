"""Procrastinate on PostgreSQL: coroutines side by side, told of new jobs by NOTIFY, jobs deferred in batches."""

from __future__ import annotations

import asyncio
import logging
import os

import psycopg
from procrastinate import App, PsycopgConnector, SyncPsycopgConnector

from bench.peers.protocol import Contestant, marks, play, store

CONCURRENCY = int(os.environ.get("X_CONC", "10"))
logging.disable(logging.CRITICAL)
WORKS = __import__("sys").argv[1] == "work"
app = App(
    connector=PsycopgConnector(conninfo=store, min_size=4, max_size=CONCURRENCY + 2)
    if WORKS
    else SyncPsycopgConnector(conninfo=store)
)


@app.task(name="noop")
async def noop() -> None:
    """Nothing."""
    marks.job()


def work() -> None:
    """Its worker."""
    asyncio.run(_work())


async def _work() -> None:
    async with app.open_async():
        marks.ready()
        await app.run_worker_async(
            concurrency=CONCURRENCY, delete_jobs=os.environ.get("X_DEL", "never"), install_signal_handlers=False
        )


def caller() -> Contestant:
    """Deferring from a program without an event loop, as its documentation has it."""
    if WORKS:
        return Contestant(work=work, enqueue=work)
    blocking = app
    app.open()
    with psycopg.connect(store, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('procrastinate_jobs') IS NULL").fetchone() == (True,):
            blocking.schema_manager.apply_schema()
    task = blocking.tasks["noop"]
    looking = psycopg.connect(store, autocommit=True)

    def unfinished() -> int:
        row = looking.execute("SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')").fetchone()
        assert row
        return int(row[0])

    return Contestant(
        work=work,
        enqueue=task.defer,
        enqueue_many=lambda count: task.batch_defer(*[{}] * count),
        unfinished=unfinished,
    )


if __name__ == "__main__":
    play(caller())
