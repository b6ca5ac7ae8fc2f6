"""Groups of jobs: make one, judge one."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.errors import NotFound
from holdfast.core.group import GroupMode, GroupStatus, OnFailure, group_status
from holdfast.core.job import JobId, Millis, StateName
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

LAST = "\U0010ffff"  # behind every id


class Group(Struct, frozen=True):
    """A row of `job_groups`."""

    id: str
    name: str | None
    mode: str
    on_failure: str
    created_at: Millis


class GroupView(Struct, frozen=True):
    """A group with the last link of each member."""

    group: Group
    status: GroupStatus
    members: dict[JobId, StateName]


class GroupPage(Struct, frozen=True):
    """Some groups, newest first, and the cursor of the next page if there is one."""

    groups: list[Group]
    cursor: str | None


class _Link(Struct, frozen=True):
    id: str
    state: str


def create_group(tx: Tx, group_id: str, name: str | None, mode: GroupMode, on_failure: OnFailure, now: Millis) -> str:
    """Make an empty group; jobs join it when they are enqueued."""
    tx.run(sql.insert_group, id=group_id, name=name, mode=mode, on_failure=on_failure, now=now)
    return group_id


def list_groups(tx: Tx, limit: int = 50, cursor: str | None = None) -> GroupPage:
    """A page of groups, newest first."""
    groups = tx.all(sql.list_groups, Group, below=LAST if cursor is None else cursor, limit=limit + 1)
    return GroupPage(groups[:limit], groups[limit - 1].id if len(groups) > limit else None)


def find_group(tx: Tx, group_id: str) -> Group:
    """The group, or NotFound."""
    group = tx.one(sql.group_of_id, Group, id=group_id)
    if group is None:
        raise NotFound(f"there is no group {group_id!r}; create it first")
    return group


def view_group(tx: Tx, group_id: str) -> GroupView:
    """A group and how it stands, judged on last links."""
    group = find_group(tx, group_id)
    members = {link.id: StateName(link.state) for link in tx.all(sql.group_last_links, _Link, group_id=group_id)}
    return GroupView(group, group_status(members.values()), members)
