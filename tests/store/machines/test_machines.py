"""What is stored of machines: who is woken by a change, what a simulation does, and that nothing is written over it."""

from __future__ import annotations

import pytest

from holdfast.core.errors import NotFound
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.machine.readings import Simulation
from holdfast.core.messages.machines import Machine
from holdfast.core.values.event import Shape
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.events.events import list_events, register_pattern
from holdfast.store.scripts.machines.machines import forget_machines, list_machines, probed
from holdfast.store.scripts.maintenance.probed_machines import note_machine, simulate
from tests.store.acts import NOW, claim_some, open_session, put_one, write

BUSY = JudgedMachine(is_idle=False, idle="in use", is_charging=False, charging="discharging", source="test")
IDLE = JudgedMachine(is_idle=True, idle="idle", is_charging=False, charging="discharging", source="test")
BOTH = JudgedMachine(is_idle=True, idle="idle", is_charging=True, charging="on AC", source="test")


def note(engine: Engine, judged: JudgedMachine, simulation: Simulation | None = None, node: str = "here") -> bool:
    return write(engine, note_machine, node, judged, simulation, NOW)


def told_by(tx: Tx, judged: JudgedMachine) -> set[str]:
    """The queues that the commit will tell of."""
    note_machine(tx, "here", judged, None, NOW)
    return set(tx.changes.ready)


def test_a_machine_is_stored_as_it_was_judged(engine: Engine) -> None:
    assert note(engine, IDLE)
    found = engine.query(list_machines)
    assert found == [Machine(node="here", node_id="here", updated_at=NOW, is_idle=True, idle="idle", **POWER)]  # type: ignore[arg-type]
    assert found[0].judged == IDLE


POWER = {"is_charging": False, "charging": "discharging", "source": "test"}


def test_queues_with_jobs_that_wait_for_the_machine_are_told_when_it_changes_for_the_better(engine: Engine) -> None:
    note(engine, BUSY)
    put_one(engine, "j1", queue="q1", wait_for_idle=True)
    put_one(engine, "j2", queue="q2", require_charging=True)
    put_one(engine, "j3", queue="q3")
    told = [write(engine, told_by, judged) for judged in (IDLE, BOTH, BOTH, BUSY)]
    assert told == [{"q1", "q2"}, {"q1", "q2"}, set(), set()]


def test_somebody_waits_for_the_machine_while_a_ready_job_does(engine: Engine) -> None:
    put_one(engine, "plain")
    put_one(engine, "later", wait_for_idle=True, due=NOW + 1_000)
    assert not engine.query(probed, "here").is_watched
    put_one(engine, "gated", require_charging=True)
    assert engine.query(probed, "here").is_watched


def test_somebody_waits_for_the_machine_who_waits_for_its_events(engine: Engine) -> None:
    write(engine, register_pattern, Shape("machine.*", ()))
    assert engine.query(probed, "here").is_watched


def test_every_change_is_an_event_for_those_who_wait_for_it(engine: Engine) -> None:
    note(engine, BUSY)
    assert engine.query(list_events).events == []
    write(engine, register_pattern, Shape("machine.*", ()))
    for judged in (IDLE, IDLE, BOTH, BUSY):
        note(engine, judged)
    found = [view.event for view in engine.query(list_events).events]
    names = ["machine.idle", "machine.charging", "machine.busy", "machine.discharging"]
    assert [event.name for event in reversed(found)] == names
    assert {event.attributes["node"] for event in found} == {"here"}


def test_a_simulation_lets_jobs_run_at_once_and_ends_so(engine: Engine) -> None:
    note(engine, BUSY, node="node")
    put_one(engine, "j1", wait_for_idle=True)
    assert claim_some(engine) == []
    made = write(engine, simulate, "node", Simulation(idle=True), NOW)
    assert (made.is_idle, made.idle, made.charging) == (True, "idle (simulated)", "discharging")
    assert made.simulation == Simulation(idle=True)
    assert [run.job_id for run in claim_some(engine)] == ["j1"]
    ended = write(engine, simulate, "node", None, NOW)
    assert (ended.is_idle, ended.simulation, ended.source) == (False, None, "test")


def test_what_was_seen_before_a_simulation_is_not_written_over_it(engine: Engine) -> None:
    note(engine, BUSY)
    write(engine, simulate, "here", Simulation(idle=True), NOW)
    assert not note(engine, BUSY, None)
    assert engine.query(list_machines)[0].is_idle
    assert note(engine, BOTH, Simulation(idle=True))
    assert engine.query(list_machines)[0].simulation == Simulation(idle=True)


def test_a_machine_nobody_looks_at_cannot_be_simulated(engine: Engine) -> None:
    note(engine, BUSY)
    with pytest.raises(NotFound, match=r"'nowhere'.*here"):
        write(engine, simulate, "nowhere", Simulation(idle=True), NOW)


def test_a_machine_is_forgotten_when_nobody_works_there_any_more(engine: Engine) -> None:
    open_session(engine)
    for node in ("node", "gone"):
        note(engine, IDLE, node=node)
    assert write(engine, forget_machines, NOW) == 0
    assert write(engine, forget_machines, NOW + 1) == 1
    assert [machine.node for machine in engine.query(list_machines)] == ["node"]
