"""Who calls, for jobs and events that do not say themselves what triggered them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.api.incoming import Incoming
from holdfast.client.caller import user_name
from holdfast.core import trigger
from holdfast.store.scripts.dead_letters import discard_dead_letters, retry_dead_letters
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.events import emit
from holdfast.store.scripts.group_jobs import enqueue_group
from holdfast.store.scripts.templates import enqueue_from_template

TELL_WHO = (emit, enqueue_from_template, retry_dead_letters, discard_dead_letters)
PEER = "holdfast.peer"  # in the scope of a request: the user at the other end of the unix socket


def give_trigger(script: Callable[..., Any], wanted: Any, incoming: Incoming) -> None:
    """What has no trigger yet is triggered by this call."""
    if script in (enqueue, enqueue_group):
        for job in wanted.jobs:
            if job.trigger is None:
                # Nobody else has seen it yet.
                msgspec.structs.force_setattr(job, "trigger", called(incoming))
    elif script in TELL_WHO and wanted.trigger is None:
        wanted.trigger = called(incoming)


def called(incoming: Incoming) -> str:
    """A call over the network comes from an address, one on the unix socket from a user."""
    client = incoming.scope.get("client")
    if client:
        return trigger.called(origin=str(client[0]))
    return trigger.called(by=user_name(incoming.scope.get(PEER, os.getuid())))
