"""How the processes of a daemon begin: their settings, their logs, and then their work."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.client.database import make_engine
from holdfast.client.worker import Limits, serve
from holdfast.daemon.daemon import Daemon
from holdfast.daemon.instruments import start_otlp
from holdfast.daemon.settings import LogSettings, Settings
from holdfast.daemon.settings_file import CONFIG, find_file, load, load_watches
from holdfast.observe.logs import set_up
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import new_uuid
from holdfast.wire.home import Home
from holdfast.workers.files import LogLimits

LOGS = "HOLDFAST_LOGS"


def run_daemon(
    home: Home,
    *,
    config: Path | None = None,
    options: Mapping[str, Any] | None = None,
    log_file: Path | None = None,
) -> None:
    """Be the daemon of a home until a signal ends it. What it logs goes to a file only if one is given."""
    file = find_file(home, config)
    settings = load(file, options)
    set_up_logs(settings.logs, log_file)
    daemon, clock = settings.daemon, SystemClock()
    engine = make_engine(daemon.store or home.database, daemon.durability, daemon.schema, clock, new_uuid, home.jobs)
    environment = {} if file is None else {CONFIG: str(file)}
    if log_file is not None:
        environment[LOGS] = str(log_file.parent)

    async def live() -> None:
        watches = load_watches(file)
        await Daemon(home, engine, settings=settings, environment=environment, clock=clock, watches=watches).run()

    asyncio.run(live())


def run_worker(
    home: Home,
    apps: Sequence[str],
    *,
    is_system: bool = False,
    place: str | None = None,
    config: Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Be a worker of the daemon until a signal ends it."""
    settings = load(find_file(home, config), options)
    folder = os.environ.get(LOGS) if place else None
    file = None if folder is None else Path(folder) / f"worker-{place}.log"
    set_up_logs(settings.logs, file, of_everybody=not is_system)
    otlp = start_otlp(settings.observe.otlp, "holdfast-worker")
    try:
        serve(apps, is_system=is_system, place=place, limits=limits_of(settings))
    finally:
        if otlp is not None:
            otlp.close()


def limits_of(settings: Settings) -> Limits:
    """What the settings say to a worker."""
    daemon = settings.daemon
    return Limits(
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
