"""`holdfast status`: how the daemon, its workers and its queues are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from holdfast.cli.daemon.simulate import pressure, verdict
from holdfast.cli.frame import output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.output import GREEN, RED, Coloured, Fields, Output
from holdfast.cli.queues.queues import is_in_use, show_queues
from holdfast.core.machine.clock_step import STEP_MS
from holdfast.core.rules.tokens import KINDS

if TYPE_CHECKING:
    from holdfast.core.messages.machines import Machine, NodeTokens
    from holdfast.core.messages.reservations import Reservation
    from holdfast.core.messages.sessions import Worker
    from holdfast.core.messages.stats import Stats
    from holdfast.wire.status import DaemonStatus, PlaceStatus


class DaemonReport(Struct, frozen=True):
    """All that `holdfast status` shows."""

    daemon: DaemonStatus
    stats: Stats
    workers: list[Worker]
    reservations: list[Reservation]
    machines: list[Machine]
    tokens: list[NodeTokens]


def status() -> Output:
    """Show how the daemon, its workers and its queues are.

    \b
    Examples:
      holdfast status
      holdfast status --json
    """
    hf = client()
    found = DaemonReport(hf.daemon(), hf.stats(), hf.workers(), hf.reservations(), hf.machines(), hf.tokens())
    return Output(found, lambda: _show(found))


def _show(found: DaemonReport) -> None:
    daemon, stats = found.daemon, found.stats
    off = [("pressure", "off: HOLDFAST_PRESSURE=off; only what is simulated counts")] if daemon.is_pressure_off else []
    machine = [*_machines(found.machines, daemon.node), *off, *_tokens(found.tokens, daemon.node)]
    output.show_fields(_fields(daemon, stats, found.reservations) + machine)
    output.put()
    output.show_table(
        ["worker", "pid", "state", "running", "restarts", "queues"],
        _rows(daemon, found.workers),
        right=["running", "restarts"],
    )
    for kept in not_working(daemon, found.workers):
        output.put(f"{kept.name} {kept.end}")
    queues = [line for line in stats.queues if is_in_use(line)]
    if queues:
        output.put()
        show_queues(queues)


def not_working(daemon: DaemonStatus, workers: list[Worker]) -> list[PlaceStatus]:
    """The workers of the daemon whose last process ended, and that have not come back."""
    working = {worker.pid for worker in workers if worker.node == daemon.node}
    return [kept for kept in daemon.workers if kept.last_end is not None and kept.pid not in working]


def _fields(daemon: DaemonStatus, stats: Stats, reservations: list[Reservation]) -> Fields:
    up = times.length(stats.now - daemon.started_at)
    return [
        ("daemon", f"version {daemon.version}, pid {daemon.pid} on {daemon.node}, up {up}"),
        ("home", daemon.home),
        ("store", f"{daemon.store}{_size(daemon)}"),
        ("trouble", None if daemon.trouble is None else Coloured(daemon.trouble, RED)),
        ("clock", clock_says(daemon)),
        ("settings", daemon.settings),
        ("listens", daemon.socket if daemon.tcp is None else f"{daemon.socket}, {daemon.tcp}"),
        ("jobs", f"{stats.running} running, {stats.ended_per_second:.1f} ended per second"),
        ("slots", f"{stats.slots} over all queues and workers"),
        *((("reserved", _reserved(reservation))) for reservation in reservations),
    ]


def clock_says(daemon: DaemonStatus) -> str | None:
    """What is wrong with the clocks of the daemon's machine and of its database."""
    if daemon.clock_doubt is not None:
        return Coloured(daemon.clock_doubt, RED)
    if abs(daemon.clock_off_ms) <= STEP_MS:
        return None
    side = "ahead of" if daemon.clock_off_ms > 0 else "behind"
    off = times.length(abs(daemon.clock_off_ms))
    return f"this machine's is {off} {side} the database's, which is the one that counts; set it"


def _machines(machines: list[Machine], own: str) -> Fields:
    """Whether each machine is idle and charging, and its pressure. Other machines are named."""
    lines: Fields = []
    for machine in machines:
        where = "" if machine.node == own else f" (on {machine.node})"
        lines.append(("idle", f"{verdict(machine.is_idle, machine.idle)}{where}"))
        lines.append(("charging", f"{verdict(machine.is_charging, machine.charging)}{where}"))
        lines += [(name, None if said is None else f"{said}{where}") for name, said in pressure(machine)]
    return lines


def _tokens(found: list[NodeTokens], own: str) -> Fields:
    """The tokens of each machine, and those in use. Other machines are named."""
    lines: Fields = []
    for one in found:
        use = [f"{getattr(one.in_use, kind)} of {getattr(one.capacity, kind)} {kind}" for kind in KINDS]
        lines.append(("tokens", f"{', '.join(use)} in use" + ("" if one.node == own else f" (on {one.node})")))
    return lines


def _size(daemon: DaemonStatus) -> str:
    if daemon.dialect != "sqlite":
        return ""
    from pathlib import Path

    try:
        return f" ({output.size(Path(daemon.store).stat().st_size)})"
    except OSError:
        return ""


def _reserved(held: Reservation) -> str:
    what = "everything" if held.scope == "*" else f"queue {held.scope}"
    if held.status == "WAITING":
        return f"{what} by {held.reserved_by}, once it is given back"
    granted = f"since {times.ago(held.granted_at)}" if held.granted_at is not None else "waits for what runs there"
    return f"{what} by {held.reserved_by}, {granted}, until {times.ago(held.expires_at)}"


def _rows(daemon: DaemonStatus, workers: list[Worker]) -> list[list[str]]:
    """The workers of the daemon, and then those that were started otherwise."""
    by_pid = {worker.pid: worker for worker in workers}
    rows = []
    for kept in daemon.workers:
        worker = by_pid.pop(kept.pid, None) if kept.pid is not None else None
        if kept.is_crash_looping:
            state = Coloured(f"crash loop: {kept.last_end}", RED)
        elif worker is not None:
            state = _state(worker)
        else:
            state = Coloured("starting" if kept.pid is not None else f"down: {kept.last_end or 'not started'}", "")
        rows.append([kept.name, str(kept.pid or "-"), state, _load(worker), str(kept.restarts), _queues(worker)])
    others = [
        [worker.name, str(worker.pid), _state(worker), _load(worker), "", _queues(worker)] for worker in by_pid.values()
    ]
    return rows + others


def _state(worker: Worker) -> Coloured:
    return Coloured("stopping", "") if worker.stop_requested_at is not None else Coloured("working", GREEN)


def _load(worker: Worker | None) -> str:
    return "" if worker is None else f"{worker.running} of {worker.slots}"


def _queues(worker: Worker | None) -> str:
    return "" if worker is None else " ".join("any" if queue == "*" else queue for queue in sorted(worker.queues))
