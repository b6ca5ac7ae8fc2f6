"""Calls about the whole: its figures, its state, its chores."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.observe.sla import Latency
from holdfast.store.script_names import doctor, maintenance, reserved, retention, stats
from holdfast.wire.call import ApiCall

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.READ, "system", "GET", "/v1/stats", stats.stats, promise=Latency.LOOK),
    ApiCall(Role.READ, "system", "GET", "/v1/doctor", doctor.examine),
    ApiCall(Role.READ, "system", "GET", "/v1/reserved", reserved.list_reserved),
    ApiCall(Role.ADMIN, "system", "POST", "/v1/bench/jobs", retention.enqueue_measured, status=201),
    ApiCall(Role.ADMIN, "system", "POST", "/v1/bench/forget", retention.forget_measured),
    ApiCall(Role.READ, "maintenance", "GET", "/v1/maintenance", maintenance.list_chores),
    ApiCall(Role.ADMIN, "maintenance", "POST", "/v1/maintenance/{chore}", maintenance.maintain, status=201),
)
