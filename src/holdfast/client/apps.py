"""Apps: look at them and at what their handlers and timers did, stop and start them.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from holdfast.client.store_access import StoreAccess
from holdfast.core.job import Millis
from holdfast.core.messages.apps import AppView
from holdfast.core.messages.telemetry import (
    ExecutionPage,
    FailedCallPage,
    InvocationPage,
    ListenerView,
    TimerView,
    TimerWish,
)
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION, FLAG, MOMENT
from holdfast.core.settings import rule_table
from holdfast.store.script_names import apps, calls


class Apps:
    """The part of `Holdfast` for apps. `since` is a datetime, or how long ago: seconds, or a text such as "24h"."""

    _access: StoreAccess

    def apps(self) -> list[AppView]:
        """Every app that a program has ever offered: what is wanted of it, how it is, and which process has it."""
        return self._access.read(apps.list_apps)

    async def aapps(self) -> list[AppView]:
        """The awaitable twin of `apps`."""
        return await self._access.aread(apps.list_apps)

    def find_app(self, app_key: str) -> AppView:
        """An app by its key."""
        return self._access.read(apps.find_app, _key(app_key))

    async def afind_app(self, app_key: str) -> AppView:
        """The awaitable twin of `find_app`."""
        return await self._access.aread(apps.find_app, _key(app_key))

    def start_app(self, app_key: str) -> AppView:
        """Let an app run again that was stopped, or try one again that failed."""
        return self._access.write(apps.start_app, _key(app_key))

    async def astart_app(self, app_key: str) -> AppView:
        """The awaitable twin of `start_app`."""
        return await self._access.awrite(apps.start_app, _key(app_key))

    def stop_app(self, app_key: str) -> AppView:
        """Stop an app until it is started again, also if its process ends meanwhile."""
        return self._access.write(apps.stop_app, _key(app_key))

    async def astop_app(self, app_key: str) -> AppView:
        """The awaitable twin of `stop_app`."""
        return await self._access.awrite(apps.stop_app, _key(app_key))

    def listeners(
        self, *, app: str | None = None, since: datetime | Duration | None = None, retired: bool = False
    ) -> list[ListenerView]:
        """The handlers of events of apps, with their calls of the last days by how they ended.

        With `since`, those that were called from then on. With `retired`, also those that are registered no more.
        """
        return self._access.read(
            calls.list_listeners, *_chosen(self._access.now(), app, since), FLAG.check("retired", retired)
        )

    async def alisteners(
        self, *, app: str | None = None, since: datetime | Duration | None = None, retired: bool = False
    ) -> list[ListenerView]:
        """The awaitable twin of `listeners`."""
        return await self._access.aread(
            calls.list_listeners, *_chosen(await self._access.anow(), app, since), FLAG.check("retired", retired)
        )

    def listener(self, listener_id: int) -> ListenerView:
        """A handler of events by its id."""
        return self._access.read(calls.find_listener, rule_table.check("listener_id", listener_id, "listener"))

    async def alistener(self, listener_id: int) -> ListenerView:
        """The awaitable twin of `listener`."""
        return await self._access.aread(calls.find_listener, rule_table.check("listener_id", listener_id, "listener"))

    def invocations(
        self, listener_id: int, *, since: datetime | Duration | None = None, limit: int = 50, cursor: str | None = None
    ) -> InvocationPage:
        """A page of the calls of a handler of events, newest first."""
        return self._access.read(
            calls.list_invocations,
            rule_table.check("listener_id", listener_id, "listener"),
            *page_of(self._access.now(), since, limit, cursor),
        )

    async def ainvocations(
        self, listener_id: int, *, since: datetime | Duration | None = None, limit: int = 50, cursor: str | None = None
    ) -> InvocationPage:
        """The awaitable twin of `invocations`."""
        return await self._access.aread(
            calls.list_invocations,
            rule_table.check("listener_id", listener_id, "listener"),
            *page_of(await self._access.anow(), since, limit, cursor),
        )

    def timers(
        self, *, app: str | None = None, since: datetime | Duration | None = None, retired: bool = False
    ) -> list[TimerView]:
        """The timers of apps, with their calls of the last days by how they ended.

        With `since`, those that were called from then on. With `retired`, also those that are registered no more.
        """
        return self._access.read(
            calls.list_timers, *_chosen(self._access.now(), app, since), FLAG.check("retired", retired)
        )

    async def atimers(
        self, *, app: str | None = None, since: datetime | Duration | None = None, retired: bool = False
    ) -> list[TimerView]:
        """The awaitable twin of `timers`."""
        return await self._access.aread(
            calls.list_timers, *_chosen(await self._access.anow(), app, since), FLAG.check("retired", retired)
        )

    def timer(self, timer_id: int) -> TimerView:
        """A timer by its id."""
        return self._access.read(calls.find_timer, rule_table.check("timer_id", timer_id, "timer"))

    async def atimer(self, timer_id: int) -> TimerView:
        """The awaitable twin of `timer`."""
        return await self._access.aread(calls.find_timer, rule_table.check("timer_id", timer_id, "timer"))

    def executions(
        self, timer_id: int, *, since: datetime | Duration | None = None, limit: int = 50, cursor: str | None = None
    ) -> ExecutionPage:
        """A page of the calls of a timer, newest first."""
        return self._access.read(
            calls.list_executions,
            rule_table.check("timer_id", timer_id, "timer"),
            *page_of(self._access.now(), since, limit, cursor),
        )

    async def aexecutions(
        self, timer_id: int, *, since: datetime | Duration | None = None, limit: int = 50, cursor: str | None = None
    ) -> ExecutionPage:
        """The awaitable twin of `executions`."""
        return await self._access.aread(
            calls.list_executions,
            rule_table.check("timer_id", timer_id, "timer"),
            *page_of(await self._access.anow(), since, limit, cursor),
        )

    def run_timer(self, timer_id: int) -> TimerView:
        """Call a timer now, in the process that has its app. Conflict: none has it."""
        return self._access.write(calls.ask_timer, rule_table.check("timer_id", timer_id, "timer"), TimerWish.RUN)

    async def arun_timer(self, timer_id: int) -> TimerView:
        """The awaitable twin of `run_timer`."""
        return await self._access.awrite(
            calls.ask_timer, rule_table.check("timer_id", timer_id, "timer"), TimerWish.RUN
        )

    def cancel_timer(self, timer_id: int) -> TimerView:
        """Cancel a timer until its app registers it again. Conflict: no process has the app."""
        return self._access.write(calls.ask_timer, rule_table.check("timer_id", timer_id, "timer"), TimerWish.CANCEL)

    async def acancel_timer(self, timer_id: int) -> TimerView:
        """The awaitable twin of `cancel_timer`."""
        return await self._access.awrite(
            calls.ask_timer, rule_table.check("timer_id", timer_id, "timer"), TimerWish.CANCEL
        )

    def errors(
        self,
        *,
        app: str | None = None,
        since: datetime | Duration | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> FailedCallPage:
        """A page of the calls of handlers and timers that failed or took too long, newest first."""
        return self._access.read(
            calls.list_failed_calls,
            None if app is None else _key(app),
            *page_of(self._access.now(), since, limit, cursor),
        )

    async def aerrors(
        self,
        *,
        app: str | None = None,
        since: datetime | Duration | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> FailedCallPage:
        """The awaitable twin of `errors`."""
        return await self._access.aread(
            calls.list_failed_calls,
            None if app is None else _key(app),
            *page_of(await self._access.anow(), since, limit, cursor),
        )


def _key(app_key: str) -> str:
    return rule_table.check("app_key", app_key, "app")


def _chosen(now: Millis, app: str | None, since: datetime | Duration | None) -> tuple[str | None, Millis | None]:
    return None if app is None else _key(app), _moment(now, since)


def page_of(now: Millis, since: datetime | Duration | None, limit: int, cursor: str | None) -> tuple[Any, ...]:
    """The arguments of a list that goes back in time."""
    return (
        _moment(now, since),
        rule_table.check("limit", limit),
        None if cursor is None else rule_table.check("cursor", cursor),
    )


def _moment(now: Millis, since: datetime | Duration | None) -> Millis | None:
    if since is None:
        return None
    if isinstance(since, datetime):
        return MOMENT.millis("since", since)
    return max(0, now - DURATION.millis("since", since))
