"""The tasks that workers have declared. Every blocking call has an awaitable twin with the prefix `a`."""

from __future__ import annotations

from holdfast.client.store_access import StoreAccess
from holdfast.core.messages.tasks import KnownTask
from holdfast.core.settings import rule_table
from holdfast.store.script_names import declared_tasks


class TaskCalls:
    """The part of `Holdfast` that looks at the tasks of all workers."""

    _access: StoreAccess

    def tasks(self) -> list[KnownTask]:
        """Every task that workers have declared lately, by name, with its options and arguments."""
        return self._access.read(declared_tasks.list_tasks)

    async def atasks(self) -> list[KnownTask]:
        """The awaitable twin of `tasks`."""
        return await self._access.aread(declared_tasks.list_tasks)

    def find_task(self, name: str) -> KnownTask:
        """A task that workers have declared, by its name; NotFound names the nearest one."""
        return self._access.read(declared_tasks.find_task, rule_table.check("task", name))

    async def afind_task(self, name: str) -> KnownTask:
        """The awaitable twin of `find_task`."""
        return await self._access.aread(declared_tasks.find_task, rule_table.check("task", name))
