"""What each machine is like, as its probe last said; what the claim and `why` go by.

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
from holdfast.core.machine import Judged, simulated
from holdfast.core.maintenance import Chore
from holdfast.core.measures import Thresholds
from holdfast.core.pressure import Pressure, rising, simulate_pressure
from holdfast.core.readings import Simulation
from holdfast.store.engine import Tx
from holdfast.store.scripts.events import heard_by, publish
from holdfast.store.scripts.maintenance import PLANNED, maintain
from holdfast.store.scripts.nodes import name_of
from holdfast.store.scripts.pressed import press_machine
from holdfast.store.scripts.waking import wake_held_back
from holdfast.store.statements import Dialect, sql

IDLE, BUSY, CHARGING, DISCHARGING = EVENTS = tuple(
    ABOUT_MACHINE + what for what in ("idle", "busy", "charging", "discharging")
)


class Machine(Struct, frozen=True, kw_only=True):
    """A machine as its probe sees it: both verdicts, each in words too, who told, and since when it is so.

    `simulation` is what somebody wants it to look like. `pressure` is what the machine suffers from, by the
    `thresholds` of its probe; because of that it `holds` back nothing (0), heavy queues (1), or all but light ones (2),
    lets each worker pull only every `pull_interval_ms`, and `refuses` new jobs until a moment that the probe moves on.
    """

    node: str
    node_id: str
    is_idle: bool
    idle: str
    is_charging: bool
    charging: str
    source: str
    updated_at: Millis
    simulation: Simulation | None = None
    holds: int = 0
    pull_interval_ms: Millis = 0
    pressure: list[Pressure] = []
    refuses: str | None = None
    refuses_until: Millis | None = None
    thresholds: Thresholds = Thresholds()

    @property
    def judged(self) -> Judged:
        """The verdicts alone."""
        return Judged(**{name: getattr(self, name) for name in Judged.__struct_fields__})

    def refusal(self, now: Millis) -> str | None:
        """Why it refuses new jobs at this moment, in words; None: it takes them in."""
        if self.refuses is None or self.refuses_until is None or self.refuses_until <= now:
            return None
        says = next((one.says for one in self.pressure if one.reading == self.refuses), self.refuses)
        return f"new jobs are refused on {self.node}: {says}"


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
        detail = msgspec.json.decode(self.detail, type=Detail)
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
            pressure=msgspec.json.decode(self.pressure, type=list[Pressure]),
            refuses=self.refuses,
            refuses_until=self.refuses_until,
            thresholds=detail.thresholds,
        )


class Detail(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the column `detail` holds: a sentence about each verdict, the simulation, and what the probe goes by."""

    idle: str = ""
    charging: str = ""
    simulation: Simulation | None = None
    thresholds: Thresholds = Thresholds()


class Probed(Struct, frozen=True):
    """What a probe has to know: how its machine is stored, and whether anybody waits for a change."""

    machine: Machine | None
    is_watched: bool


def list_machines(tx: Tx) -> list[Machine]:
    """Every machine that a probe looks at, and how it is."""
    return [row.to_machine() for row in tx.all(sql.list_machines, MachineRow)]


def probed(tx: Tx, node: str) -> Probed:
    """What is stored of a machine, by its id; whether a job waits for it, or somebody for an event of it."""
    row = tx.one(sql.machine_of_node, MachineRow, node=node)
    about = {"node": name_of(tx, node)}
    is_watched = tx.value(sql.any_gated) is not None or any(heard_by(tx, name, about) for name in EVENTS)
    return Probed(None if row is None else row.to_machine(), is_watched)


def note_machine(
    tx: Tx,
    node: str,
    judged: Judged,
    simulation: Simulation | None,
    now: Millis,
    pressing: Sequence[Pressure] = (),
    thresholds: Thresholds | None = None,
) -> bool:
    """Store what a probe found, by the id of its machine.

    False if the simulation that it went by is another one by now: then it looks again.
    """
    row = tx.one(sql.machine_of_node, MachineRow, node=node)
    before = None if row is None else row.to_machine()
    if (None if before is None else before.simulation) != simulation:
        return False
    _store(tx, node, before, judged, simulation, pressing, thresholds or Thresholds(), now)
    return True


def simulate(tx: Tx, node: str, simulation: Simulation | None, now: Millis) -> Machine:
    """Have a machine, by name or id, look as somebody wants it to, or as it is again. Its jobs go by it at once."""
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
    tx.changes.unknown = True
    stored = tx.one(sql.machine_of_node, MachineRow, node=node)
    assert stored is not None
    return stored.to_machine()


def forget_machines(tx: Tx, before: Millis) -> int:
    """Remove machines on which nobody works, and of which nothing was said since a moment; how many."""
    tx.run(sql.delete_gone_tokens, before=before)
    return tx.run(sql.delete_gone_machines, before=before)


def _store(
    tx: Tx,
    node: str,
    before: Machine | None,
    judged: Judged,
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
        # New jobs are refused until the log is shorter, so nobody waits for the next hour to shorten it.
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
