"""Refuse webhooks to forbidden addresses, and watches of what cannot be watched, before they are stored."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast.core.watching.new_watch import check_watch
from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.core.webhooks.webhook import check_target
from holdfast.runtime.planner import watch_places
from holdfast.wire.call import Guard


async def check_guard(guard: Guard | None, wanted: Any, policy: AddressPolicy) -> None:
    """Refuse a request that the guard of its call does not allow."""
    match guard:
        case Guard.WEBHOOK_TARGET:
            _check_target(wanted, policy)
        case Guard.WATCHED_PLACE:
            # In a thread, as the disk may be slow.
            await asyncio.to_thread(watch_places.check_place, check_watch(wanted.watch))


def _check_target(wanted: Any, policy: AddressPolicy) -> None:
    """Refuse a webhook whose URL names an address that nothing may be sent to."""
    given = getattr(wanted, "webhook", None) or wanted.changes
    if given.url is not None:
        check_target(given.url, policy)
