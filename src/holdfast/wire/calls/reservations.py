"""Calls about reservations of queues."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import reservations, reserve
from holdfast.wire.call import ApiCall

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.ADMIN, "reservations", "POST", "/v1/reservations", reserve.reserve, status=201),
    ApiCall(Role.READ, "reservations", "GET", "/v1/reservations", reserve.list_reservations),
    ApiCall(Role.ADMIN, "reservations", "POST", "/v1/reservations/{reservation_id}/grant", reservations.grant),
    ApiCall(
        Role.ADMIN,
        "reservations",
        "POST",
        "/v1/reservations/{reservation_id}/release",
        reserve.release,
        opens_gates=True,
    ),
)
