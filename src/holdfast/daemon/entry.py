"""How the processes of a daemon start: their settings, their logs, and then their work."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.rules import limits
from holdfast.daemon import workspaces_worker
from holdfast.daemon.daemon import Daemon
from holdfast.daemon.instruments import start_otlp
from holdfast.daemon.settings import settings_file
from holdfast.daemon.settings.settings import LogSettings, Settings
from holdfast.daemon.settings.settings_file import CONFIG
from holdfast.hosting.database import clock_for, make_engine
from holdfast.hosting.worker import MakeHost, WorkerSettings, app_host, serve, system_host
from holdfast.observe.logs import set_up
from holdfast.runtime.machine import probe
from holdfast.store.engine import new_uuid
from holdfast.tasks.files import LogLimits
from holdfast.wire.home import Home
from holdfast.wire.places import SYSTEM_WORDS, WORKSPACES_WORDS, app_words, leave_words

LOGS = "HOLDFAST_LOGS"

log = logging.getLogger("holdfast.worker")


def run_daemon(
    home: Home,
    *,
    config: Path | None = None,
    options: Mapping[str, Any] | None = None,
    log_file: Path | None = None,
) -> None:
    """Be the daemon of a home until a signal ends it. It logs to a file only if one is given."""
    file = settings_file.find_file(home, config)
    settings = settings_file.load(file, options)
    probe.is_pressure_off()  # It raises if the variable is neither on nor off.
    set_up_logs(settings.logs, log_file)
    daemon = settings.daemon
    store = daemon.store or home.database
    clock = clock_for(store)
    files = home.jobs if settings.files.shared is None else _shared_folder(settings.files.shared)
    engine = make_engine(store, daemon.durability, daemon.schema, clock, new_uuid, files, home=home.folder)
    environment = {} if file is None else {CONFIG: str(file)}
    if log_file is not None:
        environment[LOGS] = str(log_file.parent)

    async def live() -> None:
        await Daemon(
            home,
            engine,
            settings=settings,
            environment=environment,
            clock=clock,
            watches=settings_file.load_watches(file),
            queues=settings_file.load_queues(file),
        ).run()

    asyncio.run(live())


def run_worker(
    home: Home,
    apps: Sequence[str],
    *,
    is_system: bool = False,
    is_for_workspaces: bool = False,
    place: str | None = None,
    config: Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Be a worker of the daemon until a signal ends it. With a place, it writes there why it ends."""
    folder = os.environ.get(LOGS) if place else None
    file = None if folder is None else Path(folder) / f"worker-{place}.log"
    try:
        settings = settings_file.load(settings_file.find_file(home, config), options)
        if is_system:
            _work(settings, system_host, SYSTEM_WORDS, file, place)
        elif is_for_workspaces:
            _work(settings, workspaces_worker.maker(home, settings.workspaces), WORKSPACES_WORDS, file, place)
        else:
            _work(settings, app_host(apps), app_words(tuple(apps)), file, place, is_users_code=True)
    except (Exception, SystemExit) as error:
        if place is not None and (said := _why(error)):
            leave_words(home, place, said)
            if file is not None:
                log.error("the worker ends: %s", said, extra={"event": "worker_ends"})
        raise


def _why(error: BaseException) -> str | None:
    """The message of an error. None for an exit that was asked for."""
    match error:
        case HoldfastError():
            return str(error)
        case SystemExit():
            return error.code if isinstance(error.code, str) else None
        case _:
            return f"{type(error).__name__}: {error}"


def _work(
    settings: Settings,
    make_host: MakeHost,
    words: tuple[str, ...],
    file: Path | None,
    place: str | None,
    *,
    is_users_code: bool = False,
) -> None:
    set_up_logs(settings.logs, file, of_everybody=is_users_code)
    otlp = start_otlp(settings.observe.otlp, "holdfast-worker")
    worker = worker_settings(settings)
    if not is_users_code:  # How much of that runs at once is said elsewhere.
        worker = structs.replace(worker, concurrency=None)
    try:
        serve(make_host, words, place=place, settings=worker)
    finally:
        if otlp is not None:
            otlp.close()


def worker_settings(settings: Settings) -> WorkerSettings:
    """The settings for a worker."""
    daemon = settings.daemon
    return WorkerSettings(
        command_slots=daemon.command_slots,
        concurrency=daemon.concurrency,
        log=LogLimits(settings.runs.log_segment, settings.runs.log_bytes),
        short=daemon.short,
        grace=daemon.grace,
        webhook_allow=settings.webhooks.allow,
        webhook_timeout_ms=round(settings.webhooks.timeout * 1000),
    )


def set_up_logs(settings: LogSettings, file: Path | None, *, of_everybody: bool = False) -> None:
    """Log as the settings say."""
    set_up(
        format=settings.format,
        level=settings.level,
        file=file,
        max_bytes=settings.max_bytes,
        keep=settings.files,
        of_everybody=of_everybody,
    )


def _shared_folder(named: str) -> Path:
    """A folder that other machines share. It is not made here: one that is not mounted would look like an empty one."""
    folder = Path(named).expanduser()
    if not folder.is_absolute():
        raise InvalidInput(f"files.shared {limits.shown(named)} is not valid: give the whole path of a folder")
    if not folder.is_dir():
        raise InvalidInput(f"files.shared {limits.shown(named)} is not there; mount it, or create the folder")
    return folder
