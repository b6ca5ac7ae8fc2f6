"""The part of `Holdfast` for workspaces: programs with homes, which live long.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.client.store_access import StoreAccess
from holdfast.client.workspaces.handle import WorkspaceHandle, checked_command, refuse_embedded, seconds_of
from holdfast.core.messages.workspaces import NewWorkspace, WorkspaceView
from holdfast.core.rules.rule import ChoiceRule
from holdfast.core.rules.units import Duration
from holdfast.core.settings import rule_table
from holdfast.core.workspaces.states import DesiredState
from holdfast.core.workspaces.workspace import ARCHIVE_TTL_S, STANDBY_TTL_S
from holdfast.runtime.caller import what_triggers
from holdfast.store.script_names import workspaces


class WorkspaceCalls:
    """Workspaces of the daemon: a program with a home folder, of which a person says what it shall be."""

    _access: StoreAccess

    def create_workspace(
        self,
        name: str,
        *,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        desired: str = DesiredState.RUNNING,
        description: str | None = None,
        standby_ttl: Duration = STANDBY_TTL_S,
        archive_ttl: Duration = ARCHIVE_TTL_S,
    ) -> WorkspaceHandle:
        """Make a workspace on the machine of the daemon: a program that is kept running, and a home that is kept.

        `{port}` in the command becomes a free port, and it runs once that answers. `desired` is what it shall be at
        first: RUNNING or STANDBY. A TTL of 0 is none.
        """
        refuse_embedded(self._access.engine)
        new = self._new_workspace(name, command, env, desired, description, standby_ttl, archive_ttl)
        view = self._access.write(
            workspaces.create_workspace, new, self._access.now(), trigger=what_triggers(), repeated=False
        )
        return WorkspaceHandle(self._access, view.id, view.name)

    async def acreate_workspace(
        self,
        name: str,
        *,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        desired: str = DesiredState.RUNNING,
        description: str | None = None,
        standby_ttl: Duration = STANDBY_TTL_S,
        archive_ttl: Duration = ARCHIVE_TTL_S,
    ) -> WorkspaceHandle:
        """The awaitable twin of `create_workspace`."""
        refuse_embedded(self._access.engine)
        new = self._new_workspace(name, command, env, desired, description, standby_ttl, archive_ttl)
        view = await self._access.awrite(
            workspaces.create_workspace, new, await self._access.anow(), trigger=what_triggers(), repeated=False
        )
        return WorkspaceHandle(self._access, view.id, view.name)

    def workspace(self, name: str) -> WorkspaceHandle:
        """A workspace by its name or id."""
        view = self._access.read(workspaces.find_workspace, rule_table.check("ref", name, "workspace"))
        return WorkspaceHandle(self._access, view.id, view.name)

    async def aworkspace(self, name: str) -> WorkspaceHandle:
        """The awaitable twin of `workspace`."""
        view = await self._access.aread(workspaces.find_workspace, rule_table.check("ref", name, "workspace"))
        return WorkspaceHandle(self._access, view.id, view.name)

    def workspaces(self) -> list[WorkspaceView]:
        """Every workspace, by name."""
        return self._access.read(workspaces.list_workspaces)

    async def aworkspaces(self) -> list[WorkspaceView]:
        """The awaitable twin of `workspaces`."""
        return await self._access.aread(workspaces.list_workspaces)

    def _new_workspace(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str] | None,
        desired: str,
        description: str | None,
        standby_ttl: Duration,
        archive_ttl: Duration,
    ) -> NewWorkspace:
        return NewWorkspace(
            id=self._access.new_id(),
            name=rule_table.check("NewWorkspace.name", name, "name"),
            command=checked_command(command),
            env=rule_table.check("env", dict(env or {})),
            desired_state=DesiredState(ChoiceRule(DesiredState).check("desired", desired)),
            description=None if description is None else rule_table.check("NewWorkspace.description", description),
            standby_ttl_seconds=seconds_of("standby_ttl", standby_ttl),
            archive_ttl_seconds=seconds_of("archive_ttl", archive_ttl),
        )
