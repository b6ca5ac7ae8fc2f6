"""The task `holdfast.workspace`: one operation of a workspace of this machine.

Each try works from what is stored, and may find that a try before it did some of the work. It says nothing about the
result: the controller looks, and decides whether the operation is complete.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import assert_never

from holdfast.core.errors import Conflict, StoreError
from holdfast.core.messages.workspaces import HomeContext, InstanceContext, OperationWork
from holdfast.core.tasks.reserved import WORKSPACE, WORKSPACE_QUEUE
from holdfast.core.workspaces.conditions import ConditionReason
from holdfast.core.workspaces.states import ErrorReason, Operation
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine
from holdfast.store.script_names import operating
from holdfast.tasks.context import Context
from holdfast.tasks.raising import Permanent, Snooze, Transient
from holdfast.tasks.schema import PayloadSchema
from holdfast.tasks.spec import TaskSpec
from holdfast.workspaces.archive.protocol import ArchiveAway, ArchiveLost, Archives
from holdfast.workspaces.backends.protocols import (
    BackendFailed,
    CommandRefused,
    HomeNames,
    Homes,
    HomesMissing,
    Instances,
    StartOrder,
)

ARCHIVE_NAME = "home.tar.zst"
AWAY_S = 30
BACKEND_CODE = "ERR_BACKEND"
REFUSED_CODE = "ERR_COMMAND_REFUSED"
OUTDATED_CODE = "ERR_OPERATION_OUTDATED"


class OperationRunner:
    """Does operations with these backends. `secret` is that of the session that runs them, once it has one."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        instances: Instances,
        homes: Homes,
        archives: Archives | None = None,
    ) -> None:
        self.secret: str | None = None
        self._engine = engine
        self._clock = clock
        self._instances = instances
        self._homes = homes
        self._archives = archives

    @property
    def spec(self) -> TaskSpec:
        """The task for a worker."""
        return TaskSpec(
            name=WORKSPACE,
            queue=WORKSPACE_QUEUE,
            function=self.operate,
            schema=PayloadSchema(WORKSPACE, self.operate, skip_first=True),
            wants_context=True,
            permanent=(),
            roams=False,
        )

    def operate(self, ctx: Context, workspace_id: str, operation: str, op_id: str) -> None:
        """Do it once. A failure says whether another try may help."""
        try:
            work = self._engine.query(operating.work_of_run, ctx._claimed.run_id, op_id)
            self._do(Step(self, ctx, op_id, work))
        except Conflict as error:
            raise Permanent(str(error), code=OUTDATED_CODE) from None
        except ArchiveLost as error:
            is_broken = error.reason is ConditionReason.ARCHIVE_CORRUPTED
            code = ErrorReason.ARCHIVE_CORRUPTED if is_broken else ErrorReason.DATA_LOST
            raise Permanent(str(error), code=code) from None
        except (HomesMissing, ArchiveAway) as error:
            # Nobody is to blame, and nothing is lost. It goes on when they are back.
            ctx.log.warning("%s; it is tried again in %d s", error, AWAY_S)
            raise Snooze(AWAY_S) from None
        except BackendFailed as error:
            raise Transient(str(error), code=BACKEND_CODE) from None
        except CommandRefused as error:
            raise Permanent(str(error), code=REFUSED_CODE) from None

    def _do(self, step: Step) -> None:
        match step.work.operation:
            case Operation.PROVISIONING:
                step.provision(self._homes)
            case Operation.STARTING:
                step.start(self._homes, self._instances)
            case Operation.STOPPING:
                step.stop(self._instances)
            case Operation.DELETING:
                step.stop(self._instances)
                self._homes.delete(step.names, step.ctx.check)
                self._instances.forget(step.work.id)
            case Operation.ARCHIVING | Operation.CREATE_EMPTY_ARCHIVE:
                step.archive(self._homes, self._reach_archives())
            case Operation.RESTORING:
                step.restore(self._homes, self._reach_archives())
            case Operation.NONE:
                raise Permanent(f"{step.work.operation} is not done here", code=OUTDATED_CODE)
            case _:
                assert_never(step.work.operation)

    def _reach_archives(self) -> Archives:
        if self._archives is None:
            raise ArchiveAway("there is no archive in the settings of this machine")
        return self._archives

    def note_instance(self, run_id: str, op_id: str, instance: InstanceContext | None, port: int | None) -> None:
        """Store the process of an instance, or that it has ended. Conflict once the run is closed."""
        now = self._clock.now()
        self._engine.run(operating.note_instance, run_id, op_id, instance, now, port, self.secret)

    def commit_home(self, run_id: str, op_id: str, volume: str, path: str, marker: str | None) -> None:
        """Make a folder the home that counts."""
        self._engine.run(operating.commit_home, run_id, op_id, volume, path, self._clock.now(), marker, self.secret)

    def commit_archive(self, run_id: str, op_id: str, key: str) -> None:
        """Make an archive the one that counts."""
        self._engine.run(operating.commit_archive, run_id, op_id, key, self._clock.now(), self.secret)


