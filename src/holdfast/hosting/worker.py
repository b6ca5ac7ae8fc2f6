"""A process that runs jobs for the daemon: the tasks of one or several apps, or those of the system."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from msgspec import structs

from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import SYSTEM_QUEUE
from holdfast.core.tasks.reserved import BENCH, CANARY
from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.core.webhooks.webhook import TIMEOUT_MS, WEBHOOK_QUEUE
from holdfast.hosting.declarations import Declarations
from holdfast.hosting.engine_access import EngineAccess
from holdfast.hosting.host_settings import HostSettings
from holdfast.hosting.program_loader import load
from holdfast.hosting.replacement import KeptBy
from holdfast.hosting.task_host import TaskHost
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import new_uuid
from holdfast.tasks.schema import PayloadSchema
from holdfast.tasks.spec import TaskSpec
from holdfast.wire.home import find_daemon, find_home
from holdfast.wire.peer import INSIDE_VARIABLES
from holdfast.wire.places import WorkerPlace, take
from holdfast.wire.remote import RemoteEngine
from holdfast.workers.builtin.webhook import DELIVERIES
from holdfast.workers.printing import show_nothing

log = logging.getLogger("holdfast.worker")


class WorkerSettings(HostSettings, frozen=True, kw_only=True):
    """The settings for the workers of a daemon. None: as the code says."""

    command_slots: int | None = None
    webhook_allow: tuple[str, ...] = ()
    webhook_timeout_ms: Millis = TIMEOUT_MS


USUAL = WorkerSettings()


MakeHost: TypeAlias = Callable[[WorkerSettings], TaskHost[Any]]


def serve(
    make_host: MakeHost,
    words: tuple[str, ...],
    *,
    place: str | None = None,
    settings: WorkerSettings = USUAL,
) -> None:
    """Run jobs until SIGINT or SIGTERM. With a `place`, be the worker that the daemon keeps in it.

    `words` are those of the command line that say which worker this is.
    """
    lock = None if place is None else take(find_home(), WorkerPlace(place, words))
    os.environ[INSIDE_VARIABLES[0]] = "1"
    if place is not None:
        # What is printed outside of runs goes to the same file as that of the daemon, line by line.
        show_nothing()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # There is none if the daemon was started without.
                stream.reconfigure(line_buffering=True)
    try:
        settings = structs.replace(settings, kept=KeptBy(None if place is None else find_home()))
        host = make_host(settings)
        host._configure(settings)
        log.info("offering %s", ", ".join(sorted([*host._specs, *(f"app {app_key}" for app_key in host._apps)])))
        host.run()
    finally:
        if lock is not None:
            lock.release()


def app_host(apps: Sequence[str]) -> MakeHost:
    """The tasks of one or several apps."""
    return lambda settings: merged([(name, load(name)) for name in apps])


def system_host(settings: WorkerSettings = USUAL) -> TaskHost[EngineAccess]:
    """The tasks of every daemon: commands of any queue, the deliveries of webhooks, and the canary.

    How many of them run at once is not a matter of the user's code.
    """
    slots = {"*": settings.command_slots or os.cpu_count() or 1, SYSTEM_QUEUE: 2, WEBHOOK_QUEUE: DELIVERIES}
    access = EngineAccess(RemoteEngine(find_daemon()), SystemClock(), new_uuid)

    async def canary() -> None:
        """Shows that the whole path works."""

    async def bench() -> None:
        """Shows how fast it is."""

    tasks = {CANARY: _own_task(CANARY, SYSTEM_QUEUE, canary), BENCH: _own_task(BENCH, BENCH, bench)}
    host = TaskHost(access, slots, commands=True, declarations=Declarations(), tasks=tasks)
    host._deliver_webhooks(AddressPolicy.of(settings.webhook_allow), settings.webhook_timeout_ms)
    return host


def _own_task(name: str, queue: str, function: Callable[[], Awaitable[None]]) -> TaskSpec:
    """A task of the system. Of all other queues it takes commands alone, which have an index of their own."""
    return TaskSpec(
        name=name,
        queue=queue,
        function=function,
        schema=PayloadSchema(name, function, skip_first=False),
        wants_context=False,
        permanent=(),
        roams=False,
    )


def merged(apps: list[tuple[str, TaskHost[Any]]]) -> TaskHost[Any]:
    """One worker for the tasks of all of them."""
    if not apps:
        raise InvalidInput("a worker needs code to run: give --app module:name or --app path/to/file.py")
    (first_name, first), *rest = apps
    for name, app in apps:
        if not app._access.engine.is_remote:
            raise InvalidInput(
                f"app {name!r} has a database of its own ({app!r}); write Holdfast() to use the daemon's"
            )
    for name, app in rest:
        if app is not first:
            first._adopt(app, f"app {name!r} and app {first_name!r}")
    return first
