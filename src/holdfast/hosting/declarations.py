"""The schedules in the code of a program. They are stored when it begins to run jobs."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from holdfast.core.errors import InvalidInput
from holdfast.core.messages.schedules import DeclaredSchedule, Origin
from holdfast.core.rules.limits import MAX_NAME
from holdfast.hosting.engine_access import EngineAccess
from holdfast.store.script_names import declaring, schedules

log = logging.getLogger("holdfast.cron")


class Declarations:
    """The schedules in the code of a program, and the modules of that code."""

    def __init__(self, module: Mapping[str, Any] | None = None) -> None:
        self._owners: set[str] = set()
        self._wanted: dict[str, DeclaredSchedule] = {}
        self._is_stored = False
        if module is not None:
            self.claim(module)

    def claim(self, module: Mapping[str, Any]) -> str | None:
        """Note that a module belongs to the program: schedules that it no longer has are disabled. Return its name."""
        owner = owner_of(module)
        if owner is not None:
            self._owners.add(owner)
        return owner

    def add(self, wanted: DeclaredSchedule) -> None:
        """Add a schedule. Each has a name of its own."""
        name = wanted.schedule.name
        if name in self._wanted:
            raise InvalidInput(f"there is a schedule {name!r} in this code already; give this one another name=")
        self._wanted[name] = wanted

    def adopt(self, other: Declarations, who: str) -> None:
        """Add the schedules of another program too. `who` names both in the error if both have a schedule."""
        twice = sorted(self._wanted.keys() & other._wanted.keys())
        if twice:
            raise InvalidInput(f"{who} both have a schedule {twice[0]!r}; give one of them another name=")
        self._wanted |= other._wanted
        self._owners |= other._owners

    async def store(self, access: EngineAccess, *, again: bool = True) -> None:
        """Store them in the database. With `again=False`, only once for this program."""
        if self._is_stored and not again:
            return
        if self._wanted or (self._owners and await self._has_left_some(access)):
            wanted, owners = list(self._wanted.values()), sorted(self._owners)
            told = await access.awrite(declaring.declare_schedules, wanted, owners, await access.anow())
            for trouble in told.troubles:
                log.error("%s", trouble, extra={"event": "schedule_refused"})
            for name in told.disabled:
                log.warning("schedule %r is disabled: the code no longer asks for it", name)
        self._is_stored = True

    async def _has_left_some(self, access: EngineAccess) -> bool:
        """Whether schedules of an earlier version of this code are stored. Without any, nothing need be written."""
        found = await access.aread(schedules.list_schedules)
        return any(one.enabled and one.origin is Origin.CODE and one.owner in self._owners for one in found)


def owner_of(module: Mapping[str, Any]) -> str | None:
    """The name of the code of a module: its module name within a package, otherwise its file."""
    name = str(module.get("__name__"))
    spec = module.get("__spec__")
    if name == "__main__" and spec is not None:
        name = spec.name
    if "." in name:
        return name[-MAX_NAME:]
    file = module.get("__file__")
    if file is None:
        return None
    text = os.path.abspath(file).encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() else "?" for letter in text)[-MAX_NAME:]
