"""Workspaces: what a person asks for, what people see, and what its controller and operations tell each other."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import JobId, Millis, RunId
from holdfast.core.workspaces.conditions import ConditionName, Observation, WorkspaceCondition
from holdfast.core.workspaces.sleeping import Sleep
from holdfast.core.workspaces.states import DesiredState, ErrorReason, Operation, Phase
from holdfast.core.workspaces.workspace import ARCHIVE_TTL_S, STANDBY_TTL_S, InstanceBackend, StorageBackend


class NewWorkspace(Struct, frozen=True, kw_only=True):
    """A workspace to be made: the program that runs in it, and what it shall be at first.

    `{port}` in the command becomes a free port. A TTL of 0 is none.
    """

    id: str
    name: str
    command: tuple[str, ...]
    env: dict[str, str] = {}
    description: str | None = None
    desired_state: DesiredState = DesiredState.RUNNING
    standby_ttl_seconds: int = STANDBY_TTL_S
    archive_ttl_seconds: int = ARCHIVE_TTL_S
    instance_backend: InstanceBackend = InstanceBackend.LOCAL_PROCESS
    storage_backend: StorageBackend = StorageBackend.LOCAL_DIR
    image_ref: str | None = None

    def __repr__(self) -> str:
        return f"<NewWorkspace {self.name}>"  # Its variables belong in no log.


class HomeContext(Struct, frozen=True, omit_defaults=True):
    """The home of a workspace: `volume` is its name, and `path` where it is on its machine."""

    volume: str
    path: str
    restore_marker: str | None = None


class InstanceContext(Struct, frozen=True):
    """The process of an instance. `run_id` is the try that started it, which its processes carry."""

    pid: int
    started_at: Millis
    boot_id: str
    run_id: RunId


class WorkspaceView(Struct, frozen=True, kw_only=True):
    """A workspace as it stands in the store.

    `home` is the folder on its machine, and `address` where its program answers there. `steps` are the operations that
    lead to its desired state, the one under way first. `sleep` is what it comes to be if nobody uses it, and when.
    `node` is the id of its machine.
    """

    number: int
    id: str
    owner_user_id: str
    owner: str
    name: str
    description: str | None
    memo: str | None
    image_ref: str | None
    instance_backend: InstanceBackend
    storage_backend: StorageBackend
    home_store_key: str
    home_ctx: HomeContext | None
    conditions: dict[ConditionName, WorkspaceCondition]
    phase: Phase
    operation: Operation
    op_started_at: Millis | None
    op_id: str | None
    op_job_id: JobId | None
    op_job_number: int | None
    desired_state: DesiredState
    archive_key: str | None
    observed_at: Millis | None
    last_access_at: Millis | None
    standby_ttl_seconds: int
    archive_ttl_seconds: int
    error_reason: ErrorReason | None
    error_count: int
    created_at: Millis
    updated_at: Millis
    deleted_at: Millis | None
    node: str
    node_name: str
    command: tuple[str, ...]
    env: dict[str, str]
    port: int | None
    instance_ctx: InstanceContext | None
    generation: int
    phase_changed_at: Millis
    home: str | None
    address: str | None
    steps: list[Operation]
    sleep: Sleep | None


class WorkspaceEdits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be different about a workspace; None leaves it as it is. A new command begins with the next start."""

    name: str | None = None
    description: str | None = None
    memo: str | None = None
    command: tuple[str, ...] | None = None
    env: dict[str, str] | None = None
    standby_ttl_seconds: int | None = None
    archive_ttl_seconds: int | None = None

    def __repr__(self) -> str:
        return "<WorkspaceEdits>"  # Its variables belong in no log.


class SleepPlan(Struct, frozen=True):
    """Whether a workspace of a machine shall come to rest now, and when the next one will."""

    is_due: bool
    next_at: Millis | None


class WorkspaceChange(Struct, frozen=True):
    """A change of what a workspace shall be: who asked for it (`trigger`), and why it was made."""

    number: int
    at: Millis
    from_state: DesiredState | None
    to_state: DesiredState
    trigger: str | None
    why: str


class WatchedWorkspace(Struct, frozen=True):
    """A workspace for its controller to look at. `job_has_ended`: its operation has none that is open."""

    id: str
    generation: int
    home_store_key: str
    home_ctx: HomeContext | None
    instance_ctx: InstanceContext | None
    job_has_ended: bool
    is_busy: bool
    archive_key: str | None = None
    port: int | None = None


class WatchedWorkspaces(Struct, frozen=True):
    """The workspaces of a machine. `is_held`: the session that asks looks after them."""

    is_held: bool
    workspaces: list[WatchedWorkspace]


class SeenWorkspace(Struct, frozen=True):
    """What was seen of a workspace. None: it did not answer.

    `generation` and `job_had_ended` are as they were when the look began. `ended_with_machine`: its machine was started
    anew since its instance began.
    """

    id: str
    generation: int
    job_had_ended: bool
    volume: bool | None
    leftovers: bool | None
    instance: bool | None
    ended_with_machine: bool = False
    archive: Observation | None = None


class OperationWork(Struct, frozen=True, kw_only=True):
    """What a run of an operation works with.

    `may_begin_homes`: no workspace of this machine has a home yet. `may_begin_archives`: nor an archive.
    """

    id: str
    name: str
    operation: Operation
    home_store_key: str
    home_ctx: HomeContext | None
    instance_ctx: InstanceContext | None
    command: tuple[str, ...]
    env: dict[str, str]
    archive_key: str | None
    may_begin_homes: bool
    may_begin_archives: bool

    def __repr__(self) -> str:
        return f"<OperationWork {self.operation} of {self.name}>"
