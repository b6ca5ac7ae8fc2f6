"""What people do with workspaces: make one, look at them, and say what one shall be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from holdfast.core.errors import Conflict, InvalidInput, NotFound, TooManyRunning
from holdfast.core.job import Millis
from holdfast.core.jobs import trigger as triggers
from holdfast.core.messages.workspaces import NewWorkspace, WorkspaceChange, WorkspaceEdits, WorkspaceView
from holdfast.core.rules import limits as shortened
from holdfast.core.rules.limits import MAX_INT
from holdfast.core.settings import rule_table
from holdfast.core.settings.workspace_rules import check_ttl
from holdfast.core.tasks import command
from holdfast.core.workspaces.conditions import LOST_ARCHIVES, ConditionName
from holdfast.core.workspaces.states import DesiredState, ErrorReason, Operation, Phase
from holdfast.core.workspaces.workspace import LOCAL_USER, InstanceBackend, StorageBackend, WorkspaceLimits
from holdfast.store.engine import Tx
from holdfast.store.scripts.access import users
from holdfast.store.scripts.workspaces.workspace_rows import NamedWorkspaceRow
from holdfast.store.statements import sql
from holdfast.store.topics import WORKSPACES

USUAL_LIMITS = WorkspaceLimits()
ACCESS_ONCE_IN_MS: Millis = 60_000
THERE = (InstanceBackend.LOCAL_PROCESS, StorageBackend.LOCAL_DIR)


def create_workspace(
    tx: Tx,
    workspace: NewWorkspace,
    now: Millis,
    limits: WorkspaceLimits = USUAL_LIMITS,
    trigger: str | None = None,
    repeated: bool = False,
) -> WorkspaceView:
    """Store a workspace on the machine of the daemon that is asked. Its controller makes it what it shall be."""
    known = tx.one(sql.workspace_by_id, NamedWorkspaceRow, id=workspace.id)
    if known is not None and not repeated:
        raise Conflict(
            f"there is a workspace {workspace.id} already; if this is a repeat, say so, otherwise make another id"
        )
    if known is not None:
        return known.to_view()
    _check(workspace)
    _check_wish(workspace.name, workspace.desired_state, limits)
    if tx.one(sql.workspace_by_name, NamedWorkspaceRow, name=workspace.name) is not None:
        raise Conflict(f"there is a workspace {workspace.name!r} already; delete it first, or choose another name")
    owner = _user_of(tx, trigger)
    if workspace.desired_state is DesiredState.RUNNING:
        _check_limits(tx, workspace.id, owner, limits)
    tx.run(
        sql.insert_workspace,
        id=workspace.id,
        owner_user_id=owner,
        name=workspace.name,
        description=workspace.description,
        image_ref=workspace.image_ref,
        instance_backend=workspace.instance_backend,
        storage_backend=workspace.storage_backend,
        home_store_key=f"ws-{workspace.id}-home",
        desired_state=workspace.desired_state,
        standby_ttl_seconds=workspace.standby_ttl_seconds,
        archive_ttl_seconds=workspace.archive_ttl_seconds,
        node=tx.here(),
        command=msgspec.json.encode(workspace.command).decode(),
        env=msgspec.json.encode(workspace.env).decode(),
        now=now,
    )
    _note_change(tx, workspace.id, owner, owner, None, workspace.desired_state, trigger, now)
    return find_workspace(tx, workspace.id)


def list_workspaces(tx: Tx, limits: WorkspaceLimits = USUAL_LIMITS) -> list[WorkspaceView]:
    """Every workspace, by name."""
    can_archive = limits.no_archive is None
    return [row.to_view(can_archive=can_archive) for row in tx.all(sql.list_workspaces, NamedWorkspaceRow)]


def find_workspace(tx: Tx, ref: str, limits: WorkspaceLimits = USUAL_LIMITS) -> WorkspaceView:
    """The workspace with this name or id, or NotFound."""
    return _find(tx, ref).to_view(can_archive=limits.no_archive is None)


def edit_workspace(tx: Tx, ref: str, changes: WorkspaceEdits, now: Millis) -> WorkspaceView:
    """Change what a workspace is called, what runs in it from the next start on, and when it comes to rest."""
    row = _find(tx, ref)
    known: dict[str, Any] = {
        "name": row.name,
        "description": row.description,
        "memo": row.memo,
        "command": row.words,
        "env": row.variables,
        "standby_ttl_seconds": row.standby_ttl_seconds,
        "archive_ttl_seconds": row.archive_ttl_seconds,
    }
    asked = {name: value for name, value in structs.asdict(changes).items() if value is not None}
    new = known | asked
    _check_values(new["name"], new["command"], new["env"], new["standby_ttl_seconds"], new["archive_ttl_seconds"])
    if new["name"] != row.name and tx.one(sql.workspace_by_name, NamedWorkspaceRow, name=new["name"]) is not None:
        raise Conflict(f"there is a workspace {new['name']!r} already; choose another name")
    texts = {name: msgspec.json.encode(new.pop(name)).decode() for name in ("command", "env")}
    tx.run(sql.edit_workspace, id=row.id, now=now, **new, **texts)
    tx.changes.topics.add(WORKSPACES)
    return find_workspace(tx, row.id)


def set_desired_state(
    tx: Tx,
    ref: str,
    desired_state: DesiredState,
    now: Millis,
    limits: WorkspaceLimits = USUAL_LIMITS,
    trigger: str | None = None,
) -> WorkspaceView:
    """Say what a workspace shall be. Conflict while an operation runs, which names its job."""
    row = _find(tx, ref)
    before = DesiredState(row.desired_state)
    if desired_state is DesiredState.RUNNING:
        tx.run(sql.note_access, id=row.id, now=now, before=now - ACCESS_ONCE_IN_MS)
    if desired_state is before:
        return find_workspace(tx, row.id, limits)
    _check_wish(row.name, desired_state, limits)
    if before is DesiredState.DELETED:
        raise Conflict(f"workspace {row.name!r} is being deleted, which cannot be taken back")
    if row.operation != Operation.NONE:
        raise Conflict(
            f"workspace {row.name!r} is {row.operation} (job {row.op_job_number}); wait for the end of that, and ask "
            "again"
        )
    if desired_state is DesiredState.RUNNING:
        _check_limits(tx, row.id, row.owner_user_id, limits)
    tx.run(sql.set_desired_state, id=row.id, desired_state=desired_state, now=now)
    _note_change(tx, row.id, row.owner_user_id, _user_of(tx, trigger), before, desired_state, trigger, now)
    return find_workspace(tx, row.id)


def recover_workspace(tx: Tx, ref: str, now: Millis, empty: bool = False, from_archive: bool = False) -> WorkspaceView:
    """Let a workspace in ERROR go on.

    If what it had is gone, a person decides: `empty` gives it a new home with nothing in it, `from_archive` tries its
    archive (once more). A broken archive beside a home that is well is forgotten.
    """
    row = _find(tx, ref)
    if empty and from_archive:
        raise InvalidInput("empty and from_archive contradict each other: give one of them")
    if row.phase != Phase.ERROR:
        raise Conflict(f"workspace {row.name!r} is {row.phase}, not {Phase.ERROR}; there is nothing to recover")
    loss = _loss(row)
    if loss is not None and not (empty or from_archive):
        raise Conflict(loss)
    if loss is None and ((empty and row.home_ctx is not None) or from_archive):
        raise Conflict(f"nothing of workspace {row.name!r} is gone, so recover it without empty and from_archive")
    if from_archive and row.archive_key is None:
        raise Conflict(f"workspace {row.name!r} has no archive; recover it with empty = true (--empty)")
    if loss is not None and row.home_ctx is not None:
        tx.run(sql.set_home, id=row.id, home_ctx=None, now=now)
    if row.archive_key is not None and (empty or (loss is None and _has_lost_archive(row))):
        tx.run(sql.set_archive, id=row.id, archive_key=None, now=now)
    if (row.error_reason, row.error_count) != (None, 0):
        tx.run(sql.set_workspace_error, id=row.id, error_reason=None, error_count=0, now=now)
    tx.changes.topics.add(WORKSPACES)
    return find_workspace(tx, row.id)


def _loss(row: NamedWorkspaceRow) -> str | None:
    """What of a workspace is gone, and which ways there are. None: it has what it needs."""
    volume = row.known_conditions.get(ConditionName.VOLUME)
    home = row.home
    if home is not None and (volume is None or volume.status is False):
        said = f"the home of workspace {row.name!r} is gone; put it back to {home.path}, or recover with "
    elif home is None and _has_lost_archive(row):
        said = f"the archive of workspace {row.name!r} is broken or gone, and it has no home; recover with "
    else:
        return None
    ways = "empty = true (holdfast workspace recover --empty): then it begins anew with an empty home"
    if row.archive_key is None:
        return said + ways
    archive = row.known_conditions.get(ConditionName.ARCHIVE)
    about = row.archive_key if archive is None else archive.message
    return f"{said}from_archive = true (--from-archive), which tries the archive: {about}; or with {ways}"


def _has_lost_archive(row: NamedWorkspaceRow) -> bool:
    archive = row.known_conditions.get(ConditionName.ARCHIVE)
    is_seen = archive is not None and archive.reason in LOST_ARCHIVES
    return row.archive_key is not None and (is_seen or row.error_reason == ErrorReason.ARCHIVE_CORRUPTED)


def list_workspace_changes(tx: Tx, ref: str, limit: int = 50, below: int | None = None) -> list[WorkspaceChange]:
    """Who wanted what of a workspace, and when; newest first. With `below`, those with a smaller number."""
    row = _find(tx, ref)
    return tx.all(
        sql.list_workspace_changes,
        WorkspaceChange,
        workspace_id=row.id,
        below=MAX_INT if below is None else below,
        limit=limit,
    )


def has_workspaces(tx: Tx, node: str) -> bool:
    """Whether there are workspaces on a machine."""
    return tx.value(sql.any_workspace, node=node) is not None


def _find(tx: Tx, ref: str) -> NamedWorkspaceRow:
    # By the id first: a handle means the same workspace for good, whatever others are called.
    found = tx.one(sql.workspace_by_id, NamedWorkspaceRow, id=ref) or tx.one(
        sql.workspace_by_name, NamedWorkspaceRow, name=ref
    )
    if found is None or found.deleted_at is not None:
        raise NotFound(f"there is no workspace {shortened.shown(ref)}; see: holdfast workspace ls")
    return found


def _check_values(name: str, words: Sequence[str], env: dict[str, str], standby_ttl: int, archive_ttl: int) -> None:
    """Refuse what no workspace may be called, run, or have."""
    rule_table.check("NewWorkspace.name", name, "name")
    if rule_table.UUID.allows(name):
        raise InvalidInput(f"name {name!r} is not valid: it would be taken for an id; choose another one")
    if not words:
        raise InvalidInput("a workspace needs a command: the program that runs in it, and its arguments")
    command.check_command({"argv": list(words), "env": env})
    check_ttl("standby_ttl", standby_ttl)
    check_ttl("archive_ttl", archive_ttl)


def _check(workspace: NewWorkspace) -> None:
    ttls = workspace.standby_ttl_seconds, workspace.archive_ttl_seconds
    _check_values(workspace.name, workspace.command, workspace.env, *ttls)
    for backend in (workspace.instance_backend, workspace.storage_backend):
        if backend not in THERE:
            raise InvalidInput(f"{backend} is not there yet: use {THERE[0]} with {THERE[1]}")
    if workspace.desired_state is DesiredState.DELETED:
        raise InvalidInput("a workspace cannot be made to be DELETED; choose RUNNING or STANDBY")


def _check_wish(name: str, desired: DesiredState, limits: WorkspaceLimits) -> None:
    if desired is DesiredState.ARCHIVED and limits.no_archive is not None:
        raise InvalidInput(f"workspace {name!r} cannot be ARCHIVED: {limits.no_archive}")


def _check_limits(tx: Tx, workspace_id: str, owner: str, limits: WorkspaceLimits) -> None:
    own = _running(tx, workspace_id, owner)
    if len(own) >= limits.per_user:
        raise TooManyRunning(
            f"{len(own)} of your workspaces are or shall be RUNNING, and at most {limits.per_user} may: "
            f"{', '.join(own)}; stop one, or raise per_user in [workspaces] of holdfast.toml"
        )
    every = _running(tx, workspace_id, None)
    if len(every) >= limits.in_all:
        raise TooManyRunning(
            f"{len(every)} workspaces are or shall be RUNNING, and at most {limits.in_all} may: {', '.join(every)}; "
            "stop one, or raise in_all in [workspaces] of holdfast.toml"
        )


def _running(tx: Tx, besides: str, owner: str | None) -> list[str]:
    return tx.all(sql.running_workspaces, str, owner_user_id=owner, besides=besides)


def _user_of(tx: Tx, trigger: str | None) -> str:
    """The id of the user who asks."""
    name = triggers.user_of(trigger)
    return LOCAL_USER if name is None else users.find_id(tx, name) or LOCAL_USER


def _note_change(
    tx: Tx,
    workspace_id: str,
    owner: str,
    user: str,
    before: DesiredState | None,
    after: DesiredState,
    trigger: str | None,
    now: Millis,
) -> None:
    tx.run(
        sql.insert_workspace_change,
        workspace_id=workspace_id,
        from_state=before,
        to_state=after,
        trigger=trigger,
        why="user" if user == owner else "admin",
        now=now,
    )
    tx.changes.topics.add(WORKSPACES)
