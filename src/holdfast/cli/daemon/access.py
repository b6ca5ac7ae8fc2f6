"""`holdfast access`: who may call the daemon by TCP, and what each may do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.core.access import Role

if TYPE_CHECKING:
    from holdfast.core.messages.access import NewToken, User

HEAD = ("name", "role", "state", "created", "expires", "last used")
ROLES = ", ".join(Role)

NameArgument = Annotated[str, Argument("NAME", help="What the user is called.")]
ExpiresOption = Annotated[
    str | None, Option("--expires", metavar="TIME", help="How long the token works, such as 90d; by default for ever.")
]


def add(
    name: NameArgument,
    role: Annotated[str, Option("--role", metavar="ROLE", help=f"What it may do: {ROLES}.")],
    expires: ExpiresOption = None,
) -> Output:
    """Let somebody call by TCP, with a token of its own.

    The token is shown once; only its hash is stored. Who may `operate` can run commands as the user of the daemon.

    \b
    Examples:
      holdfast access add grafana --role metrics
      holdfast access add ci --role operate --expires 90d
    """
    return _token(client().add_user(name, role=role, expires=times.seconds("expires", expires, "expires_in_ms")))


def list_() -> Output:
    """List who may call by TCP, with roles and last use.

    \b
    Examples:
      holdfast access
      holdfast access ls --json
    """
    found = client().users()
    now = round(time.time() * 1000)
    none = "nobody has a token of its own; the file `token` in the home folder opens everything"
    return output.listed(found, HEAD, (_row(user, now) for user in found), none=[none])


def revoke(name: NameArgument) -> Output:
    """Let somebody call no longer, from this moment on.

    \b
    Examples:
      holdfast access revoke ci
    """
    user = client().revoke_user(name)
    return Output(user, f"the token of {user.name} is revoked")


def rotate(name: NameArgument, expires: ExpiresOption = None) -> Output:
    """Give somebody a new token; the old one stops at once.

    Without --expires the new one ends when the old one would have ended.

    \b
    Examples:
      holdfast access rotate ci
      holdfast access rotate ci --expires 90d
    """
    return _token(client().rotate_token(name, expires=times.seconds("expires", expires, "expires_in_ms")))


access = group_of(
    "access",
    "Who may call the daemon by TCP, and what each may do.\n\n"
    "Roles: metrics reads /metrics; read sees everything, payloads redacted; operate deals with jobs, groups, events, "
    "templates and schedules, and may be a worker; admin does the rest. Each may also do what those before it may.",
    {"add": add, "ls": list_, "revoke": revoke, "rotate": rotate},
    usual="ls",
)


def _token(made: NewToken) -> Output:
    def show() -> None:
        until = "" if made.user.expires_at is None else f" until {times.local(made.user.expires_at)}"
        say(f"{made.user.name} has the role {made.user.role}{until}; this token is not shown again:")
        output.put(made.token)

    return Output(made, show)


def _row(user: User, now: int) -> list[str]:
    state = "revoked" if user.disabled_at is not None else "expired" if user.has_expired(now) else "active"
    return [user.name, user.role, state, *map(times.local, (user.created_at, user.expires_at, user.last_used_at))]
