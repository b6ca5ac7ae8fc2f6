"""The caller of a request: what it may do, and how jobs and events name it."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.access import Role
from holdfast.core.errors import NotAllowed
from holdfast.core.jobs import trigger
from holdfast.runtime.caller import user_name
from holdfast.wire.call import ApiCall

CALLER = "holdfast.caller"  # in the scope of a request, set where it was let in

log = logging.getLogger("holdfast.api")


class Caller(Struct, frozen=True):
    """Who makes a request.

    On the unix socket it is a user of this machine, with `uid`. On TCP it is a `user` with a token of its own, or the
    holder of the token of the home folder. Without a role, it has shown no token.
    """

    role: Role | None = None
    user: str | None = None
    uid: int | None = None
    address: str | None = None

    def check(self, call: ApiCall) -> None:
        """Refuse a call that the role of this caller does not include."""
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
        """The trigger of what this caller makes."""
        if self.address is None:
            return trigger.called(by=user_name(os.getuid() if self.uid is None else self.uid))
        about = {"origin": self.address}
        return trigger.called(**about if self.user is None else {"user": self.user, **about})

    def signed(self, given: str | None) -> str | None:
        """The given trigger with the real user and address, whatever it says of these itself."""
        if given is None:
            return self.trigger()
        return given if self.user is None else trigger.with_user(given, self.user, self.address)


NOBODY = Caller()


def caller_of(scope: Mapping[str, Any]) -> Caller:
    """The caller of a request."""
    found = scope.get(CALLER, NOBODY)
    assert isinstance(found, Caller)
    return found


def log_call(caller: Caller, call: ApiCall | None, status: int) -> None:
    """Log the user of a change, unless what was made names the user.

    Calls of workers belong to their sessions, and are not logged.
    """
    if call is None or caller.user is None or call.role not in (Role.OPERATE, Role.ADMIN):
        return
    if call.is_for_workers or not call.is_logged:
        return
    about = {"event": "called_by_user", "call": call.name, "status": status, "address": caller.address}
    log.info("user %s called %s", caller.user, call.name, extra=about)


def give_trigger(call: ApiCall, wanted: Any, caller: Caller) -> None:
    """Give jobs without a trigger that of this call."""
    if call.takes_jobs:
        for job in wanted.jobs:
            if job.trigger is None or caller.user is not None:
                # No other code has seen it yet.
                msgspec.structs.force_setattr(job, "trigger", caller.signed(job.trigger))
    elif call.takes_trigger:
        wanted.trigger = caller.signed(wanted.trigger)
