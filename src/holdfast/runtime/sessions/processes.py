"""Processes and their groups, as the kernel shows them. Only a pid and its start time together name a process.

The group of a run is everything in the session that its first process leads. So the jobs of a shell, with groups of
their own, belong to it too.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from msgspec import Struct

from holdfast.core.job import Millis, RunId

RUN_VARIABLE = "HOLDFAST_RUN_ID"
GRACE_S = 5.0
KILL_S = 5.0
LOOK_S = 0.02


class SeenProcess(Struct, frozen=True):
    """A process at the moment of the look. `started_at` counts from the boot, so that no clock can move it."""

    pid: int
    group: int
    session: int
    started_at: Millis
    is_alive: bool


class ProcessGroup(Struct, frozen=True):
    """The processes of a run: the pid and start time of the first one, as they were recorded."""

    pid: int
    started_at: Millis
    run_id: RunId


def look_at(pid: int) -> SeenProcess | None:
    """The process with this pid, also if it is a zombie. None if there is none."""
    return _from_proc(pid) if _has_proc() else _from_psutil(pid)


def living(group: ProcessGroup) -> list[SeenProcess]:
    """The living processes of a group, and no others: see `_of`."""
    return _of(group, _all())


def signal_group(group: ProcessGroup, number: signal.Signals) -> None:
    """Send a signal to every living process of a group, except those that we may not signal."""
    _signal(group, living(group), number)


def empty_group(pid: int, started_at: Millis, run_id: RunId, grace: float = GRACE_S) -> bool:
    """End what is left of a run: SIGTERM, a grace, SIGKILL. False if a process could not be ended."""
    return not empty_groups([ProcessGroup(pid, started_at, run_id)], grace)


def empty_groups(
    groups: Sequence[ProcessGroup], grace: float = GRACE_S, patience: float = KILL_S
) -> list[ProcessGroup]:
    """The same for many groups at the same time. Return those that are not empty after `patience`."""
    left = occupied(groups)
    for group, members in left:
        _signal(group, members, signal.SIGTERM)
        # A stopped process gets no other signal before it continues.
        _signal(group, members, signal.SIGCONT)
    until = time.monotonic() + grace
    while left and time.monotonic() < until:
        time.sleep(LOOK_S)
        left = occupied(groups)
    until = time.monotonic() + patience
    while left:
        for group, members in left:
            _signal(group, members, signal.SIGKILL)
        time.sleep(LOOK_S)
        left = occupied(groups)
        if time.monotonic() >= until:
            break
    return [group for group, _ in left]


def occupied(groups: Sequence[ProcessGroup]) -> list[tuple[ProcessGroup, list[SeenProcess]]]:
    """The groups that have living members, each with these. It looks once for all of them."""
    seen = _all()
    return [(group, members) for group in groups if (members := _of(group, seen))]


def _of(group: ProcessGroup, seen: Sequence[SeenProcess]) -> list[SeenProcess]:
    """The living members. None if the pid belongs to another process.

    The kernel does not reuse a pid while a group or session of that number has members. So a first process with the
    recorded start time proves the group, and one with another start time proves that ours is empty. Without a first
    process the number may have been used again, so each member must have the id of the run.
    """
    members = [process for process in seen if group.pid in (process.group, process.session) and process.is_alive]
    leader = next((process for process in seen if process.pid == group.pid), None)
    if leader is None:
        return [process for process in members if _carries(process.pid, group.run_id)]
    return members if leader.started_at == group.started_at else []


def _signal(group: ProcessGroup, members: Iterable[SeenProcess], number: signal.Signals) -> None:
    """Send a signal to each of them once. To some programs a second SIGTERM means to hurry."""
    leader = look_at(group.pid)
    proven = leader is not None and leader.started_at == group.started_at
    if proven:
        # In one call, so that no process that forks meanwhile is missed.
        with suppress(OSError):
            os.killpg(group.pid, number)
    for process in members:
        if not (proven and process.group == group.pid):
            with suppress(OSError):
                _signal_one(process, number)


def _signal_one(process: SeenProcess, number: signal.Signals) -> None:
    """Send a signal by a handle, if the system has such. With it, the pid cannot become another process meanwhile."""
    if not hasattr(os, "pidfd_open"):
        os.kill(process.pid, number)
        return
    handle = os.pidfd_open(process.pid)
    try:
        now = look_at(process.pid)
        if now is not None and now.started_at == process.started_at:
            signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


def _all() -> list[SeenProcess]:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()] if _has_proc() else _psutil().pids()
    return [process for pid in pids if (process := look_at(pid)) is not None]


@cache
def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


@cache
def _tick_ms() -> float:
    return 1000 / os.sysconf("SC_CLK_TCK")


def _from_proc(pid: int) -> SeenProcess | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The name in brackets may hold anything. After it comes the third field of proc(5).
    fields = text.rpartition(b")")[2].split()
    threads, started = int(fields[17]), int(fields[19])
    # If the first thread has ended, the process looks dead while its other threads run.
    alive = fields[0] not in (b"Z", b"X") or threads > 1
    return SeenProcess(pid, int(fields[2]), int(fields[3]), round(started * _tick_ms()), alive)


def _carries(pid: int, run_id: RunId) -> bool:
    wanted = f"{RUN_VARIABLE}={run_id}"
    if _has_proc():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                return wanted.encode() in file.read().split(b"\0")
        except OSError:
            return False
    try:
        return bool(_psutil().Process(pid).environ().get(RUN_VARIABLE) == run_id)
    except _psutil().Error:
        return False


def _from_psutil(pid: int) -> SeenProcess | None:
    psutil = _psutil()
    try:
        process = psutil.Process(pid)
        started, alive = round(process.create_time() * 1000), process.status() != psutil.STATUS_ZOMBIE
        return SeenProcess(pid, os.getpgid(pid), os.getsid(pid), started, alive)
    except (psutil.Error, OSError):
        return None


def _psutil() -> Any:
    import psutil

    return psutil
