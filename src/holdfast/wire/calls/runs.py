"""Calls about single runs."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import output, read_jobs
from holdfast.wire.call import ApiCall

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.READ, "runs", "GET", "/v1/runs/{run_id}", read_jobs.find_run),
    ApiCall(Role.READ, "runs", "GET", "/v1/runs/{run_id}/artifacts", output.artifacts_of_run),
)
