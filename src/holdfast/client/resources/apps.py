"""Apps: look at them, stop and start them. Every blocking call has an awaitable twin."""

from __future__ import annotations

from holdfast.client.store_access import StoreAccess
from holdfast.core.messages.apps import AppView
from holdfast.core.settings.rule_table import check
from holdfast.store.script_names import apps


class Apps:
    """The part of `Holdfast` for apps."""

    _access: StoreAccess

    def apps(self) -> list[AppView]:
        """Every app that a program has ever offered: what is wanted of it, how it is, and which process has it."""
        return self._access.read(apps.list_apps)

    async def aapps(self) -> list[AppView]:
        """The awaitable twin of `apps`."""
        return await self._access.aread(apps.list_apps)

    def find_app(self, app_key: str) -> AppView:
        """An app by its key."""
        return self._access.read(apps.find_app, _checked(app_key))

    async def afind_app(self, app_key: str) -> AppView:
        """The awaitable twin of `find_app`."""
        return await self._access.aread(apps.find_app, _checked(app_key))

    def start_app(self, app_key: str) -> AppView:
        """Let an app run again that was stopped, or try one again that failed."""
        return self._access.write(apps.start_app, _checked(app_key))

    async def astart_app(self, app_key: str) -> AppView:
        """The awaitable twin of `start_app`."""
        return await self._access.awrite(apps.start_app, _checked(app_key))

    def stop_app(self, app_key: str) -> AppView:
        """Stop an app until it is started again, also if its process ends meanwhile."""
        return self._access.write(apps.stop_app, _checked(app_key))

    async def astop_app(self, app_key: str) -> AppView:
        """The awaitable twin of `stop_app`."""
        return await self._access.awrite(apps.stop_app, _checked(app_key))


def _checked(app_key: str) -> str:
    return check("app_key", app_key, "app")
