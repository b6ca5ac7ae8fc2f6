"""Procrastinate on PostgreSQL: coroutines side by side, new jobs told by NOTIFY, jobs deferred in batches."""

from __future__ import annotations

import asyncio
import logging

import psycopg
from procrastinate import App, PsycopgConnector, SyncPsycopgConnector

from bench.peers.protocol import Caller, marks, play, store

CONCURRENCY = 10
logging.disable(logging.CRITICAL)


def make_app(connector: PsycopgConnector | SyncPsycopgConnector) -> App:
    """The same tasks on a connector for coroutines or for threads."""
    app = App(connector=connector)

    @app.task(name="noop")
    async def noop() -> None:
        marks.job()

    return app


def prepare() -> None:
    """Its tables."""
    with make_app(SyncPsycopgConnector(conninfo=store)).open() as app:
        app.schema_manager.apply_schema()


def work() -> None:
    """Its worker; deleting what is done keeps the table that it searches small."""
    asyncio.run(_work())


async def _work() -> None:
    app = make_app(PsycopgConnector(conninfo=store, min_size=CONCURRENCY, max_size=CONCURRENCY + 2))
    async with app.open_async():
        marks.ready()
        await app.run_worker_async(concurrency=CONCURRENCY, delete_jobs="successful")


def caller() -> Caller:
    """A program without an event loop."""
    app = make_app(SyncPsycopgConnector(conninfo=store)).open()
    noop = app.tasks["noop"]
    looking = psycopg.connect(store, autocommit=True)

    def unfinished() -> int:
        row = looking.execute("SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')").fetchone()
        assert row
        return int(row[0])

    return Caller(enqueue=noop.defer, enqueue_many=lambda count: noop.batch_defer(*[{}] * count), unfinished=unfinished)


if __name__ == "__main__":
    play(work, caller, prepare)
