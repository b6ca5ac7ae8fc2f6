"""Every call of the HTTP API. Each runs one transaction script.

The signature of the script is the definition: its arguments are the path, query and body of the request, and what it
returns is the response. `now` is the time of the server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core.access import Role
from holdfast.observe.sla import Latency
from holdfast.store.script_names import (
    bulk,
    cancel,
    changed_files,
    conditions,
    dead_letter_rows,
    dead_letters,
    declared_tasks,
    declaring,
    deliveries,
    doctor,
    enqueue,
    events,
    exchange,
    finish,
    firing,
    full_name,
    group_jobs,
    groups,
    machines,
    maintenance,
    nodes,
    output,
    predecessors,
    progress,
    queues,
    read_jobs,
    reorder,
    reservations,
    reserve,
    reserved,
    retention,
    retry,
    schedules,
    sessions,
    stats,
    templates,
    tenants,
    tokens,
    users,
    watches,
    webhooks,
    why,
    workers,
)
from holdfast.wire import preparation
from holdfast.wire.call import WORKERS, ApiCall, Guard, Values, never
from holdfast.wire.special_calls import Hello

__all__ = ["CALLS", "PROTOCOL", "ApiCall", "Hello", "call_of"]

PROTOCOL = 2

READ, OPERATE, ADMIN = Role.READ, Role.OPERATE, Role.ADMIN


def _retries_nothing(values: Values) -> bool:
    return values.get("action") != "retry" or bool(values.get("dry_run"))


def _has_new_id(values: Values) -> bool:
    return values.get("new_id") is not None


# A call is not repeatable if its effect may be undone or used up meanwhile: a retried job may have failed again, what
# was sent may have arrived, a token is shown once. After a lost exchange, a worker lists the runs that it has.

CALLS: tuple[ApiCall, ...] = (
    ApiCall(
        OPERATE,
        "jobs",
        "POST",
        "/v1/jobs",
        enqueue.enqueue,
        promise=Latency.ENQUEUE,
        status=201,
        prepare=preparation.jobs,
        is_logged=False,
    ),
    ApiCall(READ, "jobs", "GET", "/v1/jobs", read_jobs.jobs_like),
    ApiCall(READ, "jobs", "POST", "/v1/jobs/search", read_jobs.list_jobs, reads=True),
    ApiCall(OPERATE, "jobs", "POST", "/v1/jobs/bulk", bulk.bulk, opens_gates=True, is_repeatable=_retries_nothing),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{ref}", read_jobs.find_job, promise=Latency.LOOK),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/last", read_jobs.find_last),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/runs", read_jobs.runs_of),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/why", why.why),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/retries", retry.retries_of),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/predecessors", predecessors.predecessors),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/conditions", conditions.conditions_of),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/files", changed_files.changed_files),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/log", output.read_log),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/log/tail", output.tail_log),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/artifacts", output.list_artifacts),
    ApiCall(READ, "jobs", "GET", "/v1/jobs/{job_id}/artifact", output.read_artifact),
    ApiCall(OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/cancel", cancel.cancel_job),
    ApiCall(OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/retry", retry.retry_job, status=201, is_repeatable=_has_new_id),
    ApiCall(OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/move-to-top", reorder.move_to_top),
    ApiCall(OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/move-to-bottom", reorder.move_to_bottom),
    ApiCall(OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/move-before", reorder.move_before),
    ApiCall(OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/move-after", reorder.move_after),
    ApiCall(OPERATE, "jobs", "PUT", "/v1/jobs/{job_id}/priority", reorder.set_priority),
    ApiCall(OPERATE, "jobs", "PUT", "/v1/jobs/{job_id}/node", reorder.tie_job),
    ApiCall(OPERATE, "jobs", "PUT", "/v1/jobs/{job_id}/payload", reorder.edit_payload, prepare=preparation.payload),
    ApiCall(OPERATE, "jobs", "POST", "/v1/tags/{tag}/cancel", cancel.cancel_tag),
    ApiCall(READ, "dead letters", "GET", "/v1/dead-letters", dead_letters.list_dead_letters),
    ApiCall(READ, "dead letters", "GET", "/v1/dead-letters/{fingerprint}", dead_letters.find_dead_letters),
    ApiCall(OPERATE, "dead letters", "POST", "/v1/dead-letters/{fingerprint}/retry", dead_letters.retry_dead_letters),
    ApiCall(
        OPERATE, "dead letters", "POST", "/v1/dead-letters/{fingerprint}/discard", dead_letters.discard_dead_letters
    ),
    ApiCall(READ, "dead letters", "GET", "/v1/jobs/{job_id}/letter", dead_letter_rows.letter_of),
    ApiCall(READ, "runs", "GET", "/v1/runs/{run_id}", read_jobs.find_run),
    ApiCall(READ, "runs", "GET", "/v1/runs/{run_id}/artifacts", output.artifacts_of_run),
    ApiCall(
        OPERATE, "templates", "POST", "/v1/templates", templates.put_template, status=201, prepare=preparation.template
    ),
    ApiCall(READ, "templates", "GET", "/v1/templates", templates.list_templates),
    ApiCall(READ, "templates", "GET", "/v1/templates/{ref}", templates.find_template),
    ApiCall(
        OPERATE,
        "templates",
        "PUT",
        "/v1/templates/{ref}",
        templates.edit_template,
        prepare=preparation.changed_template,
    ),
    ApiCall(OPERATE, "templates", "POST", "/v1/templates/{ref}/archive", templates.archive_template),
    ApiCall(
        OPERATE,
        "templates",
        "POST",
        "/v1/templates/{ref}/jobs",
        templates.enqueue_from_template,
        status=201,
        prepare=preparation.job_of_template,
        is_logged=False,
    ),
    ApiCall(
        OPERATE, "schedules", "POST", "/v1/schedules", schedules.put_schedule, status=201, prepare=preparation.schedule
    ),
    ApiCall(READ, "schedules", "GET", "/v1/schedules", schedules.list_schedules),
    ApiCall(
        OPERATE,
        "schedules",
        "POST",
        "/v1/scheduled-tasks",
        declaring.schedule_task,
        status=201,
        prepare=preparation.template_and_schedule,
    ),
    ApiCall(
        OPERATE,
        "schedules",
        "POST",
        "/v1/declared-schedules",
        declaring.declare_schedules,
        prepare=preparation.declared_schedules,
    ),
    ApiCall(READ, "schedules", "GET", "/v1/schedules/{ref}", schedules.find_schedule),
    ApiCall(
        OPERATE,
        "schedules",
        "PUT",
        "/v1/schedules/{ref}",
        schedules.edit_schedule,
        prepare=preparation.changed_schedule,
    ),
    ApiCall(OPERATE, "schedules", "DELETE", "/v1/schedules/{ref}", schedules.delete_schedule),
    ApiCall(OPERATE, "schedules", "POST", "/v1/schedules/{ref}/pause", schedules.pause_schedule),
    ApiCall(OPERATE, "schedules", "POST", "/v1/schedules/{ref}/resume", schedules.resume_schedule),
    ApiCall(OPERATE, "schedules", "POST", "/v1/schedules/{ref}/run", firing.run_schedule_now, status=201),
    ApiCall(READ, "schedules", "GET", "/v1/schedules/{ref}/preview", schedules.preview_schedule),
    ApiCall(READ, "schedules", "GET", "/v1/cron/preview", schedules.preview_cron),
    ApiCall(READ, "system", "GET", "/v1/stats", stats.stats, promise=Latency.LOOK),
    ApiCall(READ, "system", "GET", "/v1/doctor", doctor.examine),
    ApiCall(READ, "system", "GET", "/v1/reserved", reserved.list_reserved),
    ApiCall(ADMIN, "system", "POST", "/v1/bench/jobs", retention.enqueue_measured, status=201),
    ApiCall(ADMIN, "system", "POST", "/v1/bench/forget", retention.forget_measured),
    ApiCall(READ, "maintenance", "GET", "/v1/maintenance", maintenance.list_chores),
    ApiCall(ADMIN, "maintenance", "POST", "/v1/maintenance/{chore}", maintenance.maintain, status=201),
    ApiCall(OPERATE, "groups", "POST", "/v1/groups", groups.create_group, status=201),
    ApiCall(READ, "groups", "GET", "/v1/groups", groups.list_groups),
    ApiCall(READ, "groups", "GET", "/v1/groups/{group_id}", groups.view_group),
    ApiCall(
        OPERATE,
        "groups",
        "PUT",
        "/v1/groups/{group_id}",
        group_jobs.enqueue_group,
        status=201,
        prepare=preparation.jobs,
        is_logged=False,
    ),
    ApiCall(READ, "groups", "GET", "/v1/groups/{group_id}/head", groups.head_of_group),
    ApiCall(READ, "groups", "GET", "/v1/groups/{group_id}/jobs", groups.members_of_group),
    ApiCall(OPERATE, "groups", "POST", "/v1/groups/{group_id}/cancel", cancel.cancel_group),
    ApiCall(
        OPERATE,
        "groups",
        "POST",
        "/v1/groups/{group_id}/retry",
        group_jobs.retry_group,
        status=201,
        is_repeatable=never,
    ),
    ApiCall(OPERATE, "events", "POST", "/v1/events", events.emit, status=201, is_logged=False),
    ApiCall(READ, "events", "GET", "/v1/events", events.list_events),
    ApiCall(READ, "events", "GET", "/v1/events/{event_id}", events.find_event),
    ApiCall(ADMIN, "webhooks", "POST", "/v1/webhooks", webhooks.put_webhook, status=201, guard=Guard.WEBHOOK_TARGET),
    ApiCall(READ, "webhooks", "GET", "/v1/webhooks", webhooks.list_webhooks),
    ApiCall(READ, "webhooks", "GET", "/v1/webhooks/{ref}", webhooks.find_webhook),
    ApiCall(ADMIN, "webhooks", "PUT", "/v1/webhooks/{ref}", webhooks.edit_webhook, guard=Guard.WEBHOOK_TARGET),
    ApiCall(ADMIN, "webhooks", "DELETE", "/v1/webhooks/{ref}", webhooks.delete_webhook),
    ApiCall(ADMIN, "webhooks", "POST", "/v1/webhooks/{ref}/pause", webhooks.pause_webhook),
    ApiCall(ADMIN, "webhooks", "POST", "/v1/webhooks/{ref}/resume", webhooks.resume_webhook),
    ApiCall(
        ADMIN, "webhooks", "POST", "/v1/webhooks/{ref}/test", deliveries.send_test, status=201, is_repeatable=never
    ),
    ApiCall(READ, "webhooks", "GET", "/v1/webhooks/{ref}/deliveries", deliveries.list_deliveries),
    ApiCall(ADMIN, "webhooks", "POST", "/v1/webhooks/{ref}/redeliver", deliveries.redeliver, is_repeatable=never),
    ApiCall(
        ADMIN,
        "watches",
        "POST",
        "/v1/watches",
        watches.add_watch,
        status=201,
        prepare=preparation.watch,
        guard=Guard.WATCHED_PLACE,
    ),
    ApiCall(READ, "watches", "GET", "/v1/watches", watches.list_watches),
    ApiCall(READ, "watches", "GET", "/v1/watches/{ref}", watches.find_watch),
    ApiCall(ADMIN, "watches", "DELETE", "/v1/watches/{ref}", watches.remove_watch),
    ApiCall(ADMIN, "watches", "POST", "/v1/watches/{ref}/pause", watches.pause_watch),
    ApiCall(ADMIN, "watches", "POST", "/v1/watches/{ref}/resume", watches.resume_watch),
    ApiCall(READ, "queues", "GET", "/v1/queues", queues.list_queues, promise=Latency.LOOK),
    ApiCall(READ, "queues", "GET", "/v1/queues/{name}", queues.find_queue),
    ApiCall(ADMIN, "queues", "PUT", "/v1/queues/{name}", queues.set_queue, opens_gates=True),
    ApiCall(READ, "queues", "GET", "/v1/counts", read_jobs.counts, promise=Latency.LOOK),
    ApiCall(ADMIN, "queues", "POST", "/v1/queues/{name}/pause", queues.pause),
    ApiCall(ADMIN, "queues", "POST", "/v1/queues/{name}/resume", queues.resume, opens_gates=True),
    ApiCall(ADMIN, "queues", "PUT", "/v1/queues/{name}/limit", queues.set_limit, opens_gates=True),
    ApiCall(READ, "tenants", "GET", "/v1/tenants", tenants.list_tenants),
    ApiCall(ADMIN, "tenants", "PUT", "/v1/tenants/{tenant}/weight", tenants.set_weight),
    ApiCall(ADMIN, "tenants", "POST", "/v1/tenants/{tenant}/weight/clear", tenants.clear_weight),
    ApiCall(ADMIN, "tenants", "POST", "/v1/tenants/{tenant}/activity", tenants.note_activity),
    ApiCall(ADMIN, "reservations", "POST", "/v1/reservations", reserve.reserve, status=201),
    ApiCall(READ, "reservations", "GET", "/v1/reservations", reserve.list_reservations),
    ApiCall(ADMIN, "reservations", "POST", "/v1/reservations/{reservation_id}/grant", reservations.grant),
    ApiCall(
        ADMIN, "reservations", "POST", "/v1/reservations/{reservation_id}/release", reserve.release, opens_gates=True
    ),
    ApiCall(READ, "sessions", "GET", "/v1/sessions", sessions.running_sessions),
    ApiCall(READ, WORKERS, "GET", "/v1/workers", workers.list_workers),
    ApiCall(READ, "tasks", "GET", "/v1/tasks", declared_tasks.list_tasks),
    ApiCall(READ, "tasks", "GET", "/v1/tasks/{name}", declared_tasks.find_task),
    ApiCall(READ, "tasks", "GET", "/v1/undeclared-tasks", declared_tasks.list_undeclared),
    ApiCall(READ, "machines", "GET", "/v1/machines", machines.list_machines),
    ApiCall(ADMIN, "machines", "PUT", "/v1/machines/{node}/simulation", machines.simulate),
    ApiCall(READ, "machines", "GET", "/v1/nodes", nodes.list_nodes),
    ApiCall(OPERATE, "machines", "POST", "/v1/nodes/{node}/move-jobs", reorder.move_ties),
    ApiCall(READ, "machines", "GET", "/v1/tokens", tokens.list_tokens),
    ApiCall(ADMIN, "machines", "PUT", "/v1/tokens", tokens.set_tokens, opens_gates=True),
    ApiCall(ADMIN, "users", "POST", "/v1/users", users.add_user, status=201, is_repeatable=never),
    ApiCall(READ, "users", "GET", "/v1/users", users.list_users),
    ApiCall(ADMIN, "users", "POST", "/v1/users/{name}/revoke", users.revoke_user),
    ApiCall(ADMIN, "users", "POST", "/v1/users/{name}/rotate", users.rotate_token, is_repeatable=never),
    ApiCall(OPERATE, WORKERS, "POST", "/v1/sessions", sessions.open_session, opens_gates=True, status=201),
    ApiCall(OPERATE, WORKERS, "POST", "/v1/sessions/{session_id}/beat", sessions.beat, is_quiet=True),
    ApiCall(OPERATE, WORKERS, "POST", "/v1/sessions/{session_id}/stopping", sessions.note_stop_request),
    ApiCall(OPERATE, WORKERS, "POST", "/v1/sessions/{session_id}/close", sessions.close_session),
    ApiCall(
        OPERATE,
        WORKERS,
        "POST",
        "/v1/exchange",
        exchange.exchange,
        prepare=preparation.reports,
        is_repeatable=never,
        is_quiet=True,
        gives_jobs=True,
    ),
    ApiCall(OPERATE, WORKERS, "POST", "/v1/reports", finish.finish, prepare=preparation.reports),
    ApiCall(OPERATE, WORKERS, "PUT", "/v1/runs/{run_id}/start", progress.note_start),
    ApiCall(
        OPERATE,
        WORKERS,
        "PUT",
        "/v1/runs/{run_id}/checkpoint",
        progress.save_checkpoint,
        prepare=preparation.checkpoint,
    ),
    ApiCall(OPERATE, WORKERS, "GET", "/v1/runs/{run_id}/webhook", webhooks.request_of_run),
    ApiCall(OPERATE, WORKERS, "POST", "/v1/runs/{run_id}/webhook/gone", webhooks.note_gone),
)

_BY_SCRIPT = {full_name(call.script): call for call in CALLS}


def call_of(script: Callable[..., Any]) -> ApiCall | None:
    """The call that runs a script, if there is one."""
    return _BY_SCRIPT.get(full_name(script))
