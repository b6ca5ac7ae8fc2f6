"""One frame of `holdfast top`: what it shows, and how it is drawn."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from rich.console import Group, JustifyMethod, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from holdfast.cli.daemon.simulate import pressure
from holdfast.cli.frame import jobs_shown, output, times
from holdfast.cli.queues.queues import breaker_says, is_in_use
from holdfast.core.job import Millis, Running, StateName
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.sessions import Worker
from holdfast.core.messages.stats import QueueStats, Stats
from holdfast.observe.terminal import in_a_line
from holdfast.wire.status import DaemonStatus

if TYPE_CHECKING:
    from holdfast.client.remote import Client

MOST_JOBS = 100
FIXED_LINES = 10
NARROWEST_BAR = 5
ENDED = tuple(state for state in StateName if state not in ("QUEUED", "SCHEDULED", "RUNNING"))


class MachineFrame(Struct, frozen=True):
    """How busy this machine is. Memory and disk are fractions in use."""

    cpus: int
    load: float
    memory: float
    memory_total: int
    disk: float
    disk_free: int


class TopView(Struct, frozen=True):
    """Everything at one moment. `rates` are jobs that ended per second, by queue, since the last look.

    `pressure` is what presses on the machines, a line for each.
    """

    daemon: DaemonStatus
    stats: Stats
    workers: list[Worker]
    jobs: list[Job]
    machine: MachineFrame
    rates: dict[str, float]
    pressure: list[str] = []


class TopReader:
    """Reads everything from the daemon, and remembers the last time, for rates."""

    def __init__(self, hf: Client) -> None:
        self._hf = hf
        self._last: tuple[Millis, dict[str, int]] | None = None

    def read(self) -> TopView:
        """Everything as it is now."""
        hf = self._hf
        daemon, stats, workers = hf.daemon(), hf.stats(), hf.workers()
        jobs = hf.jobs(state=StateName.RUNNING, limit=MOST_JOBS).jobs
        pressed = [f"{machine.node}: {said}" for machine in hf.machines() for _, said in pressure(machine) if said]
        return TopView(daemon, stats, workers, jobs, _machine(daemon.home), self._rates(stats), pressed)

    def _rates(self, stats: Stats) -> dict[str, float]:
        ended = {queue.name: sum(queue.jobs.get(state, 0) for state in ENDED) for queue in stats.queues}
        last, self._last = self._last, (stats.now, ended)
        if last is None or stats.now <= last[0]:
            return {}
        passed = (stats.now - last[0]) / 1000
        # Retention removes old jobs, which must not make a rate negative.
        return {name: max(0.0, (count - last[1].get(name, 0)) / passed) for name, count in ended.items()}


def _machine(home: str) -> MachineFrame:
    import psutil

    memory, disk = psutil.virtual_memory(), psutil.disk_usage(home)
    used = 1 - memory.available / memory.total
    return MachineFrame(os.cpu_count() or 1, os.getloadavg()[0], used, memory.total, disk.percent / 100, disk.free)


def draw(view: TopView, width: int, height: int | None, problem: str | None = None) -> Group:
    """The frame. Without a height, all of it."""
    queues, workers = list(filter(is_in_use, view.stats.queues)), _workers(view)
    # Each table has a heading and an empty line above it; the two lines at the top and the last one are fixed.
    room = MOST_JOBS if height is None else max(3, height - FIXED_LINES - len(view.pressure))
    most_queues = min(len(queues), max(1, room // 3))
    most_workers = min(workers.row_count, max(1, room // 4))
    most_jobs = max(1, room - most_queues - most_workers)
    parts: list[RenderableType] = [_head(view, problem), _machine_line(view.machine, width)]
    parts += [_text(line, style="yellow", no_wrap=True, overflow="ellipsis") for line in view.pressure]
    parts += [Text(), _queues(queues[:most_queues], view), Text()]
    parts.append(_jobs(view, most_jobs) if view.jobs else _text("nothing runs", style="dim"))
    if height is None or workers.row_count <= most_workers:
        parts += [Text(), workers]
    if height is not None:
        left = len(queues) - most_queues, len(view.jobs) - most_jobs
        more = "".join(f"  {n} more {what}" for n, what in zip(left, ("queues", "jobs"), strict=True) if n > 0)
        parts.append(_text(f"q quits{more}", style="dim"))
    return Group(*parts)


def _head(view: TopView, problem: str | None) -> Text:
    if problem is not None:
        return _text(problem, style="red", no_wrap=True, overflow="ellipsis")
    daemon, stats = view.daemon, view.stats
    up = times.length(time.time() * 1000 - daemon.started_at)
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append("holdfast ", style="bold").append(f"{daemon.version}  up {up}  ")
    line.append(f"{stats.running}", style="cyan").append(f" running, {stats.slots} slots  ")
    line.append(f"{stats.jobs.get(StateName.QUEUED, 0)}", style="yellow").append(" queued  ")
    line.append(f"{stats.ended_per_second:.1f}", style="green").append(" ended/s  ")
    return line.append(time.strftime("%H:%M:%S"), style="dim")


def _machine_line(machine: MachineFrame, width: int) -> Table:
    line = Table.grid(padding=(0, 1))
    wide = min(16, (width - 70) // 3)
    parts = (
        ("load", machine.load / machine.cpus, f"{machine.load:.1f} of {machine.cpus}"),
        ("memory", machine.memory, f"{machine.memory:.0%} of {output.size(machine.memory_total)}"),
        ("disk", machine.disk, f"{output.size(machine.disk_free)} free "),
    )
    cells: list[RenderableType] = []
    for name, share, said in parts:
        colour = "green" if share < 0.7 else "yellow" if share < 0.9 else "red"
        # In a narrow terminal the numbers are enough.
        drawn = [_bar(share, wide, colour)] if wide >= NARROWEST_BAR else []
        cells += [_text(name, style="dim", no_wrap=True), *drawn, _text(f"{said} ", style=colour, no_wrap=True)]
    line.add_row(*cells)
    return line


def _bar(share: float, wide: int, colour: str) -> ProgressBar:
    return ProgressBar(100, min(100.0, share * 100), width=wide, complete_style=colour, finished_style=colour)


def _table(*columns: str, right: tuple[str, ...] = (), gives_way: tuple[str, ...] = ()) -> Table:
    """A table. If it is too wide, its flexible columns are cut first."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        side: JustifyMethod = "right" if name in right else "left"
        table.add_column(name.upper(), justify=side, no_wrap=name not in gives_way, overflow="ellipsis")
    return table


