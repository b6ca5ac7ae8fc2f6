"""What apps have registered, and one row for each call."""

from __future__ import annotations

import pytest

from holdfast.core.apps.call import CallStatus
from holdfast.core.errors import Conflict, NotFound, NotHolder
from holdfast.core.messages.apps import OfferedApp
from holdfast.core.messages.telemetry import AppRecord, NewExecution, NewInvocation, Registrations, TimerWish
from holdfast.store.engine import Engine
from holdfast.store.scripts.apps.app_owners import begin_app, release_app, take_apps
from holdfast.store.scripts.apps.calls import (
    ask_timer,
    find_listener,
    list_executions,
    list_failed_calls,
    list_invocations,
    list_listeners,
    list_timers,
)
from holdfast.store.scripts.apps.hearing import events_after
from holdfast.store.scripts.apps.records import clear_asked, forget_calls, record_calls
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.scripts.sessions.sessions import close_session
from tests.store.acts import NOW, open_session, select, write
from tests.store.app_acts import execution, failed, invocation, listener, record, registered, timer


@pytest.fixture(autouse=True)
def app(engine: Engine) -> None:
    """An app that runs, with a listener and a timer."""
    open_session(engine, "one")
    open_session(engine, "two")
    begin(engine, "one", registered())


def begin(engine: Engine, session: str, registrations: Registrations, now: int = NOW) -> None:
    write(engine, take_apps, session, [OfferedApp("kitchen", "Kitchen")], now)
    write(engine, begin_app, session, "kitchen", ["light.*"], registrations, now)


def tell(engine: Engine, batch: int, *calls: NewInvocation | NewExecution, session: str = "one") -> list[str]:
    told = AppRecord(
        app_key="kitchen",
        invocations=tuple(call for call in calls if isinstance(call, NewInvocation)),
        executions=tuple(call for call in calls if isinstance(call, NewExecution)),
    )
    return write(engine, record_calls, session, batch, [told], 0, NOW)


def listener_id(engine: Engine) -> int:
    return write(engine, list_listeners)[0].id


def timer_id(engine: Engine) -> int:
    return write(engine, list_timers)[0].id


def test_what_is_registered_is_listed(engine: Engine) -> None:
    [found] = write(engine, list_listeners)
    assert (found.name, found.topic, found.once, found.counts, found.mean_ms) == (
        "on_light",
        "light.*",
        False,
        {},
        None,
    )
    [timed] = write(engine, list_timers)
    assert (timed.job_name, timed.repeat, timed.next_run_at, timed.counts) == ("tick", True, NOW + 1_000, {})


def test_what_is_registered_again_keeps_its_id_and_its_first_moment(engine: Engine) -> None:
    before = listener_id(engine)
    write(engine, release_app, "one", "kitchen")
    begin(engine, "two", Registrations((listener(priority=3),)), NOW + 10)
    [found] = write(engine, list_listeners)
    assert (found.id, found.priority) == (before, 3)
    assert (found.first_registered_at, found.last_registered_at) == (NOW, NOW + 10)


def test_what_is_not_registered_again_is_retired(engine: Engine) -> None:
    write(engine, release_app, "one", "kitchen")
    begin(engine, "two", Registrations((listener("other"),)), NOW + 10)
    assert [found.name for found in write(engine, list_listeners)] == ["other"]
    everything = write(engine, list_listeners, retired=True)
    assert {found.name: found.retired_at for found in everything} == {"on_light": NOW + 10, "other": None}
    assert write(engine, list_timers) == []


def test_each_call_is_one_row(engine: Engine) -> None:
    assert tell(engine, 1, invocation(1), failed(2), execution(3)) == []
    page = write(engine, list_invocations, listener_id(engine))
    assert [(call.status, call.event_number, call.error_type) for call in page.invocations] == [
        (CallStatus.ERROR, 2, "ValueError"),
        (CallStatus.SUCCESS, 1, None),
    ]
    [run] = write(engine, list_executions, timer_id(engine)).executions
    assert (run.status, run.fire_time, run.duration_ms) == (CallStatus.SUCCESS, NOW + 3, 2.5)


