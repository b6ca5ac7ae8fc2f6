"""Who calls: what the caller may do, and what jobs and events say of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.client.caller import user_name
from holdfast.core import trigger
from holdfast.core.access import Role
from holdfast.core.errors import NotAllowed
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.events import emit
from holdfast.store.scripts.group_jobs import enqueue_group
from holdfast.store.scripts.templates import enqueue_from_template
from holdfast.wire.call import Call

STORE_JOBS = (enqueue, enqueue_group)
TELL_ALL = (*STORE_JOBS, enqueue_from_template, emit)  # many calls, and all that they make tells who
WORKERS = "workers"
CALLER = "holdfast.caller"  # in the scope of a request, set by the door that let it in

log = logging.getLogger("holdfast.api")


class Caller(Struct, frozen=True):
    """Somebody whom a door has let in.

    On the unix socket it is a user of this machine, with `uid`. On TCP it is a `user` with a token of its own, or the
    holder of the token of the home folder. Without a role, it has shown nothing.
    """

    role: Role | None = None
    user: str | None = None
    uid: int | None = None
    address: str | None = None

    def check(self, call: Call) -> None:
        """Refuse a call that takes more than this caller's role."""
        if call.role is None or (self.role is not None and self.role.includes(call.role)):
            return
        who = "the caller" if self.user is None else f"user {self.user!r}"
        has = "has none" if self.role is None else f"has {self.role}"
        raise NotAllowed(f"{call.name} needs the role {call.role}, and {who} {has}")

    @property
    def sees_secrets(self) -> bool:
        """Whether payloads are shown as they are."""
        return self.role is not None and self.role.includes(Role.OPERATE)

    def trigger(self) -> str:
        """What a call of this caller is, as the cause of something."""
        if self.address is None:
            return trigger.called(by=user_name(os.getuid() if self.uid is None else self.uid))
        about = {"origin": self.address}
        return trigger.called(**about if self.user is None else {"user": self.user, **about})

    def signed(self, given: str | None) -> str | None:
        """What is given as a cause, with who calls and from where, whatever it says of that itself."""
        if given is None:
            return self.trigger()
        return given if self.user is None else trigger.with_user(given, self.user, self.address)


NOBODY = Caller()


def caller_of(scope: Mapping[str, Any]) -> Caller:
    """Who makes a request."""
    found = scope.get(CALLER, NOBODY)
    assert isinstance(found, Caller)
    return found


def log_call(caller: Caller, call: Call | None, status: int) -> None:
    """Have the log name the user of a change, unless what was made tells it.

    What a worker does belongs to its session.
    """
    if call is None or caller.user is None or call.role not in (Role.OPERATE, Role.ADMIN):
        return
    if call.script in TELL_ALL or call.tag == WORKERS:
        return
    about = {"event": "called_by_user", "call": call.name, "status": status, "address": caller.address}
    log.info("user %s called %s", caller.user, call.name, extra=about)


def give_trigger(call: Call, wanted: Any, caller: Caller) -> None:
    """What has no trigger yet is triggered by this call."""
    if call.script in STORE_JOBS:
        for job in wanted.jobs:
            if job.trigger is None or caller.user is not None:
                # Nobody else has seen it yet.
                msgspec.structs.force_setattr(job, "trigger", caller.signed(job.trigger))
    elif call.takes_trigger:
        wanted.trigger = caller.signed(wanted.trigger)
