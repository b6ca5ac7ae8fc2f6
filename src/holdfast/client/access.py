"""Access: the users who may call the daemon by TCP, and what each may do.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from typing import Any

from holdfast.client.store_access import StoreAccess
from holdfast.core.access import Role
from holdfast.core.messages.access import NewToken, User
from holdfast.core.rules.rule import ChoiceRule
from holdfast.core.rules.units import Duration
from holdfast.core.settings import rule_table
from holdfast.store.script_names import users


class AccessCalls:
    """The part of `Holdfast` for users who may call a daemon of this database by TCP."""

    _access: StoreAccess

    def users(self) -> list[User]:
        """The users who may call by TCP with a token of their own, and after them those who were revoked."""
        return self._access.read(users.list_users)

    async def ausers(self) -> list[User]:
        """The awaitable twin of `users`."""
        return await self._access.aread(users.list_users)

    def add_user(self, name: str, *, role: str, expires: Duration | None = None) -> NewToken:
        """Let a user call by TCP: `hf.add_user("ci", role="operate", expires=timedelta(days=90)).token`.

        The roles are `metrics`, `read`, `operate` and `admin`; each may do what those before it may. The token is shown
        once, and only its hash is stored.
        """
        return self._access.write(users.add_user, *_new(name, role, self._access.now(), expires))

    async def aadd_user(self, name: str, *, role: str, expires: Duration | None = None) -> NewToken:
        """The awaitable twin of `add_user`."""
        return await self._access.awrite(users.add_user, *_new(name, role, await self._access.anow(), expires))

    def revoke_user(self, name: str) -> User:
        """Refuse the calls of a user from now on."""
        return self._access.write(users.revoke_user, rule_table.check("name", name, "user"), self._access.now())

    async def arevoke_user(self, name: str) -> User:
        """The awaitable twin of `revoke_user`."""
        return await self._access.awrite(
            users.revoke_user, rule_table.check("name", name, "user"), await self._access.anow()
        )

    def rotate_token(self, name: str, *, expires: Duration | None = None) -> NewToken:
        """Give a user a new token. The old one stops at once. `expires` counts from now. If left out, it stays."""
        return self._access.write(users.rotate_token, *_rotated(name, self._access.now(), expires))

    async def arotate_token(self, name: str, *, expires: Duration | None = None) -> NewToken:
        """The awaitable twin of `rotate_token`."""
        return await self._access.awrite(users.rotate_token, *_rotated(name, await self._access.anow(), expires))


def _new(name: str, role: str, now: int, expires: Duration | None) -> tuple[Any, ...]:
    return rule_table.check("name", name, "user"), Role(ChoiceRule(Role).check("role", role)), now, _length(expires)


def _rotated(name: str, now: int, expires: Duration | None) -> tuple[Any, ...]:
    return rule_table.check("name", name, "user"), now, _length(expires)


def _length(expires: Duration | None) -> int | None:
    return None if expires is None else rule_table.millis("expires_in_ms", expires, "expires")
