"""Calls about webhooks and their deliveries."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import deliveries, webhooks
from holdfast.wire.call import ApiCall, Guard, never

CALLS: tuple[ApiCall, ...] = (
    ApiCall(
        Role.ADMIN, "webhooks", "POST", "/v1/webhooks", webhooks.put_webhook, status=201, guard=Guard.WEBHOOK_TARGET
    ),
    ApiCall(Role.READ, "webhooks", "GET", "/v1/webhooks", webhooks.list_webhooks),
    ApiCall(Role.READ, "webhooks", "GET", "/v1/webhooks/{ref}", webhooks.find_webhook),
    ApiCall(Role.ADMIN, "webhooks", "PUT", "/v1/webhooks/{ref}", webhooks.edit_webhook, guard=Guard.WEBHOOK_TARGET),
    ApiCall(Role.ADMIN, "webhooks", "DELETE", "/v1/webhooks/{ref}", webhooks.delete_webhook),
    ApiCall(Role.ADMIN, "webhooks", "POST", "/v1/webhooks/{ref}/pause", webhooks.pause_webhook),
    ApiCall(Role.ADMIN, "webhooks", "POST", "/v1/webhooks/{ref}/resume", webhooks.resume_webhook),
    ApiCall(
        Role.ADMIN, "webhooks", "POST", "/v1/webhooks/{ref}/test", deliveries.send_test, status=201, is_repeatable=never
    ),
    ApiCall(Role.READ, "webhooks", "GET", "/v1/webhooks/{ref}/deliveries", deliveries.list_deliveries),
    ApiCall(Role.ADMIN, "webhooks", "POST", "/v1/webhooks/{ref}/redeliver", deliveries.redeliver, is_repeatable=never),
)
