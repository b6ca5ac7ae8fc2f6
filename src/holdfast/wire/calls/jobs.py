"""Calls about jobs."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.observe.sla import Latency
from holdfast.store.script_names import (
    bulk,
    cancel,
    changed_files,
    conditions,
    enqueue,
    output,
    predecessors,
    read_jobs,
    reorder,
    retry,
    why,
)
from holdfast.wire import preparation
from holdfast.wire.call import ApiCall, Values


def _retries_nothing(values: Values) -> bool:
    return values.get("action") != "retry" or bool(values.get("dry_run"))


def _has_new_id(values: Values) -> bool:
    return values.get("new_id") is not None


CALLS: tuple[ApiCall, ...] = (
    ApiCall(
        Role.OPERATE,
        "jobs",
        "POST",
        "/v1/jobs",
        enqueue.enqueue,
        promise=Latency.ENQUEUE,
        status=201,
        prepare=preparation.jobs,
        is_logged=False,
    ),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs", read_jobs.jobs_like),
    ApiCall(Role.READ, "jobs", "POST", "/v1/jobs/search", read_jobs.list_jobs, reads=True),
    ApiCall(Role.OPERATE, "jobs", "POST", "/v1/jobs/bulk", bulk.bulk, opens_gates=True, is_repeatable=_retries_nothing),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{ref}", read_jobs.find_job, promise=Latency.LOOK),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/last", read_jobs.find_last),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/runs", read_jobs.runs_of),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/why", why.why),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/retries", retry.retries_of),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/predecessors", predecessors.predecessors),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/conditions", conditions.conditions_of),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/files", changed_files.changed_files),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/log", output.read_log),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/log/tail", output.tail_log),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/artifacts", output.list_artifacts),
    ApiCall(Role.READ, "jobs", "GET", "/v1/jobs/{job_id}/artifact", output.read_artifact),
    ApiCall(Role.OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/cancel", cancel.cancel_job),
    ApiCall(
        Role.OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/retry", retry.retry_job, status=201, is_repeatable=_has_new_id
    ),
    ApiCall(Role.OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/move-to-top", reorder.move_to_top),
    ApiCall(Role.OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/move-to-bottom", reorder.move_to_bottom),
    ApiCall(Role.OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/move-before", reorder.move_before),
    ApiCall(Role.OPERATE, "jobs", "POST", "/v1/jobs/{job_id}/move-after", reorder.move_after),
    ApiCall(Role.OPERATE, "jobs", "PUT", "/v1/jobs/{job_id}/priority", reorder.set_priority),
    ApiCall(Role.OPERATE, "jobs", "PUT", "/v1/jobs/{job_id}/node", reorder.tie_job),
    ApiCall(
        Role.OPERATE, "jobs", "PUT", "/v1/jobs/{job_id}/payload", reorder.edit_payload, prepare=preparation.payload
    ),
    ApiCall(Role.OPERATE, "jobs", "POST", "/v1/tags/{tag}/cancel", cancel.cancel_tag),
)
