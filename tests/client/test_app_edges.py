"""What users may do in an app that hurts neither other apps nor the record."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest

from holdfast import App, Event, Holdfast, NotFound
from holdfast.apps.recorder import Recorder
from holdfast.core.apps.call import CallStatus
from holdfast.core.apps.status import AppStatus
from holdfast.store.scripts.apps.records import record_calls
from holdfast.testing import ManualClock
from tests.chaos.processes import until
from tests.store.app_acts import invocation

PATIENCE_S = 20.0
seen: SimpleQueue[Any] = SimpleQueue()


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    """What an earlier test has told is forgotten."""
    while not seen.empty():
        seen.get()


def next_seen() -> Any:
    return seen.get(timeout=PATIENCE_S)


def kitchen(hf: Holdfast, on_start: Callable[[App], object], on_stop: Callable[[App], Any] | None = None) -> None:
    """An app whose start and stop are given."""

    @hf.app("kitchen")
    class Kitchen(App):
        async def on_start(self) -> None:
            on_start(self)

        async def on_stop(self) -> None:
            if on_stop is not None:
                await on_stop(self)


def hall(hf: Holdfast) -> None:
    """Another app, which hears pings."""

    @hf.app("hall")
    class Hall(App):
        async def on_start(self) -> None:
            self.bus.on("ping", self.on_ping)

        async def on_ping(self, event: Event) -> None:
            seen.put(("ping", event.data))


def status(hf: Holdfast) -> AppStatus:
    return hf.find_app("kitchen").status


def stop_and_await(hf: Holdfast) -> None:
    hf.stop_app("kitchen")
    until(lambda: status(hf) is AppStatus.STOPPED, "the app is stopped")


def test_a_timer_that_is_made_while_the_app_ends_never_fires(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)

    async def on_stop(app: App) -> None:
        app.scheduler.run_every(1, lambda: seen.put("late"))

    kitchen(hf, lambda app: None, on_stop)
    with hf:
        stop_and_await(hf)
        clock.advance(5)
    assert seen.empty()


@pytest.mark.parametrize("how", ["cancelled", "exit", "raise"])
def test_an_app_whose_stop_fails_is_stopped_all_the_same(hf: Holdfast, how: str) -> None:
    async def on_stop(app: App) -> None:
        if how == "cancelled":
            task = asyncio.create_task(asyncio.sleep(100))
            task.cancel()
            await task
        if how == "exit":
            sys.exit(3)
        raise ValueError("kaputt")

    kitchen(hf, lambda app: None, on_stop)
    with hf:
        stop_and_await(hf)
        hf.start_app("kitchen")
        until(lambda: status(hf) is AppStatus.RUNNING, "it runs again")


def test_a_start_that_is_cancelled_has_failed(hf: Holdfast) -> None:
    def on_start(app: App) -> None:
        raise asyncio.CancelledError

    kitchen(hf, on_start)
    with hf:
        assert hf.find_app("kitchen").error_type == "CancelledError"


def test_a_cancelled_handler_delivers_nothing_that_a_debounce_holds(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)
    handles = []
    hall(hf)

    def on_start(app: App) -> None:
        handles.append(app.bus.on("ping", lambda: seen.put("held"), name="held", debounce=2))

    kitchen(hf, on_start)
    with hf:
        hf.emit("ping")
        assert next_seen() == ("ping", None)
        handles[0].cancel()
        clock.advance(5)
    assert seen.empty()


def test_handlers_may_end_when_their_app_is_stopped(hf: Holdfast) -> None:
    async def handler() -> None:
        seen.put("began")
        await asyncio.sleep(0.2)
        seen.put("ended")

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light")
        assert next_seen() == "began"
        stop_and_await(hf)
        assert seen.get_nowait() == "ended"


def test_an_app_is_not_stopped_while_a_function_of_it_runs(hf: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.apps.host.PATIENCE_S", 0.0)
    go = threading.Event()

    def handler() -> None:
        seen.put("began")
        go.wait(PATIENCE_S)

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light")
        assert next_seen() == "began"
        hf.stop_app("kitchen")
        until(lambda: sum(hf.listeners()[0].counts.values()), "the call is on record")
        assert hf.listeners()[0].counts == {CallStatus.CANCELLED: 1}
        assert status(hf) is AppStatus.RUNNING
        go.set()
        until(lambda: status(hf) is AppStatus.STOPPED, "the app is stopped")


def test_what_a_predicate_raises_takes_no_event_from_others(hf: Holdfast) -> None:
    def where(event: Event) -> bool:
        sys.exit(3)

    kitchen(hf, lambda app: app.bus.on("ping", lambda: None, name="exits", where=where))
    hall(hf)
    with hf:
        hf.emit("ping")
        assert next_seen() == ("ping", None)


def test_an_exception_that_cannot_be_read_is_on_record(hf: Holdfast) -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise ValueError("no")

    def handler() -> None:
        raise Unreadable

    kitchen(hf, lambda app: app.bus.on("light", handler))
    hall(hf)
    with hf:
        hf.emit("light")
        until(lambda: hf.errors().errors, "the error is on record")
        hf.emit("ping")
        assert next_seen() == ("ping", None)
    assert hf.errors().errors[0].error_message == "its message cannot be read"


def test_handlers_do_not_share_an_event(hf: Holdfast) -> None:
    def change(event: Event) -> None:
        event.data["level"] = 0
        event.attributes.clear()

    kitchen(hf, lambda app: app.bus.on("ping", change, priority=5))
    hall(hf)
    with hf:
        hf.emit("ping", data={"level": 80})
        assert next_seen() == ("ping", {"level": 80})
        until(lambda: sum(sum(one.counts.values()) for one in hf.listeners()) == 2, "both calls are on record")
    assert hf.errors().errors == []


def test_a_callable_object_may_have_an_attribute_func(hf: Holdfast) -> None:
    class Handler:
        func = print

        async def __call__(self, event: Event) -> None:
            seen.put(event.name)

    kitchen(hf, lambda app: app.bus.on("light", Handler()))
    with hf:
        hf.emit("light")
        assert next_seen() == "light"


def test_a_cancelled_name_may_be_given_again_and_cancelled_once(hf: Holdfast) -> None:
    def on_start(app: App) -> None:
        handle = app.bus.on("light", lambda: seen.put("old"), name="lamp")
        handle.cancel()
        app.bus.on("light", lambda: seen.put("new"), name="lamp")
        handle.cancel()

    kitchen(hf, on_start)
    with hf:
        hf.emit("light")
        assert next_seen() == "new"
        until(lambda: [one.name for one in hf.listeners() if one.counts], "its call is on record")
    assert [one.retired_at for one in hf.listeners()] == [None]


def test_a_coroutine_that_blocks_beyond_its_time_has_timed_out(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)

    async def handler() -> None:
        clock.advance(10)  # As if it had slept without giving the event loop a chance.

    kitchen(hf, lambda app: app.bus.on("light", handler, timeout=5))
    with hf:
        hf.emit("light")
        until(lambda: hf.listeners()[0].counts, "the call is on record")
    assert hf.listeners()[0].counts == {CallStatus.TIMED_OUT: 1}


def test_what_the_store_refuses_does_not_keep_the_rest_from_being_recorded(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[Any] = []

    def refuse_once(*args: Any) -> list[str]:
        if not refused and args[3]:
            refused.append(args)
            raise NotFound("it was refused")
        return record_calls(*args)

    monkeypatch.setattr(NotFound, "is_worth_repeating", False)
    monkeypatch.setattr("holdfast.apps.recorder.record_calls", refuse_once)
    kitchen(hf, lambda app: app.bus.on("light", lambda: None))
    with hf:
        hf.emit("light")
        until(lambda: refused, "a batch was refused")
        hf.emit("light")
        until(lambda: hf.listeners()[0].counts, "a later call is on record")


def test_many_functions_wait_for_a_thread(hf: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.apps.calling.MOST_THREADS", 2)
    inside, most, lock = [], [], threading.Lock()

    def handler() -> None:
        with lock:
            inside.append(1)
            most.append(len(inside))
        threading.Event().wait(0.01)
        with lock:
            inside.pop()

    kitchen(hf, lambda app: app.bus.on("light", handler, mode="parallel"))
    with hf:
        for _ in range(10):
            hf.emit("light")
        until(lambda: hf.listeners()[0].counts.get(CallStatus.SUCCESS) == 10, "all calls are on record")
    assert max(most) <= 2


def test_a_plain_start_runs_in_a_thread(hf: Holdfast) -> None:
    @hf.app("kitchen")
    class Kitchen(App):
        def on_start(self) -> None:  # type: ignore[override]
            seen.put(threading.current_thread().name)

    with hf:
        assert next_seen().startswith("holdfast-task")
        assert status(hf) is AppStatus.RUNNING


def test_an_emit_says_how_many_apps_listen(hf: Holdfast) -> None:
    hall(hf)
    with hf:
        assert (hf.emit("ping").apps, hf.emit("pong").apps) == (1, 0)


def test_calls_that_end_after_their_app_was_lost_take_no_room(hf: Holdfast) -> None:
    async def lose() -> Recorder:
        recorder = Recorder(hf._access.engine, hf._access.clock, "session", "secret", lambda app_key: None)
        buffer = recorder.begin("kitchen", lambda name: None)
        recorder.add_call(buffer, invocation(1))
        recorder.forget("kitchen")
        recorder.add_call(buffer, invocation(2))
        return recorder

    recorder = asyncio.run(lose())
    assert (recorder.rows_dropped, recorder._kept) == (2, 0)
