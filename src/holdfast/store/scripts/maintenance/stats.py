"""Figures about the whole database, without reading all of its jobs."""

from __future__ import annotations

from msgspec import structs

from holdfast.core.job import Millis, StateName
from holdfast.core.messages.queues import Queue
from holdfast.core.messages.stats import QueueStats, Stats
from holdfast.store.engine import Tx
from holdfast.store.scripts.queues import crowding
from holdfast.store.scripts.queues.queues import list_queues
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.sessions.workers import list_workers
from holdfast.store.statements import sql

WINDOW_MS = 10_000
MOST_COUNTED = 1_000_000
MOST_QUEUES = 1_000


def stats(tx: Tx, now: Millis) -> Stats:
    """Jobs by queue and state, the workers, how long the next job has been ready, and how many jobs end."""
    by_queue: dict[str, dict[StateName, int]] = {}
    in_all: dict[StateName, int] = {}
    for count in read_jobs.counts(tx):
        state = StateName(count.state)
        by_queue.setdefault(count.queue, {})[state] = count.jobs
        in_all[state] = in_all.get(state, 0) + count.jobs
    settings = {queue.name: queue for queue in list_queues(tx)}
    ready = [name for name, jobs in by_queue.items() if jobs.get(StateName.QUEUED)][:MOST_QUEUES]
    since = {name: crowding.ready_since(tx, name) for name in ready}
    queues = []
    for name in sorted(by_queue.keys() | settings.keys()):
        own = structs.asdict(settings.get(name) or Queue(name=name))
        queues.append(QueueStats(**own, jobs=by_queue.get(name, {}), ready_since=since.get(name)))
    workers = list_workers(tx)
    ended: int = tx.value(sql.count_ended_since, since=now - WINDOW_MS, most=MOST_COUNTED)
    return Stats(
        now=now,
        queues=queues,
        jobs=in_all,
        ready_since=min((moment for moment in since.values() if moment is not None), default=None),
        ended_per_second=ended * 1_000 / WINDOW_MS,
        sessions=len(sessions.running_sessions(tx)),
        workers=len(workers),
        slots=sum(worker.slots for worker in workers),
        running=in_all.get(StateName.RUNNING, 0),
    )
