"""The timers of apps: when they call, and what is on record of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from holdfast import App, Conflict, Holdfast, InvalidInput
from holdfast.core.apps.call import CallStatus
from holdfast.core.messages.telemetry import TimerView
from holdfast.testing import ManualClock
from tests.chaos.processes import until

PATIENCE_S = 20.0
START = datetime(2030, 1, 1, 6, 59, tzinfo=UTC)
seen: SimpleQueue[Any] = SimpleQueue()


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    """What the timers of an earlier test have told is forgotten."""
    while not seen.empty():
        seen.get()


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still until a test moves it."""
    return ManualClock(START)


@pytest.fixture
def hf(make_holdfast: Callable[..., Holdfast], clock: ManualClock) -> Holdfast:
    """A Holdfast with that clock."""
    return make_holdfast(clock=clock)


def next_seen() -> Any:
    return seen.get(timeout=PATIENCE_S)


def tell(word: Any = "called") -> None:
    seen.put(word)


def kitchen(hf: Holdfast, on_start: Callable[[App], object]) -> list[App]:
    """An app whose start is given; the object is in the list once it has started."""
    made: list[App] = []

    @hf.app("kitchen")
    class Kitchen(App):
        async def on_start(self) -> None:
            on_start(self)
            made.append(self)

    return made


def timer(hf: Holdfast, name: str = "tell") -> TimerView:
    [found] = [one for one in hf.timers(retired=True) if one.job_name == name]
    return found


def counted(hf: Holdfast, calls: int, name: str = "tell") -> TimerView:
    """The timer, once so many calls of it are on record."""
    until(lambda: sum(timer(hf, name).counts.values()) >= calls, f"{calls} calls are on record")
    return timer(hf, name)


def test_a_delay_calls_once(hf: Holdfast, clock: ManualClock) -> None:
    kitchen(hf, lambda app: app.scheduler.run_in(300, tell, args=["off"]))
    with hf:
        clock.advance(299)
        with pytest.raises(Empty):
            seen.get_nowait()
        clock.advance(1)
        assert next_seen() == "off"
        counted(hf, 1)
        clock.advance(1_000)
        view = timer(hf)
    assert (view.trigger_type, view.trigger_value, view.repeat) == ("after", "5m", False)
    assert view.counts == {CallStatus.SUCCESS: 1}
    [call] = hf.executions(view.id).executions
    assert call.fire_time == int(START.timestamp() * 1000) + 300_000


def test_a_moment_calls_once(hf: Holdfast, clock: ManualClock) -> None:
    kitchen(hf, lambda app: app.scheduler.run_at(START + timedelta(minutes=2), tell))
    with hf:
        clock.advance(120)
        assert next_seen() == "called"


def test_a_period_calls_again_and_again(hf: Holdfast, clock: ManualClock) -> None:
    kitchen(hf, lambda app: app.scheduler.run_every(10, tell, kwargs={"word": "tick"}))
    with hf:
        for _ in range(3):
            clock.advance(10)
            assert next_seen() == "tick"
        counted(hf, 3)


def test_a_cron_expression_calls_at_its_ticks(hf: Holdfast, clock: ManualClock) -> None:
    kitchen(hf, lambda app: app.scheduler.run_cron("0 8 * * *", tell, tz="Europe/Berlin", name="morning"))
    with hf:
        assert timer(hf, "morning").next_run_at == int(START.timestamp() * 1000) + 60_000
        clock.advance(60)
        assert next_seen() == "called"
        view = counted(hf, 1, "morning")
        tomorrow = int((START + timedelta(days=1, minutes=1)).timestamp() * 1000)
        until(lambda: timer(hf, "morning").next_run_at == tomorrow, "the next tick is known")
    assert (view.trigger_type, view.trigger_value, view.repeat) == ("cron", "0 8 * * * Europe/Berlin", True)


def test_a_daily_timer_calls_at_its_time(hf: Holdfast, clock: ManualClock) -> None:
    kitchen(hf, lambda app: app.scheduler.run_daily("7:00", tell))
    with hf:
        clock.advance(60)
        assert next_seen() == "called"


def test_a_timer_that_is_due_while_it_runs_is_skipped(hf: Holdfast, clock: ManualClock) -> None:
    async def slow() -> None:
        seen.put("began")
        await asyncio.Event().wait()

    kitchen(hf, lambda app: app.scheduler.run_every(10, slow))
    with hf:
        clock.advance(10)
        assert next_seen() == "began"
        clock.advance(10)
        assert counted(hf, 1, "slow").counts == {CallStatus.SKIPPED: 1}


def test_one_shots_without_a_name_may_be_many_and_share_a_row(hf: Holdfast, clock: ManualClock) -> None:
    def start(app: App) -> None:
        for seconds in (30, 10, 20):
            app.scheduler.run_in(seconds, tell, args=[seconds])

    kitchen(hf, start)
    with hf:
        assert timer(hf).next_run_at == int(START.timestamp() * 1000) + 10_000
        for seconds in (10, 20, 30):
            clock.advance(10)
            assert next_seen() == seconds
        assert counted(hf, 3).counts == {CallStatus.SUCCESS: 3}
        until(lambda: timer(hf).retired_at is not None, "the row is retired")


