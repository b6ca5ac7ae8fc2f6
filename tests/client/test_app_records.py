"""What handlers of apps did is on record: one row for each call."""

from __future__ import annotations

import asyncio
import resource
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest

from holdfast import App, Holdfast, P
from holdfast.apps import recorder
from holdfast.core.apps.call import CallStatus
from holdfast.core.messages.telemetry import FailedCall, ListenerView
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import emit
from holdfast.testing import ManualClock
from tests.chaos.processes import until
from tests.store.acts import statement

PATIENCE_S = 20.0


def kitchen(hf: Holdfast, on_start: Callable[[App], object]) -> None:
    """An app whose start is given."""

    @hf.app("kitchen")
    class Kitchen(App):
        async def on_start(self) -> None:
            on_start(self)


def recorded(hf: Holdfast, calls: int) -> ListenerView:
    """The only listener, once so many calls of it are on record."""

    def look() -> ListenerView | None:
        [listener] = hf.listeners()
        return listener if sum(listener.counts.values()) >= calls else None

    found = until(look, f"{calls} calls are on record")
    assert found is not None
    return found


def only_error(hf: Holdfast) -> FailedCall:
    return until(lambda: hf.errors().errors, "an error is on record")[0]


def test_a_listener_is_on_record_with_its_place_in_the_code(hf: Holdfast) -> None:
    kitchen(hf, lambda app: app.bus.on("light.*", print_nothing, where=P.attr("new") == "on", debounce=2, priority=3))
    with hf:
        [listener] = hf.listeners()
    assert (listener.name, listener.handler_method) == ("print_nothing@light.*", "print_nothing")
    assert (listener.debounce_ms, listener.priority, listener.mode, listener.timeout_ms) == (
        2_000,
        3,
        "queued",
        600_000,
    )
    assert listener.predicate_description == "P.attr('new') == 'on'"
    assert "test_app_records.py:" in listener.source_location
    assert (listener.registration_source or "").startswith("kitchen(hf, lambda app: app.bus.on(")


async def print_nothing() -> None: ...


def test_each_call_is_a_row(hf: Holdfast) -> None:
    def handler(fail: bool) -> None:
        if fail:
            raise ValueError("kaputt 17")

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        events = [hf.emit("light", fail=fail) for fail in (False, True, False)]
        listener = recorded(hf, 3)
    assert listener.counts == {CallStatus.SUCCESS: 2, CallStatus.ERROR: 1}
    rows = hf.invocations(listener.id).invocations
    assert [row.event_number for row in rows] == [event.number for event in reversed(events)]
    assert [row.event_id for row in rows] == [event.id for event in reversed(events)]
    error = hf.errors().errors[0]
    assert (error.error_type, error.error_message, error.handler_method) == ("ValueError", "kaputt 17", "handler")
    assert 'raise ValueError("kaputt 17")' in (error.error_traceback or "")
    assert error.fingerprint is not None


def test_the_same_mistake_has_the_same_fingerprint(hf: Holdfast) -> None:
    def handler(number: int) -> None:
        raise ValueError(f"no such lamp: {number}")

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light", number=1)
        hf.emit("light", number=2)
        recorded(hf, 2)
    assert len({error.fingerprint for error in hf.errors().errors}) == 1


def test_an_event_that_does_not_fit_is_a_dependency_error(hf: Holdfast) -> None:
    def handler(level: int) -> None: ...

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light")
        error = only_error(hf)
    assert (error.error_type, error.error_message) == (
        "DependencyError",
        "event 'light' has no attribute or field 'level', which handler 'handler' asks for",
    )


def test_a_value_of_the_wrong_kind_is_a_dependency_error(hf: Holdfast) -> None:
    def handler(level: int) -> None: ...

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light", level="bright")
        said = only_error(hf).error_message or ""
    assert "level 'bright' does not fit argument 'level' of handler 'handler'" in said


def test_a_predicate_that_raises_is_an_error_of_the_handler(hf: Holdfast) -> None:
    def where(event: Any) -> bool:
        raise KeyError("new")

    kitchen(hf, lambda app: app.bus.on("light", print_nothing, where=where))
    with hf:
        hf.emit("light")
        assert only_error(hf).error_type == "KeyError"


