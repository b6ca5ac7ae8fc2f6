"""Rows of workspaces, and what people see of them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, structs

from holdfast.core.job import Millis
from holdfast.core.messages.workspaces import HomeContext, InstanceContext, WorkspaceView
from holdfast.core.workspaces import planning
from holdfast.core.workspaces.conditions import ConditionName, Conditions, WorkspaceCondition
from holdfast.core.workspaces.sleeping import Sleep, SleepFacts, next_sleep
from holdfast.core.workspaces.states import DesiredState, Operation, Phase
from holdfast.decoding import convert, new_decoder

_CONDITIONS = new_decoder(dict[ConditionName, WorkspaceCondition])
_HOME = new_decoder(HomeContext)
_INSTANCE = new_decoder(InstanceContext)
_TEXTS = new_decoder(tuple[str, ...])
_VARIABLES = new_decoder(dict[str, str])


class WorkspaceRow(Struct, frozen=True, gc=False):
    """A row of `workspaces`."""

    number: int
    id: str
    owner_user_id: str
    name: str
    description: str | None
    memo: str | None
    image_ref: str | None
    instance_backend: str
    storage_backend: str
    home_store_key: str
    home_ctx: str | None
    conditions: str
    phase: str
    operation: str
    op_started_at: Millis | None
    op_id: str | None
    op_job_id: str | None
    desired_state: str
    archive_key: str | None
    observed_at: Millis | None
    last_access_at: Millis | None
    standby_ttl_seconds: int
    archive_ttl_seconds: int
    error_reason: str | None
    error_count: int
    created_at: Millis
    updated_at: Millis
    deleted_at: Millis | None
    node: str
    command: str
    env: str
    port: int | None
    instance_ctx: str | None
    generation: int
    phase_changed_at: Millis

    @property
    def home(self) -> HomeContext | None:
        """The home that it names."""
        return None if self.home_ctx is None else _HOME.decode(self.home_ctx)

    @property
    def instance(self) -> InstanceContext | None:
        """The process that it names."""
        return None if self.instance_ctx is None else _INSTANCE.decode(self.instance_ctx)

    @property
    def known_conditions(self) -> Conditions:
        """Its conditions as they were last seen."""
        found: Conditions = _CONDITIONS.decode(self.conditions)
        return found

    @property
    def words(self) -> tuple[str, ...]:
        """Its command."""
        found: tuple[str, ...] = _TEXTS.decode(self.command)
        return found

    @property
    def variables(self) -> dict[str, str]:
        """Its variables of the environment."""
        found: dict[str, str] = _VARIABLES.decode(self.env)
        return found


class NamedWorkspaceRow(WorkspaceRow, frozen=True, gc=False):
    """The same, with the names of its owner and machine, and the number of the job of its operation."""

    owner: str
    node_name: str
    op_job_number: int | None
    controlled_since: Millis | None
    clock_set_at: Millis | None

    def to_view(self, *, can_archive: bool = False) -> WorkspaceView:
        """What people see of it."""
        found: dict[str, Any] = structs.asdict(self)
        del found["controlled_since"], found["clock_set_at"]
        home = self.home
        is_up = self.port is not None and Phase(self.phase) is Phase.RUNNING
        more = {
            "home_ctx": home,
            "instance_ctx": self.instance,
            "conditions": self.known_conditions,
            "command": self.words,
            "env": self.variables,
            "home": None if home is None else home.path,
            "address": f"127.0.0.1:{self.port}" if is_up else None,
            "sleep": sleep_of(self, self.controlled_since, self.clock_set_at, can_archive=can_archive),
            "steps": _steps(Phase(self.phase), Operation(self.operation), DesiredState(self.desired_state)),
        }
        return convert(found | more, WorkspaceView)


def sleep_of(
    row: WorkspaceRow, controlled_since: Millis | None, clock_set_at: Millis | None, *, can_archive: bool
) -> Sleep | None:
    """What it comes to be if nobody uses it, and when. None where nobody looks after it."""
    if controlled_since is None:
        return None
    return next_sleep(
        SleepFacts(
            phase=Phase(row.phase),
            desired=DesiredState(row.desired_state),
            operation=Operation(row.operation),
            standby_ttl_seconds=row.standby_ttl_seconds,
            archive_ttl_seconds=row.archive_ttl_seconds,
            phase_changed_at=row.phase_changed_at,
            last_access_at=row.last_access_at,
            awake_since=max(controlled_since, clock_set_at or 0),
            can_archive=can_archive,
        )
    )


def _steps(phase: Phase, operation: Operation, desired: DesiredState) -> list[Operation]:
    after = planning.steps(phase, desired)
    if operation is Operation.NONE:
        return after
    return [
        operation,
        *(after[1:] if after[:1] == [operation] else planning.steps(planning.reached(operation), desired)),
    ]


def encoded_conditions(conditions: Conditions) -> str:
    """The conditions as they are stored: always in the same order."""
    return msgspec.json.encode({name: conditions[name] for name in ConditionName if name in conditions}).decode()
