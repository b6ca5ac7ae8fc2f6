"""Where webhooks may lead, as the settings of the daemon say: the look at one that is created or changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core.addresses import AddressPolicy
from holdfast.core.webhook import check_target
from holdfast.store.scripts.webhooks import edit_webhook, put_webhook


def refuse_target(script: Callable[..., Any], wanted: Any, policy: AddressPolicy) -> None:
    """Refuse a webhook whose URL names an address that nothing may be sent to."""
    if script is put_webhook:
        check_target(wanted.webhook.url, policy)
    elif script is edit_webhook and wanted.changes.url is not None:
        check_target(wanted.changes.url, policy)