def test_the_id_of_a_call_has_the_number_of_its_session(engine: Engine) -> None:
    tell(engine, 1, invocation(5))
    [row] = select(engine, "SELECT i.id, s.number FROM handler_invocations AS i, sessions AS s WHERE s.id = 'one'")
    assert row["id"] == (row["number"] << 32) + 5
    [call] = write(engine, list_invocations, listener_id(engine)).invocations
    assert call.id == str(row["id"])


def test_figures_are_by_status(engine: Engine) -> None:
    tell(engine, 1, invocation(1), invocation(2, duration_ms=4.5), failed(3), execution(4))
    tell(engine, 2, execution(5, status=CallStatus.SKIPPED, duration_ms=0.0))
    [found] = write(engine, list_listeners)
    assert found.counts == {CallStatus.SUCCESS: 2, CallStatus.ERROR: 1}
    assert (found.mean_ms, found.longest_ms, found.last_run_at) == (2.5, 4.5, NOW + 3)
    [timed] = write(engine, list_timers)
    assert (timed.counts, timed.mean_ms) == ({CallStatus.SUCCESS: 1, CallStatus.SKIPPED: 1}, 2.5)


def test_a_repeated_batch_changes_nothing(engine: Engine) -> None:
    for _ in range(2):
        write(engine, record_calls, "one", 1, [record()], 0, NOW)
    [found] = [one for one in write(engine, list_listeners) if one.name == "on_light"]
    assert (found.counts, found.events_dropped) == ({CallStatus.SUCCESS: 1, CallStatus.ERROR: 1}, 7)


def test_a_batch_registers_before_it_counts_and_retires_after(engine: Engine) -> None:
    told = AppRecord(
        app_key="kitchen",
        registered=Registrations((listener("late"),), (timer("later"),)),
        retired_timers=("later",),
        invocations=(invocation(1, listener="late"),),
        executions=(execution(2, job_name="later"),),
    )
    write(engine, record_calls, "one", 1, [told], 0, NOW)
    found = {one.name: one.counts for one in write(engine, list_listeners)}
    assert found["late"] == {CallStatus.SUCCESS: 1}
    timed = {one.job_name: (one.counts, one.retired_at) for one in write(engine, list_timers, retired=True)}
    assert timed["later"] == ({CallStatus.SUCCESS: 1}, NOW)


def test_a_batch_of_who_is_not_the_owner_is_refused(engine: Engine) -> None:
    assert tell(engine, 1, invocation(1), session="two") == ["kitchen"]
    assert select(engine, "SELECT id FROM handler_invocations") == []


def test_a_late_batch_of_a_settled_session_is_refused(engine: Engine) -> None:
    write(engine, recover, "one", False, NOW)
    begin(engine, "two", registered())
    assert tell(engine, 1, invocation(1), session="one") == ["kitchen"]
    assert select(engine, "SELECT id FROM handler_invocations") == []
    assert tell(engine, 1, invocation(1), session="two") == []


def test_calls_that_could_not_be_recorded_are_counted(engine: Engine) -> None:
    write(engine, record_calls, "one", 1, [], 12, NOW)
    assert select(engine, "SELECT rows_dropped FROM sessions WHERE id = 'one'") == [{"rows_dropped": 12}]


def test_errors_are_the_calls_that_failed_newest_first(engine: Engine) -> None:
    late = execution(3, status=CallStatus.TIMED_OUT, error_type="TimeoutError", error_message="it took longer than 1 s")
    tell(engine, 1, failed(1), invocation(2), late, execution(4, status=CallStatus.CANCELLED))
    page = write(engine, list_failed_calls)
    assert [(call.name, call.error_type, call.listener_id is None) for call in page.errors] == [
        ("tick", "TimeoutError", True),
        ("on_light", "ValueError", False),
    ]
    with pytest.raises(NotFound, match="there is no app 'attic'"):
        write(engine, list_failed_calls, app_key="attic")
    assert len(write(engine, list_failed_calls, app_key="kitchen").errors) == 2
    assert [call.name for call in write(engine, list_failed_calls, since=NOW + 2).errors] == ["tick"]


