"""Groups of jobs: make one, find one, and read how it stands."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from holdfast.core.errors import NotFound
from holdfast.core.job import JobId, Millis, StateName
from holdfast.core.messages.groups import Group, GroupHead, GroupPage, GroupView, MemberPage
from holdfast.core.values.group import GroupMode, OnFailure, group_progress, group_status
from holdfast.store.engine import Tx
from holdfast.store.scripts.reading import pages, read_jobs
from holdfast.store.statements import sql

LAST = "\U0010ffff"  # behind every id


class _MemberProgress(Struct, frozen=True):
    id: str
    state: str
    progress: float


class Member(Struct, frozen=True, gc=False):
    """The number of the last link of a member, and that of its first one."""

    number: int
    root: int


def create_group(tx: Tx, group_id: str, name: str | None, mode: GroupMode, on_failure: OnFailure, now: Millis) -> str:
    """Make an empty group. Jobs join it when they are enqueued."""
    tx.run(sql.insert_group, id=group_id, name=name, mode=mode, on_failure=on_failure, now=now)
    return group_id


def list_groups(tx: Tx, limit: int = 50, cursor: str | None = None) -> GroupPage:
    """A page of groups, newest first."""
    groups = tx.all(sql.list_groups, Group, below=LAST if cursor is None else cursor, limit=limit + 1)
    return GroupPage(groups[:limit], groups[limit - 1].id if len(groups) > limit else None)


def find_group(tx: Tx, group_id: str) -> Group:
    """The group with this id, or NotFound."""
    group = tx.one(sql.group_of_id, Group, id=group_id)
    if group is None:
        raise NotFound(f"there is no group {group_id!r}; create it first")
    return group


def look_up_group(tx: Tx, group_id: str) -> Group:
    """A group by its id or its name. Of several with one name, the newest."""
    named = tx.one(sql.group_of_id, Group, id=group_id) or tx.one(sql.group_of_name, Group, name=group_id)
    if named is None:
        raise NotFound(f"there is no group {group_id!r}; create it first")
    return named


def reopen_group(tx: Tx, group_id: str, now: Millis) -> None:
    """Note that members of an ended group are about to run again, so that its next end is told again."""
    tx.run(sql.reopen_group, group_id=group_id, now=now)


def last_in_sequence(tx: Tx, group_id: str) -> JobId | None:
    """The member of a sequential group whose turn comes last; None if all have ended."""
    found: JobId | None = tx.value(sql.last_in_sequence, group_id=group_id)
    return found


def head_of_group(tx: Tx, group_id: str) -> GroupHead:
    """A group by its id or its name, and whether it still goes on. The cost does not grow with its members."""
    group = look_up_group(tx, group_id)
    return GroupHead(group, bool(tx.value(sql.group_is_live, group_id=group.id)))


def view_group(tx: Tx, group_id: str) -> GroupView:
    """A group, by its id or its name, with its status. The last links of its members count."""
    group = look_up_group(tx, group_id)
    links = tx.all(sql.group_last_links, _MemberProgress, group_id=group.id)
    members = {link.id: StateName(link.state) for link in links}
    progress = group_progress((StateName(link.state), link.progress) for link in links)
    return GroupView(group, group_status(members.values()), members, dict(Counter(members.values())), progress)


def members_of_group(
    tx: Tx, group_id: str, limit: int = 100, cursor: str | None = None, payloads: bool = False
) -> MemberPage:
    """A page of the members of a group, by its id or its name, in the order in which they joined.

    It is bounded as every list of jobs.
    """
    group = look_up_group(tx, group_id)
    above = 0 if cursor is None else read_jobs.read_cursor(cursor)
    members = tx.all(sql.group_members, Member, group_id=group.id, above=above, limit=limit + 1)
    page = pages.read_page(tx, [member.number for member in members[:limit]], payloads=payloads)
    more = len(page) < len(members)
    return MemberPage(page, read_jobs.make_cursor(members[len(page) - 1].root) if more else None)
