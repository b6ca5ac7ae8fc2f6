"""Tokens: what each machine has of cores, graphics cards and heavy input and output, and what runs use of it.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from typing import Any

from holdfast.client.durations import Duration, to_millis
from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import check_int, check_label
from holdfast.core.tokens import MOST_TOKENS
from holdfast.store.scripts import tokens
from holdfast.store.scripts.tokens import NodeTokens


class TokenCalls:
    """The part of `Holdfast` that deals with tokens."""

    _access: StoreAccess

    def tokens(self) -> list[NodeTokens]:
        """Every machine that runs jobs: the tokens it has, and those that its runs use."""
        return self._access.read(tokens.list_tokens)

    async def atokens(self) -> list[NodeTokens]:
        """The awaitable twin of `tokens`."""
        return await self._access.aread(tokens.list_tokens)

    def set_tokens(
        self,
        *,
        cpu: int | None = None,
        gpu: int | None = None,
        io: int | None = None,
        timeout: Duration | None = None,
        node: str | None = None,
    ) -> NodeTokens:
        """Say what a machine has from now on: `hf.set_tokens(cpu=6, io=4)`; what is left out stays.

        `timeout` is how long a job that does not fit lets smaller ones pass. The only machine need not be named.
        What the settings of a daemon say counts again when that daemon starts.
        """
        return self._access.write(tokens.set_tokens, self._access.now(), *_given(node, cpu, gpu, io, timeout))

    async def aset_tokens(
        self,
        *,
        cpu: int | None = None,
        gpu: int | None = None,
        io: int | None = None,
        timeout: Duration | None = None,
        node: str | None = None,
    ) -> NodeTokens:
        """The awaitable twin of `set_tokens`."""
        return await self._access.awrite(
            tokens.set_tokens, await self._access.anow(), *_given(node, cpu, gpu, io, timeout)
        )


def _given(
    node: str | None, cpu: int | None, gpu: int | None, io: int | None, timeout: Duration | None
) -> tuple[Any, ...]:
    counts = {"cpu": cpu, "gpu": gpu, "io": io}
    if timeout is None and all(count is None for count in counts.values()):
        raise InvalidInput("nothing to set: give cpu, gpu, io or timeout")
    checked = [None if count is None else check_int(kind, count, 0, MOST_TOKENS) for kind, count in counts.items()]
    wait = None if timeout is None else to_millis("timeout", timeout)
    return (None if node is None else check_label("node", node), *checked, wait)
