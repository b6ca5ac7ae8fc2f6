"""The task `holdfast.workspace`: one operation of a workspace of this machine.

Each try works from what is stored, and may find that a try before it did some of the work. It says nothing about the
result: the controller looks, and decides whether the operation is complete.
"""

from __future__ import annotations

from contextlib import suppress
from typing import assert_never

from holdfast.core.errors import Conflict, StoreError
from holdfast.core.messages.workspaces import InstanceContext, OperationWork
from holdfast.core.tasks.reserved import WORKSPACE, WORKSPACE_QUEUE
from holdfast.core.workspaces.states import ErrorReason, Operation
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine
from holdfast.store.script_names import operating
from holdfast.tasks.context import Context
from holdfast.tasks.raising import Permanent, Snooze, Transient
from holdfast.tasks.schema import PayloadSchema
from holdfast.tasks.spec import TaskSpec
from holdfast.workspaces.backends.protocols import (
    BackendFailed,
    CommandRefused,
    HomeNames,
    Homes,
    HomesMissing,
    Instances,
    StartOrder,
)

AWAY_S = 30
BACKEND_CODE = "ERR_BACKEND"
REFUSED_CODE = "ERR_COMMAND_REFUSED"
OUTDATED_CODE = "ERR_OPERATION_OUTDATED"


class OperationRunner:
    """Does operations with these backends. `secret` is that of the session that runs them, once it has one."""

    def __init__(self, engine: Engine, clock: Clock, instances: Instances, homes: Homes) -> None:
        self.secret: str | None = None
        self._engine = engine
        self._clock = clock
        self._instances = instances
        self._homes = homes

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
        except HomesMissing as error:
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
            case Operation.ARCHIVING | Operation.RESTORING | Operation.CREATE_EMPTY_ARCHIVE | Operation.NONE:
                raise Permanent(f"{step.work.operation} is not done here", code=OUTDATED_CODE)
            case _:
                assert_never(step.work.operation)

    def note_instance(self, run_id: str, op_id: str, instance: InstanceContext | None, port: int | None) -> None:
        """Store the process of an instance, or that it has ended. Conflict once the run is closed."""
        now = self._clock.now()
        self._engine.run(operating.note_instance, run_id, op_id, instance, now, port, self.secret)

    def commit_home(self, run_id: str, op_id: str, volume: str, path: str) -> None:
        """Make a folder the home that counts."""
        self._engine.run(operating.commit_home, run_id, op_id, volume, path, self._clock.now(), self.secret)


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
            volume, path = homes.create(self.names, self._run_id, is_first=self.work.may_begin_homes)
            self._runner.commit_home(self._run_id, self._op_id, volume, path)

    def start(self, homes: Homes, instances: Instances) -> None:
        """End what a try before has begun, and start an instance in the home."""
        self.stop(instances)
        volume, home = self.names.volume, self.work.home_ctx
        found = homes.observe({self.work.id: self.names}).get(self.work.id)
        if found is None:
            raise HomesMissing("the folder of all homes does not answer")
        if volume is None or home is None or not found.volume:
            raise Permanent("its home is gone", code=ErrorReason.DATA_LOST)
        if homes.path(volume) != home.path:  # All homes were moved.
            self._runner.commit_home(self._run_id, self._op_id, volume, homes.path(volume))
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
