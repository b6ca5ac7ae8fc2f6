"""`holdfast access`: who may call the daemon by TCP, and what each may do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.failing import say
from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import put, show_json, show_table
from holdfast.cli.times import local, seconds
from holdfast.cli.words import Argument, Option, group_of
from holdfast.core.access import Role

if TYPE_CHECKING:
    from holdfast.store.scripts.users import NewToken, User

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
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Let somebody call by TCP, with a token of its own.

    The token is shown once; only its hash is stored. Who may `operate` can run commands as the user of the daemon.

    \b
    Examples:
      holdfast access add grafana --role metrics
      holdfast access add ci --role operate --expires 90d
    """
    _show_token(client(home).add_user(name, role=role, expires=seconds("expires", expires)), json)


def list_(home: HomeOption = None, json: JsonOption = False) -> None:
    """List who may call by TCP, with roles and last use.

    \b
    Examples:
      holdfast access
      holdfast access ls --json
    """
    found = client(home).users()
    if json:
        show_json(found)
    elif not found:
        say("nobody has a token of its own; the file `token` in the home folder opens everything")
    else:
        now = round(time.time() * 1000)
        show_table(HEAD, [_row(user, now) for user in found])


def revoke(name: NameArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Let somebody call no longer, from this moment on.

    \b
    Examples:
      holdfast access revoke ci
    """
    user = client(home).revoke_user(name)
    if json:
        show_json(user)
    else:
        put(f"the token of {user.name} is revoked")


def rotate(
    name: NameArgument, expires: ExpiresOption = None, home: HomeOption = None, json: JsonOption = False
) -> None:
    """Give somebody a new token; the old one stops at once.

    Without --expires the new one ends when the old one would have ended.

    \b
    Examples:
      holdfast access rotate ci
      holdfast access rotate ci --expires 90d
    """
    _show_token(client(home).rotate_token(name, expires=seconds("expires", expires)), json)


access = group_of(
    "access",
    "Who may call the daemon by TCP, and what each may do.\n\n"
    "Roles: metrics reads /metrics; read sees everything, payloads redacted; operate deals with jobs, groups, events, "
    "templates and schedules, and may be a worker; admin does the rest. Each may also do what those before it may.",
    {"add": add, "ls": list_, "revoke": revoke, "rotate": rotate},
    usual="ls",
)


def _show_token(made: NewToken, json: bool) -> None:
    if json:
        show_json(made)
        return
    until = "" if made.user.expires_at is None else f" until {local(made.user.expires_at)}"
    say(f"{made.user.name} has the role {made.user.role}{until}; this token is not shown again:")
    put(made.token)


def _row(user: User, now: int) -> list[str]:
    state = "revoked" if user.disabled_at is not None else "expired" if user.has_expired(now) else "active"
    return [user.name, user.role, state, *map(local, (user.created_at, user.expires_at, user.last_used_at))]
