"""Calls about queues, and the shares of tenants in them."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.observe.sla import Latency
from holdfast.store.script_names import queues, read_jobs, tenants
from holdfast.wire.call import ApiCall

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.READ, "queues", "GET", "/v1/queues", queues.list_queues, promise=Latency.LOOK),
    ApiCall(Role.READ, "queues", "GET", "/v1/queues/{name}", queues.find_queue),
    ApiCall(Role.ADMIN, "queues", "PUT", "/v1/queues/{name}", queues.set_queue, opens_gates=True),
    ApiCall(Role.READ, "queues", "GET", "/v1/counts", read_jobs.counts, promise=Latency.LOOK),
    ApiCall(Role.ADMIN, "queues", "POST", "/v1/queues/{name}/pause", queues.pause),
    ApiCall(Role.ADMIN, "queues", "POST", "/v1/queues/{name}/resume", queues.resume, opens_gates=True),
    ApiCall(Role.ADMIN, "queues", "PUT", "/v1/queues/{name}/limit", queues.set_limit, opens_gates=True),
    ApiCall(Role.READ, "tenants", "GET", "/v1/tenants", tenants.list_tenants),
    ApiCall(Role.ADMIN, "tenants", "PUT", "/v1/tenants/{tenant}/weight", tenants.set_weight),
    ApiCall(Role.ADMIN, "tenants", "POST", "/v1/tenants/{tenant}/weight/clear", tenants.clear_weight),
    ApiCall(Role.ADMIN, "tenants", "POST", "/v1/tenants/{tenant}/activity", tenants.note_activity),
)
