"""Queues whose jobs wait for too long, or are mostly superseded: what is stored of that, and who is told."""

from __future__ import annotations

from holdfast.core.gates.crowding import FEWEST, Crowding, CrowdingRules, QueueSeen, crowding
from holdfast.core.values.event import Shape
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import list_events, register_pattern
from holdfast.store.scripts.queues.crowding import list_crowded, note_crowded
from holdfast.store.scripts.queues.queues import pause, resume
from tests.store.acts import NOW, claimed_ids, open_session, put_one, write

RULES = CrowdingRules()
MINUTE = 60_000


def suffers(engine: Engine, now: int = NOW) -> list[tuple[str, str]]:
    write(engine, note_crowded, RULES, now)
    return [(row.queue, row.reading) for row in engine.query(list_crowded)]


def test_a_queue_whose_next_job_waits_for_too_long_is_told_once(engine: Engine) -> None:
    open_session(engine)
    write(engine, register_pattern, Shape("pressure.*", ()))
    put_one(engine, "j1", queue="slow")
    assert suffers(engine, NOW + 5 * MINUTE) == []
    assert suffers(engine, NOW + 5 * MINUTE + 1) == suffers(engine, NOW + 6 * MINUTE) == [("slow", "wait")]
    assert claimed_ids(engine, queues=("slow",)) == ["j1"]
    assert suffers(engine, NOW + 6 * MINUTE) == []
    told = [(view.event.name, view.event.attributes) for view in engine.query(list_events).events]
    assert [name for name, _ in told] == ["pressure.wait"] * 2
    assert {"queue": "slow", "level": "high"} in [attributes for _, attributes in told]


def test_a_queue_that_was_paused_by_hand_does_not_wait_for_too_long(engine: Engine) -> None:
    put_one(engine, "j1", queue="slow")
    write(engine, pause, "slow", None, NOW)
    assert suffers(engine, NOW + 6 * MINUTE) == []
    write(engine, resume, "slow", NOW)
    assert suffers(engine, NOW + 6 * MINUTE) == [("slow", "wait")]


def test_a_queue_whose_jobs_are_mostly_superseded_is_found_until_that_was_long_ago(engine: Engine) -> None:
    for number in range(FEWEST + 1):
        put_one(engine, f"j{number}", queue="saves", subject="same")
    assert suffers(engine) == [("saves", "superseded")]
    assert suffers(engine, NOW + 4 * MINUTE) == [("saves", "superseded")]
    assert ("saves", "superseded") not in suffers(engine, NOW + 5 * MINUTE)


def test_a_few_jobs_say_nothing_and_it_ends_lower_than_it_began() -> None:
    def found(superseded: int, ended: int, *before: Crowding) -> list[Crowding]:
        return list(crowding(QueueSeen(0, ended, superseded), frozenset(before), RULES))

    assert found(FEWEST - 1, FEWEST - 1) == []
    assert (found(50, 100), found(51, 100)) == ([], [Crowding.SUPERSEDED])
    assert found(41, 100, Crowding.SUPERSEDED) == [Crowding.SUPERSEDED]
    assert found(40, 100, Crowding.SUPERSEDED) == []


def test_a_rule_of_nothing_is_off() -> None:
    seen = QueueSeen(10**9, 100, 100)
    assert crowding(seen, frozenset(), CrowdingRules(0, 0.0)) == {}
