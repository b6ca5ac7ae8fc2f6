"""Store the pressure on a machine, and tell those that it concerns: workers, and runs that make room."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.core.gates import pressure
from holdfast.core.gates.pressure import REFUSAL_MS, Effects, Holds, Pressure
from holdfast.core.gates.queue import QueueClass
from holdfast.core.job import Millis, SessionId
from holdfast.core.machine.measures import Thresholds
from holdfast.core.values.event import ABOUT_PRESSURE
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import publish
from holdfast.store.scripts.machines import nodes
from holdfast.store.scripts.telling.wake_ups import wake_held_back, wake_ready
from holdfast.store.statements import sql
from holdfast.store.topics import DUE, STOPS

MOST_NAMED = 5


def note_pull(tx: Tx, session_id: SessionId, pulls_at: Millis) -> None:
    """Store that a session takes no jobs before a moment. Then the clockwork wakes it."""
    tx.run(sql.note_pull, session_id=session_id, pulls_at=pulls_at)
    tx.changes.topics.add(DUE)


def allow_pulls(tx: Tx, now: Millis) -> None:
    """Wake the sessions that may take jobs again."""
    if tx.rows(sql.allow_pulls, now=now):
        wake_ready(tx)


def class_of(tx: Tx, queue: str) -> QueueClass:
    """How much the jobs of a queue burden the machine."""
    return QueueClass(tx.value(sql.class_of_queue, queue=queue) or QueueClass.NORMAL)


def press_machine(
    tx: Tx, node: str, before: Sequence[Pressure], after: Sequence[Pressure], thresholds: Thresholds, now: Millis
) -> None:
    """Store the pressure on a machine. Publish events, write the log, ask runs to yield, and wake workers."""
    old, new = pressure.effects_of(before, thresholds), pressure.effects_of(after, thresholds)
    tx.run(
        sql.set_pressure,
        node=node,
        holds=int(new.holds),
        pull_interval_ms=new.pull_interval_ms,
        pressure=msgspec.json.encode(after).decode(),
        refuses=new.refuses,
        refuses_until=None if new.refuses is None else now + REFUSAL_MS,
    )
    news = pressure.changed(before, after)
    if not news:
        return
    # Less is held back than before, so other jobs may start.
    if new.holds < old.holds or new.pull_interval_ms < old.pull_interval_ms:
        wake_ready(tx)
    else:
        wake_held_back(tx)
    yielding = [
        pressure.effect_of(one).holds for one in pressure.rising(before, after) if pressure.effect_of(one).asks_to_yield
    ]
    if yielding and tx.run(sql.ask_to_yield, node=node, holds=int(max(yielding)), now=now):
        tx.changes.topics.add(STOPS)
    name = nodes.name_of(tx, node)
    for reading, level in news:
        publish(tx, f"{ABOUT_PRESSURE}{reading}", {"node": name, "level": level, "holds": new.holds.name.lower()}, now)
        says = next((one.says for one in after if one.reading == reading), None)
        _log(tx, name, reading, level, says, new)


def _log(tx: Tx, node: str, reading: str, level: str, says: str | None, effects: Effects) -> None:
    held = held_queues(tx, effects.holds)
    named = ", ".join(held[:MOST_NAMED]) + (", …" if len(held) > MOST_NAMED else "")
    rest = {
        Holds.NOTHING: "nothing is held back",
        Holds.HEAVY: "heavy queues are held back",
        Holds.ALL_BUT_LIGHT: "all queues but light ones are held back",
    }[effects.holds] + (f": {named}" if named else "")
    if effects.refuses is not None:
        rest += "; new jobs are refused"
    said = says or f"{reading} presses no more"
    tx.tally.warn("pressure", f"{node}: {said}; {rest}", node=node, reading=reading, pressure=level, queues=named)


def held_queues(tx: Tx, holds: Holds) -> list[str]:
    """The queues that a machine holds back: of those that are heavy, or have ready jobs."""
    if holds is Holds.NOTHING:
        return []
    known = {row["name"] for row in tx.rows(sql.heavy_queues)} | {row["queue"] for row in tx.rows(sql.ready_queues)}
    return [queue for queue in sorted(known) if pressure.is_held(holds, queue, class_of(tx, queue))]
