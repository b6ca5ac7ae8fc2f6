"""Crowded queues: those whose jobs wait for too long, or are mostly superseded. Each change of that is told."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.gates.crowding import WINDOW_MS, Crowding, CrowdingRules, QueueSeen, crowding
from holdfast.core.job import Millis
from holdfast.core.jobs import requests
from holdfast.core.jobs.order import CHARGING, IDLE, PLAIN
from holdfast.core.messages.queues import Crowded
from holdfast.core.values.event import ABOUT_PRESSURE
from holdfast.core.values.subject import DEFAULT_TENANT
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import publish
from holdfast.store.scripts.queues.queues import find_queue
from holdfast.store.statements import sql

MOST_ENDED = 2_000
MOST_TENANTS = 64


class EndedRow(Struct, frozen=True):
    """How many jobs of a queue ended lately, and how many of them were superseded."""

    queue: str
    ended: int
    superseded: int


def list_crowded(tx: Tx) -> list[Crowded]:
    """The crowded queues, as they are stored."""
    return tx.all(sql.list_queue_pressure, Crowded)


def find_crowded(tx: Tx, rules: CrowdingRules, now: Millis) -> dict[str, dict[Crowding, str]]:
    """The queues that are crowded now, each with the reason in words."""
    before: dict[str, set[Crowding]] = {}
    for row in list_crowded(tx):
        before.setdefault(row.queue, set()).add(Crowding(row.reading))
    ended = {
        row.queue: row for row in tx.all(sql.ended_of_late, EndedRow, since=now - WINDOW_MS, upto=now, most=MOST_ENDED)
    }
    ready = {row["queue"] for row in tx.rows(sql.ready_queues)}
    found = {}
    for queue in ready | ended.keys():
        if requests.is_system_queue(queue):
            continue
        # The jobs of a paused queue are meant to wait.
        is_meant_to_run = queue in ready and find_queue(tx, queue).paused_at is None
        since = ready_since(tx, queue) if is_meant_to_run and rules.wait_ms else None
        waits_ms = 0 if since is None else max(0, now - since)
        past = ended.get(queue)
        seen = QueueSeen(waits_ms) if past is None else QueueSeen(waits_ms, past.ended, past.superseded)
        suffers = crowding(seen, frozenset(before.get(queue, ())), rules)
        if suffers:
            found[queue] = suffers
    return found


def note_crowded(tx: Tx, rules: CrowdingRules, now: Millis) -> None:
    """Store which queues are crowded now, with an event and a log line for each change."""
    before = {(row.queue, Crowding(row.reading)) for row in list_crowded(tx)}
    found = find_crowded(tx, rules, now)
    after = {(queue, reading): says for queue, suffers in found.items() for reading, says in suffers.items()}
    for queue, reading in sorted(before - after.keys()):
        tx.run(sql.delete_queue_pressure, queue=queue, reading=reading)
        _tell(tx, queue, reading, "calm", f"{reading} presses no more", now)
    for (queue, reading), says in sorted(after.items()):
        if (queue, reading) not in before:
            tx.run(sql.put_queue_pressure, queue=queue, reading=reading, says=says, since=now)
            _tell(tx, queue, reading, "high", says, now)


def _tell(tx: Tx, queue: str, reading: Crowding, level: str, says: str, now: Millis) -> None:
    publish(tx, f"{ABOUT_PRESSURE}{reading}", {"queue": queue, "level": level}, now)
    tx.tally.warn("pressure", f"queue {queue}: {says}", queue=queue, reading=reading, pressure=level)


def ready_since(tx: Tx, queue: str) -> Millis | None:
    """Since when the next job of a queue has been ready, as far as its first tenants tell.

    Jobs that wait for an idle or charging machine are left out, and those that are tied to a machine without a session.
    Jobs that wait for tokens count.
    """
    names = {DEFAULT_TENANT, *(row["tenant"] for row in tx.rows(sql.first_tenants, queue=queue, limit=MOST_TENANTS))}
    lanes = {PLAIN} | {
        row["lane"]
        for node in (0, *(found["number"] for found in tx.rows(sql.living_nodes)))
        for row in tx.rows(sql.lanes_of_queue, queue=queue, node=node)
        if not row["lane"] & (IDLE | CHARGING)
    }
    found = (
        tx.value(sql.ready_since, queue=queue, lane=lane, tenant=name)
        for name in sorted(names)
        for lane in sorted(lanes)
    )
    return min((moment for moment in found if moment is not None), default=None)
