"""What the probe of each machine last found. The claim and `why` use it.

A row changes when a verdict does, and not because time passes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from holdfast.core.errors import NotFound
from holdfast.core.event import ABOUT_MACHINE
from holdfast.core.job import Millis
from holdfast.core.limits import shown
from holdfast.core.machine import JudgedMachine, simulated
from holdfast.core.maintenance import Chore
from holdfast.core.measures import Thresholds
from holdfast.core.messages.machines import Machine
from holdfast.core.pressure import Pressure, rising, simulate_pressure
from holdfast.core.readings import Simulation
from holdfast.decoding import decode
from holdfast.store.engine import Tx
from holdfast.store.scripts.claiming.pressure import press_machine
from holdfast.store.scripts.claiming.wake_ups import wake_held_back
from holdfast.store.scripts.events.events import publish, waiters_for
from holdfast.store.scripts.machines.nodes import name_of
from holdfast.store.scripts.maintenance.maintenance import PLANNED, maintain
from holdfast.store.statements import Dialect, sql
from holdfast.store.topics import UNKNOWN

IDLE, BUSY, CHARGING, DISCHARGING = EVENTS = tuple(
    ABOUT_MACHINE + what for what in ("idle", "busy", "charging", "discharging")
)


class MachineRow(Struct, frozen=True):
    """A row of `machines`."""

    node: str
    node_id: str
    is_idle: int
    is_charging: int
    detail: str
    source: str
    updated_at: Millis
    holds: int
    pull_interval_ms: Millis
    pressure: str
    refuses: str | None
    refuses_until: Millis | None

    def to_machine(self) -> Machine:
        """The machine that this row describes."""
        detail = decode(self.detail, Detail)
        return Machine(
            node=self.node,
            node_id=self.node_id,
            is_idle=bool(self.is_idle),
            idle=detail.idle,
            is_charging=bool(self.is_charging),
            charging=detail.charging,
            source=self.source,
            updated_at=self.updated_at,
            simulation=detail.simulation,
            holds=self.holds,
            pull_interval_ms=self.pull_interval_ms,
            pressure=decode(self.pressure, list[Pressure]),
            refuses=self.refuses,
            refuses_until=self.refuses_until,
            thresholds=detail.thresholds,
        )


class Detail(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The column `detail`: a sentence about each verdict, the simulation, and the thresholds of the probe."""

    idle: str = ""
    charging: str = ""
    simulation: Simulation | None = None
    thresholds: Thresholds = Thresholds()


class Probed(Struct, frozen=True):
    """What a probe has to know: how its machine is stored, and whether a job or an event waits for a change."""

    machine: Machine | None
    is_watched: bool


def list_machines(tx: Tx) -> list[Machine]:
    """Every machine that has a probe, and what that found."""
    return [row.to_machine() for row in tx.all(sql.list_machines, MachineRow)]


def probed(tx: Tx, node: str) -> Probed:
    """What is stored of a machine, by its id, and whether something waits for its state or its events."""
    row = tx.one(sql.machine_of_node, MachineRow, node=node)
    about = {"node": name_of(tx, node)}
    is_watched = tx.value(sql.any_gated) is not None or any(waiters_for(tx, name, about) for name in EVENTS)
    return Probed(None if row is None else row.to_machine(), is_watched)


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
        raise NotFound(f"there is no machine {shown(node)} that anybody looks at; known are: {known}")
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


def forget_machines(tx: Tx, before: Millis) -> int:
    """Remove machines without a session whose rows have not changed since a moment. Return how many."""
    tx.run(sql.delete_gone_tokens, before=before)
    return tx.run(sql.delete_gone_machines, before=before)


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
    about = {"node": name_of(tx, node)}
    pressed = [] if before is None else before.pressure
    press_machine(tx, node, pressed, pressing, thresholds, now)
    if tx.dialect is Dialect.SQLITE and any(one.reading == "wal" for one in rising(pressed, pressing)):
        # New jobs are refused until the log is shorter, so it is shortened now and not in an hour.
        maintain(tx, Chore.CHECKPOINT, now, PLANNED)
    was_idle, was_charging = (False, False) if before is None else (before.is_idle, before.is_charging)
    if (judged.is_idle and not was_idle) or (judged.is_charging and not was_charging):
        tx.changes.ready.update(found["queue"] for found in tx.rows(sql.gated_queues))
    if (was_idle and not judged.is_idle) or (was_charging and not judged.is_charging):
        wake_held_back(tx)
    if before is None or judged.is_idle != was_idle:
        publish(tx, IDLE if judged.is_idle else BUSY, about, now)
    if before is None or judged.is_charging != was_charging:
        publish(tx, CHARGING if judged.is_charging else DISCHARGING, about, now)