def _text(text: str, style: str = "", **options: Any) -> Text:
    """Foreign text, made safe for the terminal."""
    return Text(in_a_line(text), style=style, **options)


def _cut(text: str, style: str = "") -> Text:
    """A text for a flexible column: one line, however long it is."""
    return _text(text, style=style, no_wrap=True, overflow="ellipsis")


def _queues(queues: list[QueueStats], view: TopView) -> Table:
    numbers = ("running", "queued", "scheduled", "done", "failed", "ended/s")
    table = _table("queue", *numbers, "oldest", "", right=numbers, gives_way=("",))
    for queue in queues:
        table.add_row(*_queue(queue, view.rates.get(queue.name), view.stats.now))
    return table


def _queue(queue: QueueStats, rate: float | None, now: Millis) -> list[Text]:
    def count(state: StateName, style: str) -> Text:
        number = queue.jobs.get(state, 0)
        return _text(f"{number}", style=style if number else "dim")

    running = count(StateName.RUNNING, "cyan")
    if queue.concurrency is not None:
        running.append(f"/{queue.concurrency}")
    paused = "" if queue.paused_at is None else f"paused {queue.pause_reason or ''}"
    if queue.tripped is not None:
        paused = f"{paused} {breaker_says(queue.tripped)}".lstrip()
    return [
        _text(queue.name),
        running,
        count(StateName.QUEUED, "yellow"),
        count(StateName.SCHEDULED, "blue"),
        count(StateName.DONE, "green"),
        count(StateName.FAILED, "red"),
        _text("-" if rate is None else f"{rate:.1f}"),
        _text("" if queue.ready_since is None else times.length(max(0, now - queue.ready_since))),
        _cut(paused, "yellow"),
    ]


def _workers(view: TopView) -> Table:
    table = _table("worker", "pid", "running", "slots", "state", right=("pid", "running", "slots"))
    kept = {place.pid: place for place in view.daemon.workers if place.pid is not None}
    for worker in view.workers:
        place = kept.get(worker.pid)
        state = "stopping" if worker.stop_requested_at is not None else ""
        table.add_row(
            _text(worker.name if place is None else place.name),
            str(worker.pid),
            _text(str(worker.running), style="cyan" if worker.running else "dim"),
            str(worker.slots),
            _text(state, style="yellow"),
        )
    for place in view.daemon.workers:
        if place.is_crash_looping:
            said = _text(f"crash loop: {place.last_end}", "red")
            table.add_row(_text(place.name), str(place.pid or "-"), "", "", said)
    return table


def _jobs(view: TopView, room: int) -> Table:
    table = _table("job", "queue", "what", "for", "progress", "", right=("job",), gives_way=("what", ""))
    for job in view.jobs[:room]:
        assert isinstance(job.state, Running)
        drawn = Text() if job.progress is None else _bar(job.progress, 16, "cyan")
        said = job.progress_text or ""
        if job.state.cancel_requested_at is not None:
            said = f"asked to stop {said}"
        share = "" if job.progress is None else f"{job.progress:4.0%} "
        table.add_row(
            str(job.number),
            job.queue,
            _cut(jobs_shown.what(job)),
            times.length(max(0, view.stats.now - job.state.since)),
            drawn,
            _cut(f"{share}{said}"),
        )
    return table
