"""Finds the user of a token."""

from __future__ import annotations

import hmac
import logging
from typing import TYPE_CHECKING

from holdfast.api.callers import Caller
from holdfast.api.refusals import TooManyTries
from holdfast.api.valid_tokens import ValidTokens
from holdfast.api.wrong_tokens import WrongTokens
from holdfast.core.access import Role, hash_secret
from holdfast.core.errors import HoldfastError, InvalidInput, InvalidToken
from holdfast.core.messages.access import User
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine
from holdfast.store.scripts.access import users
from holdfast.store.scripts.access.users import NOTED_EVERY_MS

if TYPE_CHECKING:
    from concurrent.futures import Future

MISSING = "the token is missing or wrong; it is in the file `token` of the home folder, or from `holdfast access add`"
LONGEST_TOKEN = 200

log = logging.getLogger("holdfast.api")


class Access:
    """Knows the token of the home folder, and finds all others in the database.

    It asks the database at every call, so that a token that any process has revoked or rotated stops at once. While an
    address has to wait because of wrong tokens, only those that are among all valid ones are looked up, so that no
    caller is slowed by others at its address.
    """

    def __init__(self, home_token: str, engine: Engine, clock: Clock, wrong: WrongTokens | None = None) -> None:
        if not home_token.strip():
            raise InvalidInput("the token is empty, so anybody could come in; remove the file, and a new one is made")
        self._home_token = home_token.strip().encode()
        self._engine = engine
        self._clock = clock
        self._noted_at: dict[str, int] = {}
        self._valid = ValidTokens(engine, clock)
        self.wrong = WrongTokens() if wrong is None else wrong

    async def caller(self, token: bytes, address: str) -> Caller:
        """The caller with this token. InvalidToken says why there is none."""
        if hmac.compare_digest(token, self._home_token):
            return Caller(Role.ADMIN, address=address)
        if not token:
            raise InvalidToken(MISSING)
        # Found by its hash, so that the time of a comparison tells nothing about it.
        token_hash = hash_secret(token[:LONGEST_TOKEN].decode("latin-1"))
        await self._refuse_if_early(token_hash, address)
        user = await self._engine.read(users.user_of_token, token_hash)
        now = self._clock.now()
        if user is None:
            raise self._wrong(token_hash, address, "unknown", MISSING)
        if user.disabled_at is not None:
            raise self._wrong(token_hash, address, "revoked", f"the token of user {user.name!r} was revoked")
        if user.has_expired(now):
            said = f"the token of user {user.name!r} has expired; see: holdfast access rotate"
            raise self._wrong(token_hash, address, "expired", said)
        self._note_use(user, now)
        return Caller(user.role, user.name, address=address)

    async def _refuse_if_early(self, token_hash: str, address: str) -> None:
        wait = self.wrong.wait_s(address)
        if wait > 0 and not await self._valid.include(token_hash):
            self.wrong.refused.count(address, "early")
            raise TooManyTries(wait)

    def _wrong(self, token_hash: str, address: str, reason: str, said: str) -> InvalidToken:
        self._valid.forget(token_hash)
        self.wrong.note(address, reason)
        return InvalidToken(said)

    def _note_use(self, user: User, now: int) -> None:
        """Store when the token was used, about once a minute. The call does not wait for that."""
        noted_at = self._noted_at.get(user.id, user.last_used_at)
        if noted_at is not None and now - NOTED_EVERY_MS < noted_at <= now:
            return
        self._noted_at[user.id] = now
        self._engine.submit(users.note_use_of_token, user.id, now).add_done_callback(_heed)


def _heed(noting: Future[None]) -> None:
    error = noting.exception()
    if isinstance(error, HoldfastError):
        log.debug("the use of a token could not be noted: %s", error)
