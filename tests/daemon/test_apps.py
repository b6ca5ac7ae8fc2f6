"""Apps in the workers of a daemon: one process has each, and another one takes over when it dies."""

from __future__ import annotations

import pytest

from holdfast import Conflict, Holdfast
from holdfast.core.apps.call import CallStatus
from holdfast.core.messages.apps import AppView
from tests.chaos.journal import entries
from tests.chaos.processes import kill, until
from tests.daemon.house import House


def owner(hf: Holdfast) -> AppView:
    """The app, once it runs."""

    def look() -> AppView | None:
        return next((app for app in hf.apps() if app.app_key == "kitchen" and app.status == "running"), None)

    found = until(look, "the app runs")
    assert found is not None
    return found


def heard(house: House) -> list[str]:
    """The numbers of the events that handlers were called for, in the order of the calls."""
    return [entry.about[0] for entry in entries(house.side, "light")]


def emit_and_await(house: House, hf: Holdfast, count: int) -> None:
    before = len(heard(house))
    for number in range(count):
        hf.emit(f"light.{number}")
    until(lambda: len(heard(house)) >= before + count, "the events are heard")


def test_an_app_runs_in_one_of_the_workers(house: House) -> None:
    daemon = house.up("--workers", "2", app="kitchen")
    hf = house.client()
    owner(hf)
    emit_and_await(house, hf, 20)
    house.down(daemon)
    assert len(heard(house)) == len(set(heard(house))) == 20
    assert len(entries(house.side, "start")) == 1
    assert len(entries(house.side, "stop")) == 1


@pytest.mark.parametrize("deaths", [3])
def test_another_worker_takes_over_from_one_that_is_killed(house: House, deaths: int) -> None:
    daemon = house.up("--workers", "2", app="kitchen")
    hf = house.client()
    owners = [owner(hf)]
    for _ in range(deaths):
        emit_and_await(house, hf, 10)
        kill(next(one for one in house.everybody() if one.pid == owners[-1].pid))
        until(lambda: hf.find_app("kitchen").session_id != owners[-1].session_id, "the app is free")
        owners.append(owner(hf))
    emit_and_await(house, hf, 10)
    until(lambda: sum(hf.listeners(app="kitchen")[0].counts.values()) >= 10, "the last calls are on record")
    sessions = hf.ended_sessions().sessions
    assert [one.status for one in sessions if one.id in {was.session_id for was in owners[:-1]}] == ["unknown"] * deaths
    assert hf.doctor() == []
    house.down(daemon)
    assert len(heard(house)) == len(set(heard(house)))
    assert len({entry.life for entry in entries(house.side, "start")}) == deaths + 1


def test_an_error_is_on_record_and_a_timer_is_run_from_outside(house: House) -> None:
    daemon = house.up(app="kitchen")
    hf = house.client()
    owner(hf)
    hf.emit("boom")
    [error] = until(lambda: hf.errors().errors, "the error is on record")
    assert (error.error_type, error.error_message, error.handler_method) == ("ValueError", "kaputt", "on_boom")
    timer = hf.timers()[0]
    hf.run_timer(timer.id)
    until(lambda: hf.timer(timer.id).counts.get(CallStatus.SUCCESS), "the timer has run")
    house.down(daemon)
    daemon = house.up()
    with pytest.raises(Conflict, match="app 'kitchen' does not run"):
        hf.run_timer(timer.id)
    house.down(daemon)


def test_a_stopped_app_stays_stopped_when_the_daemon_is_restarted(house: House) -> None:
    daemon = house.up(app="kitchen")
    hf = house.client()
    owner(hf)
    hf.stop_app("kitchen")
    until(lambda: hf.find_app("kitchen").status == "stopped", "it is stopped")
    house.down(daemon)
    daemon = house.up(app="kitchen")
    house.worker()
    assert hf.find_app("kitchen").status == "stopped"
    hf.start_app("kitchen")
    owner(hf)
    house.down(daemon)


def test_apps_go_on_when_their_daemon_is_killed_and_replaced(house: House) -> None:
    daemon = house.up(app="kitchen")
    hf = house.client()
    first = owner(hf)
    emit_and_await(house, hf, 5)
    daemon.kill()
    daemon = house.up(app="kitchen")
    emit_and_await(house, hf, 5)
    assert owner(hf).session_id == first.session_id
    house.down(daemon)
    assert len(heard(house)) == len(set(heard(house)))


def test_an_app_that_listens_to_nothing_more_holds_up_no_other(house: House) -> None:
    daemon = house.up(app="kitchen")
    hf = house.client()
    owner(hf)
    until(lambda: hf.find_app("hall").status == "running", "the other app runs too")
    hf.emit("only")
    until(lambda: entries(house.side, "only"), "the only event of that app is heard")
    until(lambda: hf.listeners(app="hall") == [], "it listens to nothing")
    emit_and_await(house, hf, 5)
    house.down(daemon)
