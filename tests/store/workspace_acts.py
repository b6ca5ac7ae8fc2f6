"""What tests do with workspaces in the store, each in one short call. What is seen of them is said by the test."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from holdfast.core.job import Millis, RunId, SessionId
from holdfast.core.jobs.requests import Claimed, ClaimRequest, QueueSlots
from holdfast.core.jobs.settle import Broke, Outcome
from holdfast.core.messages.sessions import NewSession
from holdfast.core.messages.workspaces import InstanceContext, NewWorkspace, SeenWorkspace, WorkspaceView
from holdfast.core.tasks.reserved import WORKSPACE, WORKSPACE_QUEUE
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.core.workspaces.states import DesiredState
from holdfast.store.engine import Engine, new_uuid
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.workspaces import operating, reconcile, workspaces
from tests.store.acts import DONE, NOW, report, write

CONTROLLER = "c1"
GONE = {"volume": False, "leftovers": False, "instance": False}


def open_controller(engine: Engine, session: SessionId = CONTROLLER, now: Millis = NOW) -> bool:
    """A worker on the machine of the engine begins, and would look after the workspaces there."""
    write(engine, sessions.open_session, NewSession(session, "worker", engine.node, "boot", 1, None), None, now)
    return write(engine, reconcile.take_controller, session, now)


def create(engine: Engine, name: str = "dev", now: Millis = NOW, **options: Any) -> WorkspaceView:
    """A workspace; it shall be RUNNING unless the test says otherwise."""
    new = NewWorkspace(**({"id": new_uuid(), "name": name, "command": ("serve", "{port}")} | options))
    return write(engine, workspaces.create_workspace, new, now)


def find(engine: Engine, name: str = "dev") -> WorkspaceView:
    """The workspace as it stands."""
    return engine.query(workspaces.find_workspace, name)


def want(engine: Engine, desired: DesiredState, name: str = "dev", now: Millis = NOW, **more: Any) -> WorkspaceView:
    """A person says what it shall be."""
    return write(engine, workspaces.set_desired_state, name, desired, now, **more)


def sight(engine: Engine, name: str = "dev", session: SessionId = CONTROLLER, **seen: Any) -> SeenWorkspace:
    """What is seen of a workspace now. Nothing is there, unless the test says so."""
    found = find(engine, name)
    [watched] = [one for one in engine.query(reconcile.watched_workspaces, session).workspaces if one.id == found.id]
    return SeenWorkspace(watched.id, watched.generation, watched.job_has_ended, **(GONE | seen))


def look(
    engine: Engine, name: str = "dev", session: SessionId = CONTROLLER, now: Millis = NOW, **seen: Any
) -> WorkspaceView | None:
    """The controller looks at a workspace and stores what follows. None: it is deleted by now."""
    seen_now = sight(engine, name, session, **seen)
    write(engine, reconcile.reconcile, session, [seen_now], now)
    return next((one for one in engine.query(workspaces.list_workspaces) if one.id == seen_now.id), None)


def begin(engine: Engine, session: SessionId = CONTROLLER, now: Millis = NOW) -> Claimed:
    """A worker of the machine begins the run of an operation."""
    slots = (QueueSlots(WORKSPACE_QUEUE, 10),)
    request = ClaimRequest(session_id=session, slots=1, queues=slots, tasks=(WORKSPACE,), worker_id="w")
    [run] = write(engine, claim, request, now)
    return run


def end_run(engine: Engine, run: Claimed, outcome: Outcome = DONE, now: Millis = NOW) -> None:
    """The run ends."""
    write(engine, finish, [report(run, outcome)], now)


def failure(code: str = "ERR_TRANSIENT", kind: FailureKind = FailureKind.TRANSIENT) -> Broke:
    """The end of a run that failed."""
    return Broke(Failure(kind, code, "it did not work"))


def name_home(engine: Engine, run_id: RunId, name: str = "dev", volume: str = "v1") -> None:
    """An operation names the home."""
    write(engine, operating.commit_home, run_id, str(find(engine, name).op_id), volume, f"/homes/{volume}", NOW)


def name_instance(engine: Engine, run_id: RunId, name: str = "dev", pid: int = 77, port: int | None = 8_001) -> None:
    """An operation names the process."""
    instance = InstanceContext(pid, 5, "boot", run_id)
    write(engine, operating.note_instance, run_id, str(find(engine, name).op_id), instance, NOW, port)


def to_standby(engine: Engine, name: str = "dev", **options: Any) -> WorkspaceView:
    """A workspace that has its home, and shall be STANDBY."""
    create(engine, name, **({"desired_state": DesiredState.STANDBY} | options))
    look(engine, name)
    run = begin(engine)
    name_home(engine, run.run_id, name)
    end_run(engine, run)
    view = look(engine, name, volume=True)
    assert view is not None
    return view


def to_running(engine: Engine, name: str = "dev") -> WorkspaceView:
    """A workspace that runs."""
    to_standby(engine, name, desired_state=DesiredState.RUNNING)
    run = begin(engine)
    name_instance(engine, run.run_id, name)
    end_run(engine, run)
    view = look(engine, name, volume=True, instance=True)
    assert view is not None
    return view


def older(seen: SeenWorkspace) -> SeenWorkspace:
    """The same, seen one write earlier."""
    return structs.replace(seen, generation=seen.generation - 1)
