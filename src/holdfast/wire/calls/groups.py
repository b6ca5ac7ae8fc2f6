"""Calls about groups of jobs."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import cancel, group_jobs, groups
from holdfast.wire import preparation
from holdfast.wire.call import ApiCall, never

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.OPERATE, "groups", "POST", "/v1/groups", groups.create_group, status=201),
    ApiCall(Role.READ, "groups", "GET", "/v1/groups", groups.list_groups),
    ApiCall(Role.READ, "groups", "GET", "/v1/groups/{group_id}", groups.view_group),
    ApiCall(
        Role.OPERATE,
        "groups",
        "PUT",
        "/v1/groups/{group_id}",
        group_jobs.enqueue_group,
        status=201,
        prepare=preparation.jobs,
        is_logged=False,
    ),
    ApiCall(Role.READ, "groups", "GET", "/v1/groups/{group_id}/head", groups.head_of_group),
    ApiCall(Role.READ, "groups", "GET", "/v1/groups/{group_id}/jobs", groups.members_of_group),
    ApiCall(Role.OPERATE, "groups", "POST", "/v1/groups/{group_id}/cancel", cancel.cancel_group),
    ApiCall(
        Role.OPERATE,
        "groups",
        "POST",
        "/v1/groups/{group_id}/retry",
        group_jobs.retry_group,
        status=201,
        is_repeatable=never,
    ),
)
