"""Tokens: what each machine has of cores, graphics cards and heavy input and output, and what runs use of it.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from typing import Any

from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import InvalidInput
from holdfast.core.messages.machines import NodeTokens
from holdfast.core.rules.units import Duration
from holdfast.core.settings import rule_table
from holdfast.store.script_names import tokens


class TokenCalls:
    """The part of `Holdfast` for tokens."""

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
        """Set the tokens of a machine: `hf.set_tokens(cpu=6, io=4)`. What is left out stays.

        `timeout` is how long a job that does not fit lets smaller ones pass. If there is one machine, it need not be
        named. The settings of a daemon count again when that daemon starts.
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
    checked = [None if count is None else rule_table.check(kind, count) for kind, count in counts.items()]
    wait = None if timeout is None else rule_table.millis("set_tokens.timeout_ms", timeout, "timeout")
    return (None if node is None else rule_table.check("node", node), *checked, wait)
