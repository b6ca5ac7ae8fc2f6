"""Maintenance: the chores of the database. Every blocking call has an awaitable twin."""

from __future__ import annotations

from typing import Any

from holdfast.client.resources.handle import JobHandle
from holdfast.client.store_access import StoreAccess
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import Enqueued
from holdfast.core.machine.maintenance import EVERY_CHORE
from holdfast.core.messages.maintenance import ChoreView
from holdfast.core.settings import rule_table
from holdfast.runtime.caller import what_triggers
from holdfast.store.script_names import maintenance


class Maintaining:
    """The part of `Holdfast` for the maintenance of the database."""

    _access: StoreAccess

    def maintenance(self) -> list[ChoreView]:
        """Every chore of the database: what it does, when it is due again, and what the last one did."""
        return self._access.read(maintenance.list_chores)

    async def amaintenance(self) -> list[ChoreView]:
        """The awaitable twin of `maintenance`."""
        return await self._access.aread(maintenance.list_chores)

    def maintain(self, chore: str = EVERY_CHORE) -> list[JobHandle[Any]]:
        """Have a chore done now: `hf.maintain("retention")`; or all of them that are not for a quiet hour.

        A chore is a job like others. The daemon does it, or a program that runs jobs. If it waits already, that job is
        the answer.
        """
        return self._handles(self._access.write(maintenance.maintain, *_wanted(self._access.now(), chore)))

    async def amaintain(self, chore: str = EVERY_CHORE) -> list[JobHandle[Any]]:
        """The awaitable twin of `maintain`."""
        return self._handles(
            await self._access.awrite(maintenance.maintain, *_wanted(await self._access.anow(), chore))
        )

    def _handles(self, answers: list[Enqueued]) -> list[JobHandle[Any]]:
        return [JobHandle(self._access, answer, None) for answer in answers]


def _wanted(now: Millis, chore: str) -> tuple[str, int, str]:
    return str(rule_table.check("chore", chore)), now, what_triggers()
