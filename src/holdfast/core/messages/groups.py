"""Groups and their members."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import JobId, Millis, StateName
from holdfast.core.jobs.stored_job import Job
from holdfast.core.values.group import GroupStatus


class Group(Struct, frozen=True):
    """A row of `job_groups`. `reopened_at`: when members of it were last retried after all had ended."""

    id: str
    name: str | None
    mode: str
    on_failure: str
    created_at: Millis
    reopened_at: Millis | None = None


class GroupHead(Struct, frozen=True):
    """A group without its members, and whether one of them has not ended."""

    group: Group
    is_live: bool


class GroupPage(Struct, frozen=True):
    """Some groups, newest first, and the cursor of the next page if there is one."""

    groups: list[Group]
    cursor: str | None


class GroupView(Struct, frozen=True):
    """A group with the last link of each member, how many are in each state, and how far the whole is, from 0 to 1."""

    group: Group
    status: GroupStatus
    members: dict[JobId, StateName]
    counts: dict[StateName, int] = {}
    progress: float = 0.0


class MemberPage(Struct, frozen=True):
    """Some members of a group, in order and each as its last link, and the cursor of the next page if there is one."""

    jobs: list[Job]
    cursor: str | None
