"""Every call of the HTTP API, each the shape of one transaction script.

The script's own signature is the definition: its arguments are the path, query and body of the request, what it returns
is the response. `now` is the server's; nobody else's clock matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.store.scripts import (
    bulk,
    cancel,
    doctor,
    enqueue,
    exchange,
    finish,
    groups,
    look,
    output,
    progress,
    queues,
    reorder,
    reserve,
    retention,
    retry,
    sessions,
    stats,
    templates,
    why,
    workers,
)
from holdfast.wire.call import Call
from holdfast.wire.extras import Hello

__all__ = ["BY_SCRIPT", "CALLS", "PROTOCOL", "Call", "Hello"]

PROTOCOL = 1

CALLS: tuple[Call, ...] = (
    Call("jobs", "POST", "/v1/jobs", enqueue.enqueue, status=201),
    Call("jobs", "GET", "/v1/jobs", look.jobs_like),
    Call("jobs", "POST", "/v1/jobs/search", look.list_jobs),
    Call("jobs", "POST", "/v1/jobs/bulk", bulk.bulk),
    Call("jobs", "GET", "/v1/jobs/{ref}", look.find_job),
    Call("jobs", "GET", "/v1/jobs/{job_id}/last", look.find_last),
    Call("jobs", "GET", "/v1/jobs/{job_id}/runs", look.runs_of),
    Call("jobs", "GET", "/v1/jobs/{job_id}/why", why.why),
    Call("jobs", "GET", "/v1/jobs/{job_id}/log", output.read_log),
    Call("jobs", "GET", "/v1/jobs/{job_id}/log/tail", output.tail_log),
    Call("jobs", "GET", "/v1/jobs/{job_id}/artifacts", output.list_artifacts),
    Call("jobs", "POST", "/v1/jobs/{job_id}/cancel", cancel.cancel_job),
    Call("jobs", "POST", "/v1/jobs/{job_id}/retry", retry.retry_job, status=201),
    Call("jobs", "POST", "/v1/jobs/{job_id}/move-to-top", reorder.move_to_top),
    Call("jobs", "POST", "/v1/jobs/{job_id}/move-to-bottom", reorder.move_to_bottom),
    Call("jobs", "POST", "/v1/jobs/{job_id}/move-before", reorder.move_before),
    Call("jobs", "POST", "/v1/jobs/{job_id}/move-after", reorder.move_after),
    Call("jobs", "PUT", "/v1/jobs/{job_id}/priority", reorder.set_priority),
    Call("jobs", "PUT", "/v1/jobs/{job_id}/payload", reorder.edit_payload),
    Call("jobs", "POST", "/v1/tags/{tag}/cancel", cancel.cancel_tag),
    Call("runs", "GET", "/v1/runs/{run_id}", look.find_run),
    Call("runs", "GET", "/v1/runs/{run_id}/artifacts", output.artifacts_of_run),
    Call("templates", "POST", "/v1/templates", templates.put_template, status=201),
    Call("templates", "GET", "/v1/templates", templates.list_templates),
    Call("templates", "GET", "/v1/templates/{ref}", templates.find_template),
    Call("templates", "POST", "/v1/templates/{ref}/archive", templates.archive_template),
    Call("templates", "POST", "/v1/templates/{ref}/jobs", templates.enqueue_from_template, status=201),
    Call("system", "GET", "/v1/stats", stats.stats),
    Call("system", "GET", "/v1/doctor", doctor.examine),
    Call("system", "POST", "/v1/bench/forget", retention.forget_measured),
    Call("groups", "POST", "/v1/groups", groups.create_group, status=201),
    Call("groups", "GET", "/v1/groups", groups.list_groups),
    Call("groups", "GET", "/v1/groups/{group_id}", groups.view_group),
    Call("groups", "POST", "/v1/groups/{group_id}/cancel", cancel.cancel_group),
    Call("queues", "GET", "/v1/queues", queues.list_queues),
    Call("queues", "GET", "/v1/counts", look.counts),
    Call("queues", "POST", "/v1/queues/{name}/pause", queues.pause),
    Call("queues", "POST", "/v1/queues/{name}/resume", queues.resume),
    Call("queues", "PUT", "/v1/queues/{name}/limit", queues.set_limit),
    Call("reservations", "POST", "/v1/reservations", reserve.reserve, status=201),
    Call("reservations", "GET", "/v1/reservations", reserve.list_reservations),
    Call("reservations", "POST", "/v1/reservations/{reservation_id}/grant", reserve.grant),
    Call("reservations", "POST", "/v1/reservations/{reservation_id}/release", reserve.release),
    Call("sessions", "GET", "/v1/sessions", sessions.running_sessions),
    Call("workers", "GET", "/v1/workers", workers.list_workers),
    Call("workers", "POST", "/v1/sessions", sessions.open_session, status=201),
    Call("workers", "POST", "/v1/sessions/{session_id}/beat", sessions.beat),
    Call("workers", "POST", "/v1/sessions/{session_id}/stopping", sessions.note_stop_request),
    Call("workers", "POST", "/v1/sessions/{session_id}/close", sessions.close_session),
    Call("workers", "POST", "/v1/exchange", exchange.exchange),
    Call("workers", "POST", "/v1/reports", finish.finish),
    Call("workers", "PUT", "/v1/runs/{run_id}/start", progress.note_start),
    Call("workers", "PUT", "/v1/runs/{run_id}/checkpoint", progress.save_checkpoint),
)

BY_SCRIPT: dict[Callable[..., Any], Call] = {call.script: call for call in CALLS}
