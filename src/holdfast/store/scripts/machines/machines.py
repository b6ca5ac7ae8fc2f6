"""What the probe of each machine last found. The claim and `why` use it.

A row changes when a verdict does, and not because time passes.
"""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.gates.pressure import Pressure
from holdfast.core.job import Millis
from holdfast.core.machine.measures import Thresholds
from holdfast.core.machine.readings import Simulation
from holdfast.core.messages.machines import Machine
from holdfast.core.values.event import ABOUT_MACHINE
from holdfast.decoding import decode
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import waiters_for
from holdfast.store.scripts.machines import nodes
from holdfast.store.statements import sql

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
    about = {"node": nodes.name_of(tx, node)}
    is_watched = tx.value(sql.any_gated) is not None or any(waiters_for(tx, name, about) for name in EVENTS)
    return Probed(None if row is None else row.to_machine(), is_watched)


def forget_machines(tx: Tx, before: Millis) -> int:
    """Remove machines without a session whose rows have not changed since a moment. Return how many."""
    tx.run(sql.delete_gone_tokens, before=before)
    return tx.run(sql.delete_gone_machines, before=before)