def test_a_call_that_takes_too_long_has_timed_out(make_holdfast: Callable[..., Holdfast]) -> None:
    clock, began = ManualClock(), SimpleQueue[str]()
    hf = make_holdfast(clock=clock)

    async def handler() -> None:
        began.put("it")
        await asyncio.Event().wait()

    kitchen(hf, lambda app: app.bus.on("light", handler, timeout=5))
    with hf:
        hf.emit("light")
        began.get(timeout=PATIENCE_S)
        clock.advance(5)
        error = only_error(hf)
    assert (error.status, error.error_type, error.duration_ms) == (CallStatus.TIMED_OUT, "TimeoutError", 5_000)


def test_a_call_that_is_restarted_was_cancelled(hf: Holdfast) -> None:
    began = SimpleQueue[str]()

    async def handler(number: str) -> None:
        began.put(number)
        if number == "1":
            await asyncio.Event().wait()

    kitchen(hf, lambda app: app.bus.on("light", handler, mode="restart"))
    with hf:
        for number in "12":
            hf.emit("light", number=number)
            assert began.get(timeout=PATIENCE_S) == number
        assert recorded(hf, 2).counts == {CallStatus.CANCELLED: 1, CallStatus.SUCCESS: 1}
    assert hf.errors().errors == []


def test_calls_at_the_end_are_on_record(hf: Holdfast) -> None:
    began = SimpleQueue[str]()

    async def handler() -> None:
        began.put("it")
        await asyncio.sleep(0.05)

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light")
        began.get(timeout=PATIENCE_S)
    assert hf.listeners()[0].counts == {CallStatus.SUCCESS: 1}


def test_events_that_nobody_can_wait_for_are_counted(hf: Holdfast) -> None:
    go = SimpleQueue[None]()
    kitchen(hf, lambda app: app.bus.on("light", lambda: go.get(timeout=PATIENCE_S)))
    with hf:
        for _ in range(1_103):
            hf.emit("light")
        until(lambda: hf.listeners()[0].events_dropped >= 102, "102 events were dropped")
        for _ in range(1_103):
            go.put(None)
        assert recorded(hf, 1_001).events_dropped == 102


def test_rows_beyond_the_room_are_counted(hf: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST_KEPT", 0)
    done = SimpleQueue[None]()
    kitchen(hf, lambda app: app.bus.on("light", lambda: done.put(None)))
    with hf:
        hf.emit("light")
        done.get(timeout=PATIENCE_S)
    [row] = hf._access.read(dropped)
    assert row["rows_dropped"] == 1


def dropped(tx: Any) -> Any:
    return tx.rows(statement("SELECT rows_dropped FROM sessions WHERE rows_dropped > 0"))


def test_lists_may_be_of_one_app_and_of_a_while(hf: Holdfast) -> None:
    kitchen(hf, lambda app: app.bus.on("light", print_nothing))

    @hf.app("hall")
    class Hall(App):
        async def on_start(self) -> None:
            self.bus.on("door", print_nothing)

    with hf:
        hf.emit("light")
        until(lambda: hf.listeners(app="kitchen")[0].counts, "the call is on record")
        assert [one.app_key for one in hf.listeners()] == ["hall", "kitchen"]
        assert [one.app_key for one in hf.listeners(since="1h")] == ["kitchen"]


def test_a_log_line_names_the_app_and_the_call(hf: Holdfast, caplog: pytest.LogCaptureFixture) -> None:
    def start(app: App) -> None:
        app.bus.on("light", lambda: app.log.warning("it is bright"), name="bright")

    kitchen(hf, start)
    with hf:
        hf.emit("light")
        listener = recorded(hf, 1)
    [line] = [one for one in caplog.records if one.message == "it is bright"]
    assert (line.app, line.handler) == ("kitchen", "<lambda>")  # type: ignore[attr-defined]
    assert line.invocation == hf.invocations(listener.id).invocations[0].id  # type: ignore[attr-defined]


@pytest.mark.long
def test_a_hundred_thousand_events_at_once_take_bounded_memory(hf: Holdfast) -> None:
    began, go = threading.Event(), threading.Event()

    def handler() -> None:
        began.set()
        go.wait(600)  # However long the emitting takes.

    kitchen(hf, lambda app: app.bus.on("light", handler))
    with hf:
        hf.emit("light")
        assert began.wait(PATIENCE_S)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(100):
            hf._access.write(emit_many, 1_000)
        until(lambda: hf.listeners()[0].events_dropped == 99_000, "all but those that may wait are dropped")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        go.set()
        recorded(hf, 1_001)
    assert grown < 100_000  # KiB


def emit_many(tx: Tx, count: int) -> None:
    """Emit so many events in one transaction."""
    for _ in range(count):
        emit(tx, tx.new_id(), "light", None, 1_700_000_000_000)
