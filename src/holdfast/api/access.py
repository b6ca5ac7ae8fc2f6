"""Whose a token is: the one place that decides it."""

from __future__ import annotations

import hmac
import logging
from typing import TYPE_CHECKING

from holdfast.api.callers import Caller
from holdfast.core.access import Role, hash_secret
from holdfast.core.errors import HoldfastError, InvalidInput, InvalidToken
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine
from holdfast.store.scripts.users import NOTED_EVERY_MS, User, note_use_of_token, user_of_token

if TYPE_CHECKING:
    from concurrent.futures import Future

MISSING = "the token is missing or wrong; it is in the file `token` of the home folder, or from `holdfast access add`"
LONGEST_TOKEN = 200

log = logging.getLogger("holdfast.api")


class Access:
    """Knows the token of the home folder, and finds all others in the database.

    It asks the database at every call: a token that is revoked or rotated, by whichever process, stops at once.
    """

    def __init__(self, home_token: str, engine: Engine, clock: Clock) -> None:
        if not home_token.strip():
            raise InvalidInput("the token is empty, so anybody could come in; remove the file, and a new one is made")
        self._home_token = home_token.strip().encode()
        self._engine = engine
        self._clock = clock
        self._noted_at: dict[str, int] = {}

    async def caller(self, token: bytes, address: str) -> Caller:
        """Who has this token; InvalidToken says why nobody has."""
        if hmac.compare_digest(token, self._home_token):
            return Caller(Role.ADMIN, address=address)
        user = await self._user(token)
        if user is None:
            raise InvalidToken(MISSING)
        now = self._clock.now()
        if user.disabled_at is not None:
            raise InvalidToken(f"the token of user {user.name!r} was revoked")
        if user.has_expired(now):
            raise InvalidToken(f"the token of user {user.name!r} has expired; see: holdfast access rotate")
        self._note_use(user, now)
        return Caller(user.role, user.name, address=address)

    async def _user(self, token: bytes) -> User | None:
        if not token or len(token) > LONGEST_TOKEN or not token.isascii():
            return None
        # Found by its hash, so that no comparison tells how much of it was right.
        return await self._engine.read(user_of_token, hash_secret(token.decode()))

    def _note_use(self, user: User, now: int) -> None:
        """Have it written when the token was used, about once a minute; the call does not wait for that."""
        noted_at = self._noted_at.get(user.id, user.last_used_at)
        if noted_at is not None and now - NOTED_EVERY_MS < noted_at <= now:
            return
        self._noted_at[user.id] = now
        self._engine.submit(note_use_of_token, user.id, now).add_done_callback(_heed)


def _heed(noting: Future[None]) -> None:
    error = noting.exception()
    if isinstance(error, HoldfastError):
        log.debug("the use of a token could not be noted: %s", error)
