"""The hashes of all tokens that are valid, for the time when an address is slowed.

They tell a right token from a wrong one without a read for each request. All who ask within a second share one read,
and so do all who ask while it is under way. If it fails, it has failed for them all.
"""

from __future__ import annotations

import asyncio

from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine
from holdfast.store.scripts.access import users

READ_EVERY_S = 1.0


class ValidTokens:
    """Reads the hashes when somebody asks. For one event loop."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._reading: asyncio.Task[set[str]] | None = None
        self._begun_at = 0.0

    async def include(self, token_hash: str) -> bool:
        """Whether the token was valid when the hashes were read. What has happened since then is not known here."""
        # Shielded, as a caller that goes away must not end the read of the others.
        return token_hash in await asyncio.shield(self._read())

    def forget(self, token_hash: str) -> None:
        """It was looked up, and is not valid any more."""
        reading = self._reading
        if reading is not None and reading.done() and not reading.cancelled() and reading.exception() is None:
            reading.result().discard(token_hash)

    def _read(self) -> asyncio.Task[set[str]]:
        now = self._clock.monotonic()
        if self._reading is None or (self._reading.done() and now - self._begun_at >= READ_EVERY_S):
            self._begun_at = now
            self._reading = asyncio.create_task(self._engine.read(users.hashes_of_valid_tokens, self._clock.now()))
        return self._reading
