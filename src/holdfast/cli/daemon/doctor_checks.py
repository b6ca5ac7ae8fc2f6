"""The checks of the doctor, one function for each part."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from holdfast.cli.daemon import status
from holdfast.cli.daemon.doctor import Finding
from holdfast.cli.frame import output, times
from holdfast.cli.queues.queues import breaker_says
from holdfast.core.errors import HoldfastError, NoDaemon
from holdfast.core.jobs import requests
from holdfast.core.machine.measures import Level, Thresholds, measured
from holdfast.core.machine.readings import DiskSeen, WalSeen
from holdfast.core.messages.machines import Machine
from holdfast.core.messages.maintenance import ReservedUse
from holdfast.core.messages.sessions import Worker
from holdfast.core.messages.stats import QueueStats
from holdfast.core.messages.tasks import UndeclaredTask
from holdfast.core.messages.watches import Watch
from holdfast.core.rules.limits import shown
from holdfast.version import VERSION
from holdfast.wire.home import Home
from holdfast.wire.status import DaemonStatus

HERE = "doctor"
EARLIEST = 1_700_000_000  # This program is newer, so a clock before that is wrong.
NEAR_FUTURE_MS = 60_000


def examine(home: Home) -> list[Finding]:
    """Everything."""
    from holdfast.cli.frame.watch_client import WatchClient

    limits = _limits(home)
    findings = [*_program(), *_home(home), *_disk(home, limits)]
    hf = WatchClient()
    try:
        daemon = hf.daemon() if home.is_lived_in else None
    except HoldfastError as error:
        return [*findings, Finding("daemon", False, str(error))]
    if daemon is None:
        return [*findings, *_no_daemon(home), *_file(home)]
    stats = hf.stats()
    findings += [
        *_daemon(daemon, stats.now),
        *_trouble(daemon),
        *_notifications(daemon),
        *_refusals(hf.machines(), stats.now),
        *_breakers(stats.queues),
        *_workers(daemon, hf.workers()),
        *_undeclared(hf.undeclared_tasks()),
        *_reserved(hf.reserved_uses()),
        *_watches(hf.watches()),
        *_clock(daemon, stats.now, [job.created_at for job in hf.jobs(limit=1).jobs]),
    ]
    return [*findings, *_wal(daemon, limits), *_invariants([v.invariant for v in hf.doctor()])]


def _limits(home: Home) -> Thresholds:
    """The thresholds at which the daemon of this home refuses new jobs. The defaults if its settings cannot be read."""
    from holdfast.daemon.settings.settings_file import find_file, load
    from holdfast.daemon.settings.settings_meaning import thresholds

    try:
        return thresholds(load(find_file(home)).pressure)
    except HoldfastError:
        return Thresholds()


def _program() -> Iterator[Finding]:
    import apsw

    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("program", True, f"holdfast {VERSION}, Python {version}, SQLite {apsw.sqlite_lib_version()}")


def _home(home: Home) -> Iterator[Finding]:
    if not home.folder.is_dir():
        yield Finding("home", None, f"{home.folder} does not exist yet; holdfast up makes it")
        return
    yield _private("home", home.folder, 0o700)
    for name, path in (("token", home.token), ("socket", home.socket)):
        if path.exists():
            yield _private(name, path, 0o600)
    yield from _others(home)


def _private(name: str, path: Path, mode: int) -> Finding:
    found = path.stat()
    if found.st_uid != os.getuid():
        return Finding(name, False, f"{path} belongs to another user (uid {found.st_uid})")
    if stat.S_IMODE(found.st_mode) & 0o077:
        return Finding(name, False, f"others can reach {path}; close it: chmod {mode:o} {path}")
    if not os.access(path, os.R_OK | os.W_OK):
        return Finding(name, False, f"{path} cannot be read and written; open it: chmod {mode:o} {path}")
    return Finding(name, True, f"{path}, for this user alone")


def _others(home: Home) -> Iterator[Finding]:
    """What other users could change, so that `holdfast up` would refuse to start, and what they may read."""
    from holdfast.daemon.ownership import exposures
    from holdfast.daemon.settings.settings_file import find_file, load

    file = find_file(home)
    try:
        daemon = load(file).daemon
    except HoldfastError as error:
        yield Finding("settings", False, str(error))
        return
    for found in exposures(home, file, daemon.apps):
        yield Finding("exposed", False, str(found))
    is_elsewhere = daemon.store is not None and "://" not in daemon.store
    yield from _readable(home, Path(str(daemon.store)) if is_elsewhere else home.database)


def _readable(home: Home, database: Path) -> Iterator[Finding]:
    """Old files that other users may read. New ones are private."""
    beside = [path for path in database.parent.glob("*") if path.name.startswith(database.name)]
    ours = {*home.folder.glob("*"), *home.log.parent.glob("*"), *beside} - {home.settings, home.token, home.socket}
    found = sorted(str(path) for path in ours if _is_readable(path))
    if found:
        is_closed = not stat.S_IMODE(home.folder.stat().st_mode) & 0o077 and database.parent == home.folder
        why = "only the closed home folder keeps others from reading" if is_closed else "others can read"
        names = [path.removeprefix(f"{home.folder}/") for path in found]
        said = f"{why} {', '.join(names)}; close them: chmod 600 {shlex.join(found)}"
        yield Finding("files", None if is_closed else False, said)


def _is_readable(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False  # It is gone by now.
    return stat.S_ISREG(found.st_mode) and bool(found.st_mode & 0o077)


def _disk(home: Home, limits: Thresholds) -> Iterator[Finding]:
    folder = next(folder for folder in (home.folder, *home.folder.parents) if folder.exists())
    disk = shutil.disk_usage(folder)
    share = disk.free / disk.total
    seen = measured("disk", DiskSeen(HERE, share, disk.free), limits)
    if seen.rises_to is Level.CALM:
        yield Finding("disk", True, f"{output.size(disk.free)} of {output.size(disk.total)} free ({share:.0%})")
    else:
        yield Finding("disk", False, f"{seen.says}; free some, or move the home folder")


def _no_daemon(home: Home) -> Iterator[Finding]:
    if home.socket.exists():
        yield Finding(
            "daemon", None, "none runs; the last one was killed, and left its socket; start one: holdfast up -d"
        )
    else:
        yield Finding("daemon", None, "none runs; start one: holdfast up -d")


def _daemon(daemon: DaemonStatus, now: int) -> Iterator[Finding]:
    up = times.length(now - daemon.started_at)
    said = f"version {daemon.version}, pid {daemon.pid}, up {up}, answers on {daemon.socket}"
    yield Finding("daemon", True, said)
    if daemon.version != VERSION:
        yield Finding(
            "version", False, f"the daemon is {daemon.version}, this program {VERSION}; holdfast down && holdfast up -d"
        )


def _trouble(daemon: DaemonStatus) -> Iterator[Finding]:
    if daemon.trouble is not None:
        yield Finding("store", False, daemon.trouble)


def _notifications(daemon: DaemonStatus) -> Iterator[Finding]:
    if daemon.lost_notifications is not None:
        yield Finding("store", False, daemon.lost_notifications)
    if daemon.unreadable_notifications is not None:
        yield Finding("store", None, daemon.unreadable_notifications)


def _refusals(machines: list[Machine], now: int) -> Iterator[Finding]:
    for machine in machines:
        said = machine.refusal(now)
        if said is not None:
            yield Finding("machine", False, said)


def _breakers(queues: list[QueueStats]) -> Iterator[Finding]:
    for queue in queues:
        if queue.tripped is not None:
            said = (
                f"queue {queue.name} is {breaker_says(queue.tripped)}; to go on at once: holdfast resume {queue.name}"
            )
            yield Finding("breaker", None, said)


def _undeclared(tasks: list[UndeclaredTask]) -> Iterator[Finding]:
    for found in tasks:
        jobs = f"job {found.example} waits" if found.jobs == 1 else f"{found.jobs} jobs wait, such as {found.example},"
        hint = "start a worker that has it" if found.nearest is None else f"did you mean {shown(found.nearest)}?"
        yield Finding("task", None, f"{jobs} for task {shown(found.task)}, which no worker has declared; {hint}")


def _reserved(uses: list[ReservedUse]) -> Iterator[Finding]:
    """What uses a reserved name, from before those were refused."""
    for use in uses:
        what = f"queue {use.queue}" if requests.is_system_queue(use.queue) else f"task {use.task}"
        said = f"{use.kind} {use.name} uses {what}, which is reserved for the system"
        yield Finding("reserved", None, f"{said}; it goes on, but make it anew under another name")


def _workers(daemon: DaemonStatus, workers: list[Worker]) -> Iterator[Finding]:
    idle = status.not_working(daemon, workers)
    for worker in daemon.workers:
        if worker.is_crash_looping:
            log = Path(daemon.home) / "logs" / f"worker-{worker.name}.log"
            said = f"{worker.name} fails at each start ({worker.end}); see {log}"
            yield Finding("worker", False, said)
        elif worker in idle:
            yield Finding("worker", None, f"{worker.name} {worker.end}; it starts again")
        elif worker.pid is None:
            yield Finding("worker", None, f"{worker.name} starts")
        else:
            again = f", started again {worker.restarts} times" if worker.restarts else ""
            yield Finding("worker", True, f"{worker.name}, pid {worker.pid}{again}")


def _watches(watches: list[Watch]) -> Iterator[Finding]:
    for watch in watches:
        if watch.enabled and watch.problem is not None:
            yield Finding("watch", None, f"{watch.name}: {watch.problem}")
        if watch.enabled and watch.waits_for is not None:
            yield Finding("watch", None, f"{watch.name} waits for {watch.waits_for}")


def _clock(daemon: DaemonStatus, daemon_now: int, newest: list[int]) -> Iterator[Finding]:
    now = time.time()
    said = status.clock_says(daemon)
    if said is not None:
        yield Finding("clock", None if daemon.clock_doubt is None else False, said)
    elif now < EARLIEST:
        yield Finding("clock", False, f"it says {time.strftime('%Y-%m-%d')}; set it")
    elif newest and newest[0] > daemon_now + NEAR_FUTURE_MS:
        ahead = times.length(newest[0] - daemon_now)
        yield Finding("clock", False, f"the newest job is {ahead} in the future: the clock was set back")
    else:
        yield Finding("clock", True, time.strftime("%Y-%m-%d %H:%M:%S %Z"))


def _wal(daemon: DaemonStatus, limits: Thresholds) -> Iterator[Finding]:
    if daemon.dialect != "sqlite":
        yield Finding("store", True, daemon.store)
        return
    path = Path(daemon.store)
    wal = Path(f"{path}-wal")
    long = wal.stat().st_size if wal.exists() else 0
    said = f"{path}, {output.size(path.stat().st_size)}, write-ahead log {output.size(long)}"
    # Half of the size at which new jobs are refused.
    is_long = measured("wal", WalSeen(HERE, long), limits).falls_to is not Level.CALM
    yield Finding("store", None if is_long else True, said)


def _invariants(broken: list[str]) -> Iterator[Finding]:
    if broken:
        yield Finding("invariants", False, f"{', '.join(broken)}; the rows: holdfast db check")
    else:
        yield Finding("invariants", True, "the database is whole, and every invariant holds")


def _file(home: Home) -> Iterator[Finding]:
    """The findings about the database, without a daemon."""
    from holdfast.daemon.database import HomeDatabase

    try:
        database = HomeDatabase(home)
        if not database.is_postgres and not Path(database.path).exists():
            return
        yield from _invariants([violation.invariant for violation in database.check()])
    except NoDaemon:
        raise
    except HoldfastError as error:
        yield Finding("store", False, str(error))
