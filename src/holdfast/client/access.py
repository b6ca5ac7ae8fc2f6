"""Access: who may call the daemon by TCP, and what each may do.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from typing import Any

from holdfast.client.durations import Duration, to_millis
from holdfast.client.store_access import StoreAccess
from holdfast.core.access import Role
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import check_name, shown
from holdfast.store.scripts import users
from holdfast.store.scripts.users import NewToken, User


class AccessCalls:
    """The part of `Holdfast` that says who may call a daemon of this database by TCP."""

    _access: StoreAccess

    def users(self) -> list[User]:
        """Everybody who may call by TCP with a token of their own, and behind them those who were revoked."""
        return self._access.read(users.list_users)

    async def ausers(self) -> list[User]:
        """The awaitable twin of `users`."""
        return await self._access.aread(users.list_users)

    def add_user(self, name: str, *, role: str, expires: Duration | None = None) -> NewToken:
        """Let somebody call by TCP: `hf.add_user("ci", role="operate", expires=timedelta(days=90)).token`.

        The roles are `metrics`, `read`, `operate` and `admin`; each may do what those before it may. The token is told
        once, and only its hash is stored.
        """
        return self._access.write(users.add_user, *_new(name, role, self._access.now(), expires))

    async def aadd_user(self, name: str, *, role: str, expires: Duration | None = None) -> NewToken:
        """The awaitable twin of `add_user`."""
        return await self._access.awrite(users.add_user, *_new(name, role, await self._access.anow(), expires))

    def revoke_user(self, name: str) -> User:
        """Let somebody call no longer, from this moment on."""
        return self._access.write(users.revoke_user, check_name("user", name), self._access.now())

    async def arevoke_user(self, name: str) -> User:
        """The awaitable twin of `revoke_user`."""
        return await self._access.awrite(users.revoke_user, check_name("user", name), await self._access.anow())

    def rotate_token(self, name: str, *, expires: Duration | None = None) -> NewToken:
        """Give somebody a new token; the old one stops at once. `expires` counts from now; if left out, it stays."""
        return self._access.write(users.rotate_token, *_rotated(name, self._access.now(), expires))

    async def arotate_token(self, name: str, *, expires: Duration | None = None) -> NewToken:
        """The awaitable twin of `rotate_token`."""
        return await self._access.awrite(users.rotate_token, *_rotated(name, await self._access.anow(), expires))


def _new(name: str, role: str, now: int, expires: Duration | None) -> tuple[Any, ...]:
    try:
        chosen = Role(role)
    except ValueError:
        roles = ", ".join(repr(str(one)) for one in Role)
        raise InvalidInput(f"role {shown(role)} is not valid: use one of {roles}") from None
    return check_name("user", name), chosen, now, _length(expires)


def _rotated(name: str, now: int, expires: Duration | None) -> tuple[Any, ...]:
    return check_name("user", name), now, _length(expires)


def _length(expires: Duration | None) -> int | None:
    if expires is None:
        return None
    millis = to_millis("expires", expires)
    if not millis:
        raise InvalidInput("expires 0 is not valid: a token that never worked helps nobody")
    return millis