def test_a_name_is_taken_once_unless_it_is_said_otherwise(hf: Holdfast, clock: ManualClock) -> None:
    def start(app: App) -> None:
        app.scheduler.run_in(10, tell, name="off", args=["first"])
        with pytest.raises(InvalidInput, match="there is a timer 'off' in this app already"):
            app.scheduler.run_in(20, tell, name="off")
        assert app.scheduler.run_in(20, tell, name="off", if_exists="skip").name == "off"
        app.scheduler.run_in(15, tell, name="off", args=["second"], if_exists="replace")

    kitchen(hf, start)
    with hf:
        clock.advance(10)
        clock.advance(5)
        assert next_seen() == "second"
        assert counted(hf, 1, "off").counts == {CallStatus.SUCCESS: 1}


def test_a_name_is_free_again_after_its_one_shot(hf: Holdfast, clock: ManualClock) -> None:
    made = kitchen(hf, lambda app: app.scheduler.run_in(10, tell, name="off"))
    with hf:
        clock.advance(10)
        next_seen()
        made[0].scheduler.run_in(10, tell, name="off", args=["again"])
        until(lambda: timer(hf, "off").next_run_at is not None, "the new one is on record")
        clock.advance(10)
        assert next_seen() == "again"
        counted(hf, 2, "off")


def test_a_cancelled_timer_does_not_call(hf: Holdfast, clock: ManualClock) -> None:
    def start(app: App) -> None:
        app.scheduler.run_in(10, tell, name="gone").cancel()
        app.scheduler.run_in(10, tell, name="kept", args=["kept"])

    kitchen(hf, start)
    with hf:
        clock.advance(10)
        assert next_seen() == "kept"
    assert seen.empty()


def test_a_timer_is_run_by_hand(hf: Holdfast) -> None:
    kitchen(hf, lambda app: app.scheduler.register(tell))
    with hf:
        assert timer(hf).trigger_type is None
        hf.run_timer(timer(hf).id)
        assert next_seen() == "called"
        view = counted(hf, 1)
        until(lambda: timer(hf).asked is None, "what was asked is done")
        assert hf.executions(view.id).executions[0].fire_time is None
        hf.run_timer(timer(hf).id)
        assert next_seen() == "called"


def test_a_timer_is_cancelled_from_outside(hf: Holdfast, clock: ManualClock) -> None:
    kitchen(hf, lambda app: app.scheduler.run_every(10, tell))
    with hf:
        hf.cancel_timer(timer(hf).id)
        until(lambda: timer(hf).retired_at is not None, "the timer is gone")
        clock.advance(10)
    assert seen.empty()


def test_a_timer_of_an_app_that_does_not_run_is_not_run(hf: Holdfast) -> None:
    kitchen(hf, lambda app: app.scheduler.register(tell))
    with hf:
        pass
    with pytest.raises(Conflict, match="app 'kitchen' does not run"):
        hf.run_timer(timer(hf).id)


def test_a_timer_that_raises_is_on_record(hf: Holdfast, clock: ManualClock) -> None:
    def broken() -> None:
        raise ValueError("kaputt")

    kitchen(hf, lambda app: app.scheduler.run_in(1, broken))
    with hf:
        clock.advance(1)
        until(lambda: hf.errors().errors, "the error is on record")
    [error] = hf.errors().errors
    assert (error.name, error.error_type, error.job_id) == ("broken", "ValueError", timer(hf, "broken").id)


def test_the_arguments_are_on_record(hf: Holdfast) -> None:
    kitchen(hf, lambda app: app.scheduler.register(tell, args=[{"lamp": 1}], name="lamp"))
    with hf:
        assert timer(hf, "lamp").args_json == '[{"lamp":1}]'


def test_a_moment_that_the_clock_jumps_over_is_reckoned_anew(hf: Holdfast, clock: ManualClock) -> None:
    kitchen(hf, lambda app: app.scheduler.run_daily("7:00", tell))
    with hf:
        clock.step(timedelta(hours=3))
        clock.advance(61)
        until(
            lambda: timer(hf).next_run_at == int((START + timedelta(days=1, minutes=1)).timestamp() * 1000),
            "the next moment is tomorrow's",
        )
    assert seen.empty()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda app: app.scheduler.run_in(-1, tell), "-1"),
        (lambda app: app.scheduler.run_at(datetime(2030, 1, 1), tell), "as a datetime with a time zone"),
        (lambda app: app.scheduler.run_cron("7 o'clock", tell), "7 o'clock"),
        (lambda app: app.scheduler.run_daily("25:00", tell), "25:00"),
        (lambda app: app.scheduler.run_every(0, tell), "0"),
        (lambda app: app.scheduler.run_in(1, tell, if_exists="maybe"), "maybe"),
        (lambda app: app.scheduler.run_in(1, tell, args=[1, 2, 3]), "the arguments do not fit 'tell'"),
        (lambda app: app.scheduler.run_in(1, 7), "handler 7 cannot be called"),
        (lambda app: app.scheduler.run_in(1, tell, nmae="off"), "a timer has no option 'nmae'; there are name, args"),
    ],
)
def test_a_bad_timer_is_refused(hf: Holdfast, wrong: Callable[[App], object], text: str) -> None:
    refused: list[str] = []

    def start(app: App) -> None:
        with pytest.raises(InvalidInput) as raised:
            wrong(app)
        refused.append(str(raised.value))

    kitchen(hf, start)
    with hf:
        assert text in refused[0]
        assert hf.timers() == []
