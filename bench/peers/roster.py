"""Who takes part: how each is set up, and what of its jobs survives a power cut."""

from __future__ import annotations

from msgspec import Struct


class Entry(Struct, frozen=True, kw_only=True):
    """One contestant, or one way to run it."""

    name: str
    driver: str
    store: str
    jobs: int
    settings: str
    survives: str
    is_durable: bool
    environment: str | None
    variant: str = ""


SNAPSHOT = "nothing since the last snapshot"

HOLDFAST = Entry(
    name="Holdfast, SQLite",
    driver="holdfast_daemon",
    store="daemon",
    jobs=10_000,
    settings="the daemon and one `holdfast worker` with 100 slots for coroutines; `enqueue_many(100)`; "
    "`durability=full`",
    survives="every job",
    is_durable=True,
    environment=None,
)

HOLDFAST_ON_POSTGRES = Entry(
    name="Holdfast, PostgreSQL",
    driver="holdfast_daemon",
    store="daemon on postgres",
    jobs=4_000,
    settings="the same, with `--store postgresql://…`",
    survives="every job",
    is_durable=True,
    environment=None,
)

PEERS = (
    Entry(
        name="Huey, SQLite",
        driver="huey_sqlite",
        store="file",
        jobs=3_000,
        settings="its default full sync; one thread worker that looks every millisecond; each job stores a result, so "
        "that its end is recorded; enqueued one by one (it has no call for many)",
        survives="jobs that wait; one that runs is lost",
        is_durable=True,
        environment="huey",
        variant="results",
    ),
    Entry(
        name="Huey, SQLite, no results",
        driver="huey_sqlite",
        store="file",
        jobs=3_000,
        settings="the same, with jobs that return None: that a job has ended is recorded nowhere",
        survives="jobs that wait; one that runs is lost",
        is_durable=True,
        environment="huey",
    ),
    Entry(
        name="Procrastinate, PostgreSQL",
        driver="procrastinate_postgres",
        store="postgres",
        jobs=1_500,
        settings="`concurrency=10` coroutines, LISTEN/NOTIFY, `delete_jobs=successful`; `batch_defer` of 100",
        survives="every job",
        is_durable=True,
        environment="procrastinate",
    ),
    Entry(
        name="DBOS, PostgreSQL",
        driver="dbos_postgres",
        store="postgres",
        jobs=1_500,
        settings="coroutine workflows on a queue without a limit, `polling_interval_sec=0.01`; 100 calls of "
        "`enqueue_in_transaction` in each transaction",
        survives="every job",
        is_durable=True,
        environment="dbos",
    ),
    Entry(
        name="Celery, Redis",
        driver="celery_redis",
        store="redis",
        jobs=3_000,
        settings="solo pool (in one process faster than threads and prefork here), `worker_prefetch_multiplier=128`, "
        "results ignored, no gossip, mingle and heartbeat; enqueued one by one (a group does the same)",
        survives=SNAPSHOT,
        is_durable=False,
        environment="celery",
    ),
    Entry(
        name="RQ, Redis",
        driver="rq_redis",
        store="redis",
        jobs=1_000,
        settings="`SimpleWorker`; `enqueue_many` of 100",
        survives=SNAPSHOT,
        is_durable=False,
        environment="rq",
    ),
    Entry(
        name="Dramatiq, Redis",
        driver="dramatiq_redis",
        store="redis",
        jobs=5_000,
        settings="8 threads, `dramatiq_queue_prefetch=1000`; enqueued one by one (a group does the same)",
        survives=SNAPSHOT,
        is_durable=False,
        environment="dramatiq",
    ),
    Entry(
        name="taskiq, Redis",
        driver="taskiq_redis",
        store="redis",
        jobs=5_000,
        settings="`RedisStreamBroker` that reads 100 at once, uvloop, orjson, `--max-async-tasks 100`, "
        "`--max-prefetch 100`, `--no-parse`; 100 calls of `kiq` gathered (it has no call for many)",
        survives=SNAPSHOT,
        is_durable=False,
        environment="taskiq",
    ),
)
