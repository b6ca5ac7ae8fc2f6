"""Every call of the HTTP API. Each runs one transaction script.

The signature of the script is the definition: its arguments are the path, query and body of the request, and what it
returns is the response. `now` is the time of the server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.store.script_names import full_name
from holdfast.wire.call import ApiCall
from holdfast.wire.calls import (
    apps,
    dead_letters,
    events,
    groups,
    jobs,
    machines,
    programs,
    queues,
    reservations,
    runs,
    schedules,
    system,
    users,
    watches,
    webhooks,
    workers,
    workspaces,
)
from holdfast.wire.special_calls import Hello

__all__ = ["CALLS", "PROTOCOL", "ApiCall", "Hello", "call_of"]

PROTOCOL = 2

# A call is not repeatable if its effect may be undone or used up meanwhile: a retried job may have failed again, what
# was sent may have arrived, a token is shown once. After a lost exchange, a worker lists the runs that it has.
CALLS: tuple[ApiCall, ...] = (
    *jobs.CALLS,
    *dead_letters.CALLS,
    *runs.CALLS,
    *schedules.CALLS,
    *system.CALLS,
    *groups.CALLS,
    *events.CALLS,
    *apps.CALLS,
    *workspaces.CALLS,
    *webhooks.CALLS,
    *watches.CALLS,
    *queues.CALLS,
    *reservations.CALLS,
    *programs.CALLS,
    *machines.CALLS,
    *users.CALLS,
    *workers.CALLS,
)

_BY_SCRIPT = {full_name(call.script): call for call in CALLS}


def call_of(script: Callable[..., Any]) -> ApiCall | None:
    """The call that runs a script, if there is one."""
    return _BY_SCRIPT.get(full_name(script))
