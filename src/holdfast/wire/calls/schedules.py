"""Calls about templates, and the schedules that enqueue from them."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import declaring, firing, schedules, templates
from holdfast.wire import preparation
from holdfast.wire.call import ApiCall

CALLS: tuple[ApiCall, ...] = (
    ApiCall(
        Role.OPERATE,
        "templates",
        "POST",
        "/v1/templates",
        templates.put_template,
        status=201,
        prepare=preparation.template,
    ),
    ApiCall(Role.READ, "templates", "GET", "/v1/templates", templates.list_templates),
    ApiCall(Role.READ, "templates", "GET", "/v1/templates/{ref}", templates.find_template),
    ApiCall(
        Role.OPERATE,
        "templates",
        "PUT",
        "/v1/templates/{ref}",
        templates.edit_template,
        prepare=preparation.changed_template,
    ),
    ApiCall(Role.OPERATE, "templates", "POST", "/v1/templates/{ref}/archive", templates.archive_template),
    ApiCall(
        Role.OPERATE,
        "templates",
        "POST",
        "/v1/templates/{ref}/jobs",
        templates.enqueue_from_template,
        status=201,
        prepare=preparation.job_of_template,
        is_logged=False,
    ),
    ApiCall(
        Role.OPERATE,
        "schedules",
        "POST",
        "/v1/schedules",
        schedules.put_schedule,
        status=201,
        prepare=preparation.schedule,
    ),
    ApiCall(Role.READ, "schedules", "GET", "/v1/schedules", schedules.list_schedules),
    ApiCall(
        Role.OPERATE,
        "schedules",
        "POST",
        "/v1/scheduled-tasks",
        declaring.schedule_task,
        status=201,
        prepare=preparation.template_and_schedule,
    ),
    ApiCall(
        Role.OPERATE,
        "schedules",
        "POST",
        "/v1/declared-schedules",
        declaring.declare_schedules,
        prepare=preparation.declared_schedules,
    ),
    ApiCall(Role.READ, "schedules", "GET", "/v1/schedules/{ref}", schedules.find_schedule),
    ApiCall(
        Role.OPERATE,
        "schedules",
        "PUT",
        "/v1/schedules/{ref}",
        schedules.edit_schedule,
        prepare=preparation.changed_schedule,
    ),
    ApiCall(Role.OPERATE, "schedules", "DELETE", "/v1/schedules/{ref}", schedules.delete_schedule),
    ApiCall(Role.OPERATE, "schedules", "POST", "/v1/schedules/{ref}/pause", schedules.pause_schedule),
    ApiCall(Role.OPERATE, "schedules", "POST", "/v1/schedules/{ref}/resume", schedules.resume_schedule),
    ApiCall(Role.OPERATE, "schedules", "POST", "/v1/schedules/{ref}/run", firing.run_schedule_now, status=201),
    ApiCall(Role.READ, "schedules", "GET", "/v1/schedules/{ref}/preview", schedules.preview_schedule),
    ApiCall(Role.READ, "schedules", "GET", "/v1/cron/preview", schedules.preview_cron),
)