class Step:
    """One try of an operation."""

    def __init__(self, runner: OperationRunner, ctx: Context, op_id: str, work: OperationWork) -> None:
        self.ctx = ctx
        self.work = work
        self._runner = runner
        self._op_id = op_id
        self._run_id = ctx._claimed.run_id
        self._noted: InstanceContext | None = None

    @property
    def names(self) -> HomeNames:
        """What its homes are called."""
        home = self.work.home_ctx
        return HomeNames(self.work.home_store_key, None if home is None else home.volume)

    def provision(self, homes: Homes) -> None:
        """Make a new home, and name it as the last step. One that the row names already was made by a try before."""
        if self.work.home_ctx is None:
            volume, path = self._new_home(homes)
            self._runner.commit_home(self._run_id, self._op_id, volume, path, None)

    def archive(self, homes: Homes, archives: Archives) -> None:
        """Store the home in an archive, have that count instead of the home, and remove the folder then.

        If a try before has come so far, only the folder is left to do. A home that is not there yet is an empty one.
        """
        begin = f"{self.work.id}/{self._op_id}/"
        if self.work.archive_key is None or not self.work.archive_key.startswith(begin):
            if self.work.operation is Operation.CREATE_EMPTY_ARCHIVE:
                _, path = self._new_home(homes)
            else:
                path = homes.path(self._home(homes).volume)
            key = f"{begin}{self._run_id}/{ARCHIVE_NAME}"
            archives.put(key, Path(path), self.ctx.check, is_first=self.work.may_begin_archives)
            self._runner.commit_archive(self._run_id, self._op_id, key)
        homes.delete(HomeNames(self.work.home_store_key, None), self.ctx.check)

    def restore(self, homes: Homes, archives: Archives) -> None:
        """Fill a new folder from the archive, and make it the home as the last step."""
        key = self.work.archive_key
        if key is None:
            raise Permanent("it has no archive", code=ErrorReason.DATA_LOST)
        if self.work.home_ctx is None:
            volume, path = self._new_home(homes)
            try:
                archives.get(key, Path(path), self.ctx.check)
            except BaseException:
                # No other one: a person may have put an older home back.
                homes.discard(volume)
                raise
            self._runner.commit_home(self._run_id, self._op_id, volume, path, key)

    def _new_home(self, homes: Homes) -> tuple[str, str]:
        """A new folder of this try."""
        return homes.create(self.names, self._run_id, is_first=self.work.may_begin_homes)

    def _home(self, homes: Homes) -> HomeContext:
        """The home that counts. It is there."""
        home = self.work.home_ctx
        found = homes.observe({self.work.id: self.names}).get(self.work.id)
        if found is None:
            raise HomesMissing("the folder of all homes does not answer")
        if home is None or not found.volume:
            raise Permanent("its home is gone", code=ErrorReason.DATA_LOST)
        return home

    def start(self, homes: Homes, instances: Instances) -> None:
        """End what a try before has begun, and start an instance in the home."""
        self.stop(instances)
        home = self._home(homes)
        volume = home.volume
        if homes.path(volume) != home.path:  # All homes were moved.
            marker = home.restore_marker
            self._runner.commit_home(self._run_id, self._op_id, volume, homes.path(volume), marker)
        order = StartOrder(
            workspace_id=self.work.id,
            name=self.work.name,
            run_id=self._run_id,
            command=self.work.command,
            env=self.work.env,
            home=homes.path(volume),
        )
        try:
            instances.start(order, self._note, self.ctx.check)
        except BaseException:
            self._forget_ended(instances)
            raise

    def _forget_ended(self, instances: Instances) -> None:
        """Store that what had begun was ended, if it was. Otherwise the next try ends it once more."""
        noted = self._noted
        if noted is not None and instances.observe({self.work.id: noted}).get(self.work.id) is False:
            with suppress(Conflict, StoreError):
                self._note(None, None)

    def stop(self, instances: Instances) -> None:
        """End the instance that the row names."""
        if self.work.instance_ctx is not None:
            instances.stop(self.work.instance_ctx, self.ctx.check)
            self._note(None, None)

    def _note(self, instance: InstanceContext | None, port: int | None) -> None:
        self._noted = instance
        self._runner.note_instance(self._run_id, self._op_id, instance, port)
