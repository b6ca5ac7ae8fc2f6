"""A workspace as a program holds it.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from holdfast.client.store_access import StoreAccess
from holdfast.client.waiting import Countdown, refuse_to_block
from holdfast.core.errors import Conflict, InvalidInput, NotFound, StillRunning, WorkspaceFailed
from holdfast.core.messages.workspaces import WorkspaceChange, WorkspaceEdits, WorkspaceView
from holdfast.core.rules.rule import ChoiceRule, check_all
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION, FLAG
from holdfast.core.settings import rule_table
from holdfast.core.settings.workspace_rules import check_ttl
from holdfast.core.workspaces.conditions import ConditionName
from holdfast.core.workspaces.states import DesiredState, Operation, Phase
from holdfast.runtime.caller import what_triggers
from holdfast.store.engine import Engine
from holdfast.store.script_names import resting, workspaces

FIRST_LOOK_S = 0.05
LONGEST_PAUSE_S = 0.5


class WorkspaceHandle:
    """One workspace. What it says of itself is read when it is asked.

    With `wait`, a change waits for the end of an operation that is under way, and returns when the workspace is what it
    shall be. A length of time limits that. Workspaces need a daemon:

    >>> from holdfast import Holdfast, InvalidInput, WorkspaceHandle
    >>> hf = Holdfast("work.db")
    >>> try:
    ...     hf.create_workspace("dev", command=["sleep", "1h"])
    ... except InvalidInput:
    ...     print("start one: holdfast up -d")
    start one: holdfast up -d
    """

    def __init__(self, access: StoreAccess, id: str, name: str) -> None:
        self._access = access
        self.id = id
        self.name = name

    def __repr__(self) -> str:
        return f"<WorkspaceHandle {self.name}>"

    @property
    def info(self) -> WorkspaceView:
        """All that is known of it."""
        return self._access.read(workspaces.find_workspace, self.id)

    async def ainfo(self) -> WorkspaceView:
        """The awaitable twin of `info`."""
        return await self._access.aread(workspaces.find_workspace, self.id)

    @property
    def phase(self) -> Phase:
        """What it is."""
        return self.info.phase

    @property
    def address(self) -> str | None:
        """Where its program answers on its machine: `127.0.0.1:PORT`. None if it does not run, or has no port."""
        return self.info.address

    @property
    def home(self) -> str | None:
        """The folder of its home, on its machine."""
        return self.info.home

    def start(self, *, wait: Duration | bool = False) -> WorkspaceView:
        """Have its program run. Conflict while an operation is under way, which `wait` waits for."""
        refuse_to_block("the workspace")
        return self._become(DesiredState.RUNNING, wait)

    async def astart(self, *, wait: Duration | bool = False) -> WorkspaceView:
        """The awaitable twin of `start`."""
        import asyncio

        return await asyncio.to_thread(self._become, DesiredState.RUNNING, wait)

    def stop(self, *, wait: Duration | bool = False) -> WorkspaceView:
        """Have its program stopped. Its home stays."""
        refuse_to_block("the workspace")
        return self._become(DesiredState.STANDBY, wait)

    async def astop(self, *, wait: Duration | bool = False) -> WorkspaceView:
        """The awaitable twin of `stop`."""
        import asyncio

        return await asyncio.to_thread(self._become, DesiredState.STANDBY, wait)

    def archive(self, *, wait: Duration | bool = False) -> WorkspaceView:
        """Have its home moved into the archive. `start` brings it back."""
        refuse_to_block("the workspace")
        return self._become(DesiredState.ARCHIVED, wait)

    async def aarchive(self, *, wait: Duration | bool = False) -> WorkspaceView:
        """The awaitable twin of `archive`."""
        import asyncio

        return await asyncio.to_thread(self._become, DesiredState.ARCHIVED, wait)

    def delete(self, *, wait: Duration | bool = False) -> WorkspaceView:
        """Have it deleted with its home. That cannot be taken back."""
        refuse_to_block("the workspace")
        return self._become(DesiredState.DELETED, wait)

    async def adelete(self, *, wait: Duration | bool = False) -> WorkspaceView:
        """The awaitable twin of `delete`."""
        import asyncio

        return await asyncio.to_thread(self._become, DesiredState.DELETED, wait)

    def recover(self, *, empty: bool = False, from_archive: bool = False) -> WorkspaceView:
        """Let it go on after an ERROR.

        If its home is gone, or its archive is broken, only with a word: `empty` gives it a new home with nothing in it,
        `from_archive` tries its archive.
        """
        words = FLAG.check("empty", empty), FLAG.check("from_archive", from_archive)
        return self._access.write(workspaces.recover_workspace, self.id, self._access.now(), *words)

    async def arecover(self, *, empty: bool = False, from_archive: bool = False) -> WorkspaceView:
        """The awaitable twin of `recover`."""
        import asyncio

        return await asyncio.to_thread(self.recover, empty=empty, from_archive=from_archive)

    def touch(self) -> WorkspaceView:
        """Say that somebody uses it, so that it does not come to rest for a while."""
        return self._access.write(resting.touch_workspace, self.id, self._access.now())

    async def atouch(self) -> WorkspaceView:
        """The awaitable twin of `touch`."""
        return await self._access.awrite(resting.touch_workspace, self.id, await self._access.anow())

    def set(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        memo: str | None = None,
        command: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        standby_ttl: Duration | None = None,
        archive_ttl: Duration | None = None,
    ) -> WorkspaceView:
        """Change what is given. A new command, or new variables, begin with the next start. A TTL of 0 is none."""
        edits = WorkspaceEdits(
            name=None if name is None else rule_table.check("WorkspaceEdits.name", name, "name"),
            description=None if description is None else rule_table.check("WorkspaceEdits.description", description),
            memo=None if memo is None else rule_table.check("memo", memo),
            command=None if command is None else checked_command(command),
            env=None if env is None else rule_table.check("env", dict(env)),
            standby_ttl_seconds=None if standby_ttl is None else seconds_of("standby_ttl", standby_ttl),
            archive_ttl_seconds=None if archive_ttl is None else seconds_of("archive_ttl", archive_ttl),
        )
        view = self._access.write(workspaces.edit_workspace, self.id, edits, self._access.now())
        self.name = view.name
        return view

    async def aset(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        memo: str | None = None,
        command: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        standby_ttl: Duration | None = None,
        archive_ttl: Duration | None = None,
    ) -> WorkspaceView:
        """The awaitable twin of `set`."""
        import asyncio

        return await asyncio.to_thread(
            self.set,
            name=name,
            description=description,
            memo=memo,
            command=command,
            env=env,
            standby_ttl=standby_ttl,
            archive_ttl=archive_ttl,
        )

    def changes(self, *, limit: int = 50) -> list[WorkspaceChange]:
        """Who wanted what of it, and when; newest first."""
        return self._access.read(workspaces.list_workspace_changes, self.id, rule_table.check("limit", limit))

    async def achanges(self, *, limit: int = 50) -> list[WorkspaceChange]:
        """The awaitable twin of `changes`."""
        return await self._access.aread(workspaces.list_workspace_changes, self.id, rule_table.check("limit", limit))

    def wait(self, phase: str = Phase.RUNNING, *, timeout: Duration | None = None) -> WorkspaceView:
        """Wait until it is RUNNING, or another phase, with nothing under way.

        WorkspaceFailed if it is in ERROR instead, StillRunning after `timeout`. One that was waited for until it is
        DELETED is as it was at the last look.
        """
        refuse_to_block("the workspace")
        return self._reach(_check_phase(phase), _countdown(timeout))

    async def await_(self, phase: str = Phase.RUNNING, *, timeout: Duration | None = None) -> WorkspaceView:
        """The awaitable twin of `wait`."""
        import asyncio

        return await asyncio.to_thread(self._reach, _check_phase(phase), _countdown(timeout))

    def _become(self, desired: DesiredState, wait: Duration | bool) -> WorkspaceView:
        """Say what it shall be. With `wait`, ask again while an operation is under way, and wait for the phase."""
        if wait is False:
            return self._ask(desired)
        left = _countdown(None if wait is True else wait)
        for pause in _pauses():
            view = self.info
            is_final = view.desired_state is DesiredState.DELETED
            if view.desired_state is desired:
                return self._reach(Phase(desired), left, view)
            if view.operation is Operation.NONE or is_final:
                try:
                    return self._reach(Phase(desired), left, self._ask(desired))
                except Conflict:  # An operation has begun meanwhile.
                    if is_final:
                        raise
            _refuse_late(view, Phase(desired), left)
            time.sleep(min(pause, left.seconds()))
        raise AssertionError

    def _ask(self, desired: DesiredState) -> WorkspaceView:
        return self._access.write(
            workspaces.set_desired_state, self.id, desired, self._access.now(), trigger=what_triggers()
        )

    def _reach(self, wanted: Phase, left: Countdown, last: WorkspaceView | None = None) -> WorkspaceView:
        """Wait for a phase. `last` is how it was when it was last seen."""
        for pause in _pauses():
            try:
                last = self.info
            except NotFound:
                if wanted is Phase.DELETED and last is not None:
                    return last
                raise
            if last.phase is wanted and last.operation is Operation.NONE:
                return last
            # One without a reason was recovered, and not looked at since.
            if last.phase is Phase.ERROR and last.error_reason is not None and not last.steps:
                raise WorkspaceFailed(failure_of(last))
            _refuse_late(last, wanted, left)
            time.sleep(min(pause, left.seconds()))
        raise AssertionError


def failure_of(view: WorkspaceView) -> str:
    """Why a workspace is in ERROR, and what to do."""
    name = ConditionName.ARCHIVE if view.home_ctx is None and view.archive_key is not None else ConditionName.VOLUME
    part = view.conditions.get(name)
    is_lost = (view.home_ctx, view.archive_key) != (None, None) and part is not None and part.status is False
    why = str(view.error_reason or Phase.ERROR) + (f": {part.message}" if is_lost and part is not None else "")
    return (
        f"workspace {view.name!r} is in ERROR: {why}; see: holdfast workspace logs {view.name}, and then "
        f"holdfast workspace recover {view.name}"
    )


def checked_command(command: Sequence[str]) -> tuple[str, ...]:
    """The words of a command, given as a program gives them."""
    if isinstance(command, str):
        raise InvalidInput(f"command {command!r} is one text: give a list, each argument by itself")
    return tuple(check_all(rule_table.RULES["NewWorkspace.command"], "command", command))


def seconds_of(what: str, ttl: Duration) -> int:
    """A TTL in seconds, as a program gives it."""
    return check_ttl(what, round(DURATION.millis(what, ttl) / 1000))


def refuse_embedded(engine: Engine) -> None:
    """Refuse a change of a workspace by a program with a database of its own, where nobody looks after it."""
    if not engine.is_remote:
        raise InvalidInput(
            f"{engine.title} is used by this program alone, and workspaces are looked after by a daemon; start one "
            "with `holdfast up -d`, and write Holdfast() to use it"
        )


def _refuse_late(view: WorkspaceView, wanted: Phase, left: Countdown) -> None:
    if left.seconds() == 0:
        doing = "" if view.operation is Operation.NONE else f", {view.operation} (job {view.op_job_number})"
        raise StillRunning(f"workspace {view.name!r} is {view.phase}{doing}, not yet {wanted}")


def _check_phase(phase: str) -> Phase:
    return Phase(ChoiceRule(Phase).check("phase", phase))


def _countdown(timeout: Duration | None) -> Countdown:
    return Countdown(None if timeout is None else DURATION.millis("timeout", timeout) / 1000)


def _pauses() -> Iterator[float]:
    """The seconds between looks: first short ones."""
    pause = FIRST_LOOK_S
    while True:
        yield pause
        pause = min(pause * 1.5, LONGEST_PAUSE_S)
