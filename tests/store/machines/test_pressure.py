"""What a machine under pressure holds back, who is told when it changes, and who is asked to make room."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.gates.gates import Closed
from holdfast.core.gates.pressure import REFUSAL_MS
from holdfast.core.gates.queue import QueueClass
from holdfast.core.jobs.settle import Yielded
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.machine.readings import Simulation
from holdfast.core.messages.machines import Machine
from holdfast.core.messages.sessions import Offer
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.values.event import Shape
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.events.events import list_events, register_pattern
from holdfast.store.scripts.machines.machines import list_machines
from holdfast.store.scripts.maintenance.clockwork import next_moment, tick
from holdfast.store.scripts.maintenance.probed_machines import note_machine, simulate
from holdfast.store.scripts.queues.queues import set_queue
from holdfast.store.statements import Dialect, sql
from tests.store.acts import (
    NOW,
    SESSION,
    TASK,
    claim_one,
    claimed_ids,
    end,
    open_session,
    put_one,
    select,
    state,
    write,
)

QUEUES = ("heavy", "normal", "light")
CALM = JudgedMachine(is_idle=False, idle="in use", is_charging=True, charging="on AC", source="test")


@pytest.fixture
def machine(engine: Engine) -> Engine:
    """A machine with a worker and a queue of each class, each with a job."""
    open_session(engine, offer=Offer("w1", "worker", (TASK,), QUEUES, 9))
    write(engine, note_machine, "node", CALM, None, NOW)
    for name in QUEUES:
        write(engine, set_queue, name, QueueChanges(queue_class=QueueClass(name)))
        put_one(engine, name, queue=name)
    return engine


def look_like(engine: Engine, now: int = NOW, **how: Any) -> Machine:
    return write(engine, simulate, "node", Simulation(**how), now)


def closed(engine: Engine, job: str, now: int = NOW) -> list[Closed]:
    return [gate for gate in engine.query(why, job, now).closed if gate.gate == "machine pressure"]


def ready_after(tx: Tx, how: Simulation) -> set[str]:
    simulate(tx, "node", how, NOW)
    return set(tx.changes.ready)


@pytest.mark.parametrize(
    ("how", "holds", "starts"),
    [
        ({}, 0, ["heavy", "normal", "light"]),
        ({"memory": 5}, 1, ["normal", "light"]),
        ({"heat": 95}, 1, ["normal", "light"]),
        ({"throttling": True}, 1, ["normal", "light"]),
        ({"battery": 15}, 1, ["normal", "light"]),
        ({"battery": 5}, 2, ["light"]),
        ({"battery": 5, "charging": True}, 0, ["heavy", "normal", "light"]),
    ],
)
def test_a_machine_under_pressure_starts_no_more_than_it_should(
    machine: Engine, how: dict[str, Any], holds: int, starts: list[str]
) -> None:
    assert look_like(machine, **how).holds == holds
    held = [job for job in QUEUES if closed(machine, job)]
    assert held == [job for job in QUEUES if job not in starts]
    assert claimed_ids(machine, queues=QUEUES) == starts


def test_a_held_job_is_told_only_of_what_holds_its_own_queue(machine: Engine) -> None:
    look_like(machine, battery=5, cpu=95)
    said = {job: gate.now for job in QUEUES for gate in closed(machine, job)}
    assert said.keys() == {"heavy", "normal"}
    assert said["normal"] == "it runs on battery with 5 % left (simulated)"
    assert "processors" in said["heavy"]


def test_what_was_held_starts_in_its_order_when_the_pressure_ends(machine: Engine) -> None:
    put_one(machine, "first", queue="heavy", priority=5)
    look_like(machine, memory=5)
    assert claimed_ids(machine, queues=("heavy",)) == []
    assert write(machine, ready_after, Simulation()) == {"heavy", "normal", "light"}
    assert claimed_ids(machine, queues=("heavy",)) == ["first", "heavy"]


def test_pressure_elsewhere_holds_nobody_here(machine: Engine) -> None:
    write(machine, note_machine, "other", CALM, None, NOW)
    write(machine, simulate, "other", Simulation(battery=5), NOW)
    assert closed(machine, "heavy") == []
    assert len(claimed_ids(machine, queues=QUEUES)) == 3


def test_a_busy_machine_has_each_worker_pull_only_now_and_then(machine: Engine) -> None:
    look_like(machine, cpu=95)
    put_one(machine, "next", queue="normal")
    assert claimed_ids(machine, 1, queues=("normal",)) == ["normal"]
    assert claimed_ids(machine, 1, queues=("normal",), now=NOW + 99) == []
    assert [gate.opens_at for gate in closed(machine, "next", NOW + 99)] == [NOW + 100]
    assert machine.query(next_moment) == NOW + 100
    assert claimed_ids(machine, 1, queues=("normal", "light"), now=NOW + 99) == ["light"]
    assert write(machine, ready_by_the_clock) == {"heavy", "normal"}
    assert claimed_ids(machine, 1, queues=("normal",), now=NOW + 100) == ["next"]


def ready_by_the_clock(tx: Tx) -> set[str]:
    tick(tx, NOW + 100)
    return set(tx.changes.ready)


def test_other_workers_of_a_busy_machine_pull_by_themselves(machine: Engine) -> None:
    look_like(machine, cpu=95)
    put_one(machine, "next", queue="normal")
    open_session(machine, "s2", offer=Offer("w2", "worker", (TASK,), QUEUES, 9))
    assert claimed_ids(machine, 1, queues=("normal",)) == ["normal"]
    assert closed(machine, "next") == []
    assert claimed_ids(machine, 1, queues=("normal",), session="s2") == ["next"]


def test_pulls_are_as_frequent_as_ever_once_the_processors_are_free(machine: Engine) -> None:
    look_like(machine, cpu=95)
    put_one(machine, "next", queue="normal")
    assert claimed_ids(machine, 1, queues=("normal",)) == ["normal"]
    look_like(machine)
    assert claimed_ids(machine, 1, queues=("normal",)) == ["next"]


@pytest.mark.parametrize(("how", "refuses"), [({"wal": 300 << 20}, "wal"), ({"disk": 2}, "disk"), ({"disk": 9}, None)])
def test_a_full_disk_and_a_long_log_refuse_for_a_while(
    machine: Engine, how: dict[str, Any], refuses: str | None
) -> None:
    found = look_like(machine, **how)
    assert (found.refuses, found.refuses_until) == (refuses, None if refuses is None else NOW + REFUSAL_MS)
    assert (found.holds, look_like(machine).refuses) == (0, None)


def test_a_log_that_grows_too_long_starts_its_checkpoint_once(machine: Engine) -> None:
    for size in (300 << 20, 400 << 20):
        look_like(machine, wal=size)
    chores = select(machine, "SELECT job_type, state FROM jobs WHERE queue = 'holdfast.maintenance'")
    # A server looks after its log itself.
    expected = [{"job_type": "holdfast.checkpoint", "state": "QUEUED"}]
    assert [dict(row) for row in chores] == (expected if machine.dialect is Dialect.SQLITE else [])


def yielding(engine: Engine) -> set[str]:
    rows = [dict(row) for row in engine.query(lambda tx: tx.rows(sql.stop_requests, session_id=SESSION))]
    assert {row["stop_reason"] for row in rows} <= {"yield"}
    return {row["run_id"] for row in rows}


def test_unplugging_asks_heavy_runs_to_make_room_at_no_charge(machine: Engine) -> None:
    heavy, normal = claim_one(machine, queues=("heavy",)), claim_one(machine, queues=("normal",))
    look_like(machine, charging=False, battery=90)
    assert yielding(machine) == {heavy.run_id}
    end(machine, heavy, Yielded("it made room for the machine"))
    assert (yielding(machine), state(machine, "heavy")) == (set(), "QUEUED")
    assert claimed_ids(machine, queues=("heavy",)) == []
    look_like(machine)
    again = claim_one(machine, queues=("heavy",))
    assert (again.attempt, yielding(machine), normal.attempt) == (2, set(), 1)


def test_a_battery_that_runs_out_asks_all_but_light_runs(machine: Engine) -> None:
    look_like(machine, charging=False, battery=90)
    look_like(machine, now=NOW + 1, charging=False, battery=90)
    runs = [claim_one(machine, queues=(name,)) for name in ("normal", "light")]
    assert yielding(machine) == set()
    look_like(machine, now=NOW + 2, charging=False, battery=5)
    assert yielding(machine) == {runs[0].run_id}


def test_other_pressure_lets_runs_go_on(machine: Engine) -> None:
    claim_one(machine, queues=("heavy",))
    look_like(machine, memory=5, cpu=95, heat=99)
    assert yielding(machine) == set()


def test_each_change_of_level_is_an_event_and_a_line_that_names_what_is_held(machine: Engine) -> None:
    write(machine, register_pattern, Shape("pressure.*", ()))
    assert write(machine, lines_of, Simulation(memory=5)) == [
        ("memory", "high", "node: only 5 % of the memory is free (simulated); heavy queues are held back: heavy")
    ]
    assert write(machine, lines_of, Simulation(memory=4)) == []
    assert write(machine, lines_of, Simulation()) == [
        ("memory", "calm", "node: memory presses no more; nothing is held back")
    ]
    found = [(view.event.name, view.event.attributes) for view in machine.query(list_events).events]
    assert [name for name, _ in found] == ["pressure.memory"] * 2
    assert {"node": "node", "level": "high", "holds": "heavy"} in [attributes for _, attributes in found]
    assert {"node": "node", "level": "calm", "holds": "nothing"} in [attributes for _, attributes in found]


def lines_of(tx: Tx, how: Simulation) -> list[tuple[str, str, str]]:
    simulate(tx, "node", how, NOW)
    return [(str(line.about["reading"]), str(line.about["pressure"]), line.message) for line in tx.tally.lines]


def test_a_probe_that_finds_nothing_ends_what_an_earlier_one_left(machine: Engine) -> None:
    look_like(machine, memory=5)
    write(machine, note_machine, "node", CALM, Simulation(memory=5), NOW, ())
    [found] = machine.query(list_machines)
    assert (found.holds, found.pressure) == (0, [])
