"""Processes and their groups, as the kernel shows them. A pid alone names nobody: only with its start time it does.

The group of a run is everything in the session that its first process leads, so that a shell's jobs with groups of
their own belong to it too.
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


class Seen(Struct, frozen=True):
    """A process at the moment of the look; `started_at` counts from the boot, so that no clock can move it."""

    pid: int
    group: int
    session: int
    started_at: Millis
    is_alive: bool


class Group(Struct, frozen=True):
    """The processes of a run: the pid and start time of the first one, as they were recorded."""

    pid: int
    started_at: Millis
    run_id: RunId


def look_at(pid: int) -> Seen | None:
    """The process with this pid, dead but not yet buried included; None where there is none."""
    return _from_proc(pid) if _has_proc() else _from_psutil(pid)


def living(group: Group) -> list[Seen]:
    """The living processes of a group, and nobody else: see `_of`."""
    return _of(group, _all())


def signal_group(group: Group, number: signal.Signals) -> None:
    """Send a signal to every living process of a group. Whoever has just ended or is not ours to signal is left out."""
    _signal(group, living(group), number)


def empty_group(pid: int, started_at: Millis, run_id: RunId, grace: float = GRACE_S) -> bool:
    """End what is left of a run: SIGTERM, a grace, SIGKILL. False if somebody could not be ended."""
    return not empty_groups([Group(pid, started_at, run_id)], grace)


def empty_groups(groups: Sequence[Group], grace: float = GRACE_S, patience: float = KILL_S) -> list[Group]:
    """The same for many at once, in the same time; those that are not empty after `patience`."""
    left = _occupied(groups)
    for group, members in left:
        _signal(group, members, signal.SIGTERM)
        # One that was stopped hears nothing else before it goes on.
        _signal(group, members, signal.SIGCONT)
    until = time.monotonic() + grace
    while left and time.monotonic() < until:
        time.sleep(LOOK_S)
        left = _occupied(groups)
    until = time.monotonic() + patience
    while left:
        for group, members in left:
            _signal(group, members, signal.SIGKILL)
        time.sleep(LOOK_S)
        left = _occupied(groups)
        if time.monotonic() >= until:
            break
    return [group for group, _ in left]


def _occupied(groups: Sequence[Group]) -> list[tuple[Group, list[Seen]]]:
    seen = _all()
    return [(group, members) for group in groups if (members := _of(group, seen))]


def _of(group: Group, seen: Sequence[Seen]) -> list[Seen]:
    """The living members; nobody where the pid has gone to another process.

    The kernel gives a pid to nobody else while a group or session of that number has members. So a first process with
    the start time that was recorded proves the group, one with another start time proves that ours is empty. Without a
    first process the number may have been used again and left behind, and each member must carry the run's id.
    """
    members = [process for process in seen if group.pid in (process.group, process.session) and process.is_alive]
    leader = next((process for process in seen if process.pid == group.pid), None)
    if leader is None:
        return [process for process in members if _carries(process.pid, group.run_id)]
    return members if leader.started_at == group.started_at else []


def _signal(group: Group, members: Iterable[Seen], number: signal.Signals) -> None:
    """To each of them once: there are programs that a second SIGTERM tells to hurry."""
    leader = look_at(group.pid)
    proven = leader is not None and leader.started_at == group.started_at
    if proven:
        # In one stroke, so that nobody who forks meanwhile is missed.
        with suppress(OSError):
            os.killpg(group.pid, number)
    for process in members:
        if not (proven and process.group == group.pid):
            with suppress(OSError):
                _signal_one(process, number)


def _signal_one(process: Seen, number: signal.Signals) -> None:
    """By a handle on the process where there are such: then the pid cannot go to another one in between."""
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


def _all() -> list[Seen]:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()] if _has_proc() else _psutil().pids()
    return [process for pid in pids if (process := look_at(pid)) is not None]


@cache
def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


@cache
def _tick_ms() -> float:
    return 1000 / os.sysconf("SC_CLK_TCK")


def _from_proc(pid: int) -> Seen | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The name in brackets may hold anything; what follows it starts with the third field of proc(5).
    fields = text.rpartition(b")")[2].split()
    threads, started = int(fields[17]), int(fields[19])
    # A first thread that has ended looks dead while others of its process still run.
    alive = fields[0] not in (b"Z", b"X") or threads > 1
    return Seen(pid, int(fields[2]), int(fields[3]), round(started * _tick_ms()), alive)


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


def _from_psutil(pid: int) -> Seen | None:
    psutil = _psutil()
    try:
        process = psutil.Process(pid)
        started, alive = round(process.create_time() * 1000), process.status() != psutil.STATUS_ZOMBIE
        return Seen(pid, os.getpgid(pid), os.getsid(pid), started, alive)
    except (psutil.Error, OSError):
        return None


def _psutil() -> Any:
    import psutil

    return psutil
