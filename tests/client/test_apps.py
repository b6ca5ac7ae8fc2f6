"""Apps: classes with handlers of events, called in one process at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from holdfast import App, Event, Holdfast, InvalidInput, NotFound, P
from holdfast.core.apps.status import AppStatus
from holdfast.testing import ManualClock
from tests.chaos.processes import until

PATIENCE_S = 20.0
seen: SimpleQueue[Any] = SimpleQueue()


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    """What the handlers of an earlier test have told is forgotten."""
    while not seen.empty():
        seen.get()


def next_seen() -> Any:
    return seen.get(timeout=PATIENCE_S)


def kitchen(hf: Holdfast, on_start: Callable[[App], object]) -> None:
    """An app whose start is given."""

    @hf.app("kitchen")
    class Kitchen(App):
        async def on_start(self) -> None:
            on_start(self)

        async def on_stop(self) -> None:
            seen.put("stopped")


def status(hf: Holdfast) -> AppStatus:
    return hf.find_app("kitchen").status


def test_a_handler_is_called_for_the_events_of_its_topic(hf: Holdfast) -> None:
    kitchen(hf, lambda app: app.bus.on("light.*", lambda event: seen.put((event.name, event.data))))
    with hf:
        hf.emit("door.front")
        hf.emit("light.sink", data={"level": 80})
        assert next_seen() == ("light.sink", {"level": 80})


def test_an_app_runs_when_the_block_begins_and_stops_when_it_ends(hf: Holdfast) -> None:
    kitchen(hf, lambda app: seen.put(app.key))
    with hf:
        assert seen.get_nowait() == "kitchen"
        assert status(hf) is AppStatus.RUNNING
    assert seen.get_nowait() == "stopped"
    assert status(hf) is AppStatus.WAITING


def test_events_before_the_start_are_not_heard(hf: Holdfast) -> None:
    hf.emit("light.old")
    kitchen(hf, lambda app: app.bus.on("light.*", lambda event: seen.put(event.name)))
    with hf:
        hf.emit("light.new")
        assert next_seen() == "light.new"


def test_what_is_emitted_while_an_app_starts_is_heard(hf: Holdfast) -> None:
    def start(app: App) -> None:
        hf.emit("light.early")
        app.bus.on("light.*", lambda event: seen.put(event.name))

    kitchen(hf, start)
    with hf:
        assert next_seen() == "light.early"


def test_a_drain_runs_no_apps(hf: Holdfast) -> None:
    kitchen(hf, lambda app: seen.put("started"))
    hf.drain()
    assert seen.empty()
    with pytest.raises(NotFound, match="there is no app 'kitchen'; holdfast apps lists them"):
        hf.find_app("kitchen")


def test_an_app_whose_start_raises_has_failed_and_hurts_no_other(hf: Holdfast) -> None:
    def break_down(app: App) -> None:
        raise ValueError("kaputt")

    kitchen(hf, break_down)

    @hf.app("hall")
    class Hall(App):
        async def on_start(self) -> None:
            self.bus.on("door.front", self.on_door)

        async def on_door(self) -> None:
            seen.put("door")

    with hf:
        view = hf.find_app("kitchen")
        assert (view.status, view.error_type, view.error_message) == (AppStatus.FAILED, "ValueError", "kaputt")
        assert "break_down" in (view.error_traceback or "")
        hf.emit("door.front")
        assert next_seen() == "door"


def test_a_start_that_takes_too_long_has_failed(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)

    @hf.app("kitchen")
    class Kitchen(App):
        async def on_start(self) -> None:
            seen.put("started")
            try:
                await asyncio.Event().wait()
            finally:
                seen.put("cancelled")

    starting = threading.Thread(target=hf.start)
    starting.start()
    assert next_seen() == "started"
    clock.advance(60)
    starting.join()
    assert hf.find_app("kitchen").error_message == "on_start took longer than 60 s"
    assert next_seen() == "cancelled"


def test_a_start_tries_a_failed_app_again(hf: Holdfast) -> None:
    starts = []

    def start(app: App) -> None:
        starts.append(app)
        if len(starts) == 1:
            raise ValueError("kaputt")

    kitchen(hf, start)
    with hf:
        assert status(hf) is AppStatus.FAILED
        hf.start_app("kitchen")
        until(lambda: status(hf) is AppStatus.RUNNING, "the app runs")
    assert starts[0] is not starts[1]


def test_a_stopped_app_hears_nothing_until_it_is_started(hf: Holdfast) -> None:
    kitchen(hf, lambda app: app.bus.on("light.*", lambda event: seen.put(event.name)))
    with hf:
        hf.stop_app("kitchen")
        assert next_seen() == "stopped"
        until(lambda: status(hf) is AppStatus.STOPPED, "the app is stopped")
        hf.emit("light.off")
        hf.start_app("kitchen")
        until(lambda: status(hf) is AppStatus.RUNNING, "the app runs")
        hf.emit("light.on")
        assert next_seen() == "light.on"


def test_a_stop_lasts_across_restarts(hf: Holdfast) -> None:
    kitchen(hf, lambda app: None)
    with hf:
        hf.stop_app("kitchen")
    with hf:
        assert status(hf) is AppStatus.STOPPED


def test_a_second_process_takes_over_when_the_first_stops(make_holdfast: Callable[..., Holdfast]) -> None:
    first, second = make_holdfast(), make_holdfast()
    kitchen(first, lambda app: app.bus.on("light.*", lambda event: seen.put("first")))
    kitchen(second, lambda app: app.bus.on("light.*", lambda event: seen.put("second")))
    with second:
        with first:
            owner = second.find_app("kitchen").session_id
            second.emit("light.a")
            assert next_seen() == "second"
        second.emit("light.b")
        assert next_seen() == "second"
        assert second.find_app("kitchen").session_id == owner
    with first:
        first.emit("light.c")
        assert [next_seen(), next_seen()] == ["stopped", "first"]


def test_the_calls_of_an_event_begin_with_the_highest_priority(hf: Holdfast) -> None:
    def start(app: App) -> None:
        for name, priority in (("low", -1), ("first", 0), ("second", 0), ("high", 5)):
            app.bus.on("light.*", note(name), name=name, priority=priority)

    def note(name: str) -> Callable[[], Any]:
        async def handler() -> None:
            seen.put(name)

        return handler

    kitchen(hf, start)
    with hf:
        hf.emit("light.sink")
        assert [next_seen() for _ in range(4)] == ["high", "first", "second", "low"]


def test_a_handler_gets_attributes_and_fields_by_name_and_type(hf: Holdfast) -> None:
    async def handler(event: Event, level: int, room: str, is_on: bool = False, missing: float = 0.5) -> None:
        seen.put((event.name, level, room, is_on, missing))

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light", level=80, is_on=True, data={"room": "kitchen", "level": 1})
        assert next_seen() == ("light", 80, "kitchen", True, 0.5)


def test_a_cancelled_handler_hears_nothing(hf: Holdfast) -> None:
    handles = []

    def start(app: App) -> None:
        handles.append(app.bus.on("light", lambda: seen.put("cancelled one"), name="gone"))
        app.bus.on("light", lambda: seen.put("other"), name="kept")

    kitchen(hf, start)
    with hf:
        handles[0].cancel()
        hf.emit("light")
        assert next_seen() == "other"
    assert next_seen() == "stopped"


def test_a_handler_may_be_registered_while_the_app_runs(hf: Holdfast) -> None:
    apps: list[App] = []
    kitchen(hf, apps.append)
    with hf:
        apps[0].bus.on("late.*", lambda event: seen.put(event.name))
        hf.emit("late.one")
        assert next_seen() == "late.one"


def test_an_app_hears_what_the_system_tells(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    kitchen(hf, lambda app: app.bus.on("job.*", lambda event: seen.put(event.name)))
    with hf:
        work.enqueue().result(timeout=PATIENCE_S)
        assert next_seen().startswith("job.")


def test_what_a_handler_does_names_it_as_the_cause(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    async def handler() -> None:
        seen.put((await work.aenqueue()).id)

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light")
        trigger = hf.job(next_seen()).job.trigger or ""
    assert '"kind":"app","app":"kitchen","handler":"handler","invocation":"' in trigger


def test_a_handler_that_raises_does_not_end_the_app(hf: Holdfast) -> None:
    def handler(fail: bool) -> None:
        if fail:
            raise ValueError("kaputt")
        seen.put("well")

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light", fail=True)
        hf.emit("light", fail=False)
        assert next_seen() == "well"


def test_a_call_that_takes_too_long_is_cancelled(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)

    async def handler() -> None:
        seen.put("began")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.put("cancelled")
            raise

    kitchen(hf, lambda app: app.bus.on("light", handler, timeout=5))
    with hf:
        hf.emit("light")
        assert next_seen() == "began"
        clock.advance(5)
        assert next_seen() == "cancelled"


def test_handlers_that_run_at_the_end_may_finish(hf: Holdfast) -> None:
    go = threading.Event()

    def handler() -> None:
        seen.put("began")
        go.wait(PATIENCE_S)
        seen.put("ended")

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light")
        assert next_seen() == "began"
        threading.Timer(0.1, go.set).start()
    assert [next_seen(), next_seen()] == ["ended", "stopped"]


def test_events_quick_after_each_other_are_one_call_with_a_debounce(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)
    heard = SimpleQueue[str]()

    def start(app: App) -> None:
        app.bus.on("light", lambda event: seen.put(event.attributes["level"]), debounce=0.5)
        app.bus.on("light", lambda event: heard.put(event.attributes["level"]), name="each")

    kitchen(hf, start)
    with hf:
        for level in range(5):
            hf.emit("light", level=level)
            heard.get(timeout=PATIENCE_S)
        with pytest.raises(Empty):
            seen.get_nowait()
        clock.advance(0.5)
        assert next_seen() == "4"


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda app: app.bus.on("a b", print), "topic 'a b' is not valid"),
        (lambda app: app.bus.on("light", 7), "handler 7 cannot be called: give a method or a function"),
        (lambda app: app.bus.on("light", lambda *more: None), "cannot take \\*more: an event gives arguments by name"),
        (lambda app: app.bus.on("light", lambda: None, debounce=-1), "debounce -1 is not valid"),
        (lambda app: app.bus.on("light", lambda: None, timeout=0), "timeout 0 is not valid"),
        (lambda app: app.bus.on("light", lambda: None, priority="high"), "priority 'high' is not valid"),
        (lambda app: app.bus.on("light", lambda: None, mode="twice"), "mode 'twice' is not valid"),
        (
            lambda app: [app.bus.on("light", lambda: None, name="a"), app.bus.on("door", lambda: None, name="a")],
            "app 'kitchen' has a listener 'a' already; give this one another name=",
        ),
    ],
)
def test_a_bad_registration_is_refused(hf: Holdfast, wrong: Callable[[App], Any], text: str) -> None:
    errors: list[BaseException] = []

    def start(app: App) -> None:
        with pytest.raises(InvalidInput, match=text) as raised:
            wrong(app)
        errors.append(raised.value)

    kitchen(hf, start)
    with hf:
        assert status(hf) is AppStatus.RUNNING
    assert errors


def test_a_key_is_given_once(hf: Holdfast) -> None:
    kitchen(hf, lambda app: None)
    with pytest.raises(InvalidInput, match="there is an app 'kitchen' in this code already; give this one another key"):
        kitchen(hf, lambda app: None)


def test_only_a_subclass_is_an_app(hf: Holdfast) -> None:
    with pytest.raises(InvalidInput, match=r"is no app: write `class Kitchen\(App\)`"):
        hf.app("kitchen")(dict)  # type: ignore[type-var]
    with pytest.raises(InvalidInput, match=r'an app needs a key: write @hf.app\("kitchen"\)'):
        hf.app(type("Kitchen", (App,), {}))  # type: ignore[arg-type]


def test_no_app_is_added_while_the_program_runs(hf: Holdfast) -> None:
    with hf, pytest.raises(InvalidInput, match="define its apps before it starts"):
        kitchen(hf, lambda app: None)


def test_a_predicate_says_which_events_are_meant(hf: Holdfast) -> None:
    where = (P.attr("new") == "on") & (P.data("level") > 50)
    kitchen(hf, lambda app: app.bus.on("light", lambda event: seen.put(event.data["level"]), where=where))
    with hf:
        hf.emit("light", new="off", data={"level": 60})
        hf.emit("light", new="on", data={"level": 40})
        hf.emit("light", new="on", data={"level": 80})
        assert next_seen() == 80


def test_a_predicate_that_raises_calls_nothing_and_ends_nothing(hf: Holdfast) -> None:
    def where(event: Event) -> bool:
        return event.attributes["new"] == "on"

    kitchen(hf, lambda app: app.bus.on("light", lambda new: seen.put(new), where=where))
    with hf:
        hf.emit("light")
        hf.emit("light", new="on")
        assert next_seen() == "on"
