"""`holdfast status`: how the daemon, its workers and its queues are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import GREEN, RED, Coloured, put, show_fields, show_json, show_table, size
from holdfast.cli.queues import is_in_use, show_queues
from holdfast.cli.simulate import pressure, verdict
from holdfast.cli.times import ago, length
from holdfast.core.clock_step import STEP_MS
from holdfast.core.tokens import KINDS

if TYPE_CHECKING:
    from holdfast.store.scripts.machines import Machine
    from holdfast.store.scripts.reserve import Reservation
    from holdfast.store.scripts.stats import Stats
    from holdfast.store.scripts.tokens import NodeTokens
    from holdfast.store.scripts.workers import Worker
    from holdfast.wire.status import DaemonStatus, PlaceStatus


def status(home: HomeOption = None, json: JsonOption = False) -> None:
    """Show how the daemon, its workers and its queues are.

    \b
    Examples:
      holdfast status
      holdfast status --json
    """
    hf = client(home)
    daemon, stats, workers, reservations = hf.daemon(), hf.stats(), hf.workers(), hf.reservations()
    machines, tokens = hf.machines(), hf.tokens()
    if json:
        show_json(
            {
                "daemon": daemon,
                "stats": stats,
                "workers": workers,
                "reservations": reservations,
                "machines": machines,
                "tokens": tokens,
            }
        )
        return
    off = [("pressure", "off: HOLDFAST_PRESSURE=off; only what is simulated counts")] if daemon.is_pressure_off else []
    machine = [*_machines(machines, daemon.node), *off, *_tokens(tokens, daemon.node)]
    show_fields(_fields(daemon, stats, reservations) + machine)
    put()
    show_table(
        ["worker", "pid", "state", "running", "restarts", "queues"],
        _rows(daemon, workers),
        right=["running", "restarts"],
    )
    for kept in not_working(daemon, workers):
        put(f"{kept.name} {kept.end}")
    queues = [line for line in stats.queues if is_in_use(line)]
    if queues:
        put()
        show_queues(queues)


def not_working(daemon: DaemonStatus, workers: list[Worker]) -> list[PlaceStatus]:
    """Those that the daemon keeps whose last process ended and that do not work again."""
    working = {worker.pid for worker in workers if worker.node == daemon.node}
    return [kept for kept in daemon.workers if kept.last_end is not None and kept.pid not in working]


def _fields(daemon: DaemonStatus, stats: Stats, reservations: list[Reservation]) -> list[tuple[str, str | None]]:
    up = length(stats.now - daemon.started_at)
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
    off = length(abs(daemon.clock_off_ms))
    return f"this machine's is {off} {side} the database's, which is the one that counts; set it"


def _machines(machines: list[Machine], own: str) -> list[tuple[str, str | None]]:
    """Whether each machine is idle and charging, and what presses on it; the others are named."""
    lines: list[tuple[str, str | None]] = []
    for machine in machines:
        where = "" if machine.node == own else f" (on {machine.node})"
        lines.append(("idle", f"{verdict(machine.is_idle, machine.idle)}{where}"))
        lines.append(("charging", f"{verdict(machine.is_charging, machine.charging)}{where}"))
        lines += [(name, None if said is None else f"{said}{where}") for name, said in pressure(machine)]
    return lines


def _tokens(found: list[NodeTokens], own: str) -> list[tuple[str, str | None]]:
    """What runs use of what each machine has; the others are named."""
    lines: list[tuple[str, str | None]] = []
    for one in found:
        use = [f"{getattr(one.in_use, kind)} of {getattr(one.capacity, kind)} {kind}" for kind in KINDS]
        lines.append(("tokens", f"{', '.join(use)} in use" + ("" if one.node == own else f" (on {one.node})")))
    return lines


def _size(daemon: DaemonStatus) -> str:
    if daemon.dialect != "sqlite":
        return ""
    from pathlib import Path

    try:
        return f" ({size(Path(daemon.store).stat().st_size)})"
    except OSError:
        return ""


def _reserved(held: Reservation) -> str:
    what = "everything" if held.scope == "*" else f"queue {held.scope}"
    if held.status == "WAITING":
        return f"{what} by {held.reserved_by}, once it is given back"
    granted = f"since {ago(held.granted_at)}" if held.granted_at is not None else "waits for what runs there"
    return f"{what} by {held.reserved_by}, {granted}, until {ago(held.expires_at)}"


def _rows(daemon: DaemonStatus, workers: list[Worker]) -> list[list[str]]:
    """The workers that the daemon keeps, and then those that came by themselves."""
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