def test_pages_go_on_behind_their_cursor(engine: Engine) -> None:
    tell(engine, 1, *(failed(number) for number in range(1, 6)), *(execution(number) for number in range(6, 9)))
    first = write(engine, list_invocations, listener_id(engine), limit=3)
    rest = write(engine, list_invocations, listener_id(engine), limit=3, cursor=first.cursor)
    assert [call.event_number for call in first.invocations + rest.invocations] == [5, 4, 3, 2, 1]
    assert rest.cursor is None
    errors = write(engine, list_failed_calls, limit=4)
    assert [call.id for call in write(engine, list_failed_calls, limit=4, cursor=errors.cursor).errors] == [
        rest.invocations[-1].id
    ]
    assert write(engine, list_executions, timer_id(engine), limit=2).cursor is not None


@pytest.mark.parametrize("cursor", ["0", "what", "9" * 30])
def test_a_cursor_that_is_gone_is_not_found(engine: Engine, cursor: str) -> None:
    with pytest.raises(NotFound, match="is gone, so the list cannot go on behind it"):
        write(engine, list_failed_calls, cursor=cursor)


def test_what_is_not_there_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFound, match="there is no listener 99; holdfast listeners lists them"):
        write(engine, find_listener, 99)
    with pytest.raises(NotFound, match="there is no timer 99; holdfast timers lists them"):
        write(engine, ask_timer, 99, TimerWish.RUN)


def test_what_is_asked_of_a_timer_reaches_its_owner_and_is_cleared_by_it(engine: Engine) -> None:
    assert write(engine, ask_timer, timer_id(engine), TimerWish.RUN).asked is TimerWish.RUN
    [asked] = write(engine, events_after, 0, [], ["kitchen"]).asked
    assert (asked.app_key, asked.job_name, asked.asked) == ("kitchen", "tick", TimerWish.RUN)
    write(engine, clear_asked, "two", "kitchen", "tick", TimerWish.RUN)
    assert len(write(engine, events_after, 0, [], ["kitchen"]).asked) == 1
    write(engine, clear_asked, "one", "kitchen", "tick", TimerWish.CANCEL)
    assert len(write(engine, events_after, 0, [], ["kitchen"]).asked) == 1
    write(engine, clear_asked, "one", "kitchen", "tick", TimerWish.RUN)
    assert write(engine, events_after, 0, [], ["kitchen"]).asked == []


def test_nothing_is_asked_of_a_timer_without_an_owner(engine: Engine) -> None:
    write(engine, close_session, "one", "success", NOW)
    with pytest.raises(Conflict, match="app 'kitchen' does not run, so nobody can run its timers"):
        write(engine, ask_timer, timer_id(engine), TimerWish.RUN)


def test_nothing_is_asked_of_a_timer_that_is_gone(engine: Engine) -> None:
    write(engine, record_calls, "one", 1, [AppRecord(app_key="kitchen", retired_timers=("tick",))], 0, NOW)
    with pytest.raises(Conflict, match="is not registered any more"):
        write(engine, ask_timer, write(engine, list_timers, retired=True)[0].id, TimerWish.CANCEL)


@pytest.mark.parametrize("how", ["released", "closed"])
def test_no_timer_is_due_while_nobody_has_the_app(engine: Engine, how: str) -> None:
    if how == "released":
        write(engine, release_app, "one", "kitchen")
    else:
        write(engine, close_session, "one", "success", NOW)
    assert write(engine, list_timers)[0].next_run_at is None


def test_who_does_not_hold_the_session_records_nothing(engine: Engine) -> None:
    with pytest.raises(NotHolder):
        write(engine, record_calls, "one", 1, [record()], 0, NOW, "not the secret of the session" * 2)


def test_old_calls_are_forgotten_a_few_at_a_time(engine: Engine) -> None:
    tell(engine, 1, *(invocation(number) for number in range(1, 6)), execution(6), execution(7))
    assert [write(engine, forget_calls, NOW + 7, 4) for _ in range(3)] == [4, 2, 0]
    assert [call.id for call in write(engine, list_executions, timer_id(engine)).executions] != []
    assert write(engine, list_listeners)[0].counts == {}
