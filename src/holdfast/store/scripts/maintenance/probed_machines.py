"""Writes what the probe of a machine found, and what it is to look like instead."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.core.errors import NotFound
from holdfast.core.gates.pressure import Pressure, rising, simulate_pressure
from holdfast.core.job import Millis
from holdfast.core.machine.machine import JudgedMachine, simulated
from holdfast.core.machine.maintenance import Chore
from holdfast.core.machine.measures import Thresholds
from holdfast.core.machine.readings import Simulation
from holdfast.core.messages.machines import Machine
from holdfast.core.rules import limits
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import publish
from holdfast.store.scripts.machines import nodes
from holdfast.store.scripts.machines.machines import (
    BUSY,
    CHARGING,
    DISCHARGING,
    IDLE,
    Detail,
    MachineRow,
    list_machines,
)
from holdfast.store.scripts.machines.pressure import press_machine
from holdfast.store.scripts.maintenance import maintenance
from holdfast.store.scripts.maintenance.maintenance import PLANNED
from holdfast.store.scripts.telling.wake_ups import wake_held_back
from holdfast.store.statements import Dialect, sql
from holdfast.store.topics import UNKNOWN


def note_machine(
    tx: Tx,
    node: str,
    judged: JudgedMachine,
    simulation: Simulation | None,
    now: Millis,
    pressing: Sequence[Pressure] = (),
    thresholds: Thresholds | None = None,
) -> bool:
    """Store what a probe found, by the id of its machine.

    False if another simulation was stored meanwhile. Then it looks again.
    """
    row = tx.one(sql.machine_of_node, MachineRow, node=node)
    before = None if row is None else row.to_machine()
    if (None if before is None else before.simulation) != simulation:
        return False
    _store(tx, node, before, judged, simulation, pressing, thresholds or Thresholds(), now)
    return True


def simulate(tx: Tx, node: str, simulation: Simulation | None, now: Millis) -> Machine:
    """Have a machine, by name or id, look as the simulation says, or as it really is. Its jobs go by it at once."""
    machines = list_machines(tx)
    before = next((machine for machine in machines if node in (machine.node, machine.node_id)), None)
    if before is None:
        known = ", ".join(machine.node for machine in machines) or "none"
        raise NotFound(f"there is no machine {limits.shown(node)} that anybody looks at; known are: {known}")
    node = before.node_id
    wanted = simulation or None
    old, new = before.simulation or Simulation(), wanted or Simulation()
    judged = simulated(before.judged, old, new)
    pressing = simulate_pressure(
        old.seen, new.seen, before.pressure, before.thresholds, was_on_mains=before.is_charging, now=now
    )
    _store(tx, node, before, judged, wanted, pressing, before.thresholds, now)
    # The probe looks again, for what is not simulated.
    tx.changes.topics.add(UNKNOWN)
    stored = tx.one(sql.machine_of_node, MachineRow, node=node)
    assert stored is not None
    return stored.to_machine()


def _store(
    tx: Tx,
    node: str,
    before: Machine | None,
    judged: JudgedMachine,
    simulation: Simulation | None,
    pressing: Sequence[Pressure],
    thresholds: Thresholds,
    now: Millis,
) -> None:
    detail = Detail(idle=judged.idle, charging=judged.charging, simulation=simulation, thresholds=thresholds)
    tx.run(
        sql.put_machine,
        node=node,
        is_idle=int(judged.is_idle),
        is_charging=int(judged.is_charging),
        detail=msgspec.json.encode(detail).decode(),
        source=judged.source,
        now=now,
    )
    about = {"node": nodes.name_of(tx, node)}
    pressed = [] if before is None else before.pressure
    press_machine(tx, node, pressed, pressing, thresholds, now)
    if tx.dialect is Dialect.SQLITE and any(one.reading == "wal" for one in rising(pressed, pressing)):
        # New jobs are refused until the log is shorter, so it is shortened now and not in an hour.
        maintenance.maintain(tx, Chore.CHECKPOINT, now, PLANNED)
    was_idle, was_charging = (False, False) if before is None else (before.is_idle, before.is_charging)
    if (judged.is_idle and not was_idle) or (judged.is_charging and not was_charging):
        tx.changes.ready.update(found["queue"] for found in tx.rows(sql.gated_queues))
    if (was_idle and not judged.is_idle) or (was_charging and not judged.is_charging):
        wake_held_back(tx)
    if before is None or judged.is_idle != was_idle:
        publish(tx, IDLE if judged.is_idle else BUSY, about, now)
    if before is None or judged.is_charging != was_charging:
        publish(tx, CHARGING if judged.is_charging else DISCHARGING, about, now)
