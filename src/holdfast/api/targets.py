"""What is refused before it is stored: webhooks that lead where they may not, watches of what cannot be watched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from holdfast.core.addresses import AddressPolicy
from holdfast.core.watch import check_watch
from holdfast.core.webhook import check_target
from holdfast.runtime.placed import check_place
from holdfast.store.scripts.watches import add_watch
from holdfast.store.scripts.webhooks import edit_webhook, put_webhook


def refuse_target(script: Callable[..., Any], wanted: Any, policy: AddressPolicy) -> None:
    """Refuse a webhook whose URL names an address that nothing may be sent to."""
    if script is put_webhook:
        check_target(wanted.webhook.url, policy)
    elif script is edit_webhook and wanted.changes.url is not None:
        check_target(wanted.changes.url, policy)


async def refuse_place(script: Callable[..., Any], wanted: Any) -> None:
    """Refuse a watch of something on this machine that can never be watched so. A slow disk holds up nobody else."""
    if script is add_watch:
        await asyncio.to_thread(check_place, check_watch(wanted.watch))
