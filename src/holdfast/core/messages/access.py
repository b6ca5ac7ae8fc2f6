"""Users and their tokens."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.access import Role
from holdfast.core.job import Millis


class User(Struct, frozen=True):
    """A user who may call by TCP. `last_used_at` is right to a minute; `disabled_at` is when it was revoked."""

    id: str
    name: str
    role: Role
    created_at: Millis
    expires_at: Millis | None = None
    last_used_at: Millis | None = None
    disabled_at: Millis | None = None

    def has_expired(self, now: Millis) -> bool:
        """Whether the time of the token is over."""
        return self.expires_at is not None and self.expires_at <= now


class NewToken(Struct, frozen=True):
    """A user and the token that was just made, which is not shown again."""

    user: User
    token: str

    def __repr__(self) -> str:
        return f"<NewToken of {self.user.name}>"  # A token belongs in no log.
