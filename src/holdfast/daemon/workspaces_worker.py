"""The worker for the workspaces of this machine: how it is put together, and when the daemon needs one."""

from __future__ import annotations

import asyncio
import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from holdfast.core.errors import Conflict, HoldfastError
from holdfast.core.job import SessionId
from holdfast.core.tasks.reserved import WORKSPACE, WORKSPACE_QUEUE
from holdfast.core.workspaces.workspace import WorkspaceLimits
from holdfast.daemon.settings.settings import WorkspaceSettings
from holdfast.daemon.supervisor import Supervisor
from holdfast.hosting.declarations import Declarations
from holdfast.hosting.engine_access import EngineAccess
from holdfast.hosting.task_host import TaskHost
from holdfast.hosting.worker import MakeHost, WorkerSettings
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Changes, Engine, new_uuid
from holdfast.store.scripts.workspaces import workspaces
from holdfast.wire.home import HOME, Home, find_daemon
from holdfast.wire.places import WORKSPACES_WORDS, WorkerPlace
from holdfast.wire.remote import RemoteEngine
from holdfast.workspaces.archive.protocol import Archives
from holdfast.workspaces.backends.local_dir import LocalDir
from holdfast.workspaces.backends.local_process import LocalProcesses
from holdfast.workspaces.controller import Controller
from holdfast.workspaces.operations import OperationRunner

PLACE = WorkerPlace("workspaces", WORKSPACES_WORDS)
MORE_AT_ONCE = 8
AGAIN_S = 1.0

log = logging.getLogger("holdfast.daemon")


def maker(home: Home, settings: WorkspaceSettings) -> MakeHost:
    """Makes the worker of the workspaces of a home."""

    def make(worker: WorkerSettings) -> TaskHost[Any]:
        access = EngineAccess(RemoteEngine(find_daemon()), SystemClock(), new_uuid)
        instances = LocalProcesses(home.instance_log, {HOME: str(home.folder)})
        homes = LocalDir(folder_of_homes(home, settings))
        archives = archives_of(settings)
        runner = OperationRunner(access.engine, access.clock, instances, homes, archives)

        def make_controller(session_id: SessionId, secret: str) -> Controller:
            runner.secret = secret
            return Controller(
                access.engine,
                access.clock,
                session_id,
                secret,
                instances,
                homes,
                archives,
                upkeep=instances.trim_logs,
            )

        # A start waits until its port answers. All that may start leave room for others.
        slots = {WORKSPACE_QUEUE: settings.in_all + MORE_AT_ONCE}
        tasks = {WORKSPACE: runner.spec}
        host = TaskHost(access, slots, commands=False, declarations=Declarations(), tasks=tasks)
        host._add_part(make_controller)
        return host

    return make


def folder_of_homes(home: Home, settings: WorkspaceSettings) -> Path:
    """Where the homes of workspaces are."""
    return home.folder / "workspaces" if settings.folder is None else Path(settings.folder)


def limits_of(settings: WorkspaceSettings) -> WorkspaceLimits:
    """What people may ask of workspaces."""
    return WorkspaceLimits(settings.per_user, settings.in_all, why_no_archive(settings))


def archives_of(settings: WorkspaceSettings) -> Archives | None:
    """Where homes are archived."""
    if settings.archive is None or _unusable(settings.archive) is not None:
        return None
    from holdfast.workspaces.archive.archives import StoredArchives  # Only this worker needs its libraries.

    return StoredArchives(Path(settings.archive))


def why_no_archive(settings: WorkspaceSettings) -> str | None:
    """Why homes cannot be archived, and what to do. None: they can."""
    if settings.archive is None:
        return WorkspaceLimits().no_archive
    return _unusable(settings.archive) or _missing(Path(settings.archive))


def _unusable(archive: str) -> str | None:
    """Why a setting can never be used as it is."""
    if any(find_spec(module) is None for module in ("obstore", "zstandard")):
        return "archives need more libraries: pip install 'holdfast[archive]'"
    if "://" in archive:
        return f"archive {archive!r} in [workspaces] of holdfast.toml is no folder; other stores are to come"
    return None


def _missing(folder: Path) -> str | None:
    """Why a folder cannot be used now."""
    return (
        None if folder.is_dir() else f"the folder {folder} of [workspaces] archive is not there; mount it, or make it"
    )


class PlaceForWorkspaces:
    """Adds the place for that worker with the first workspace of this machine. Lives on one event loop."""

    def __init__(self, engine: Engine, supervisor: Supervisor, *, is_there: bool) -> None:
        self._engine = engine
        self._supervisor = supervisor
        self._is_there = is_there
        self._home = asyncio.get_running_loop()
        self._is_asked = False
        self._looking: asyncio.Task[None] | None = None

    def heed(self, changes: Changes) -> None:
        """Hear that a workspace has changed. Called from any thread."""
        if not self._is_there and any(topic.for_workspaces for topic in changes.topics):
            self._home.call_soon_threadsafe(self._look_soon)

    def _look_soon(self) -> None:
        self._is_asked = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        """Look until nobody has asked since the look began. What was told during a look may be too new for it."""
        while self._is_asked and not self._is_there:
            self._is_asked = False
            try:
                if await self._engine.read(workspaces.has_workspaces, self._engine.node):
                    self._is_there = True
                    self._supervisor.add(PLACE)
            except Conflict as error:  # It stops.
                log.debug("the worker for workspaces is not started: %s", error)
            except HoldfastError as error:
                log.warning("the worker for workspaces is not started yet: %s", error)
                self._is_asked = True
                await asyncio.sleep(AGAIN_S)
