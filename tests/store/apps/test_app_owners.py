"""An app has one owner at a time, and only the owner speaks for it."""

from __future__ import annotations

from queue import SimpleQueue

import pytest

from holdfast.core.apps.status import AppStatus, Wanted
from holdfast.core.errors import NotFound, NotHolder
from holdfast.core.messages.apps import AppState, OfferedApp
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.messages.telemetry import RaisedError, Registrations
from holdfast.store.engine import Changes, Engine
from holdfast.store.scripts.apps.app_owners import begin_app, fail_app, listen_app, release_app, states_of, take_apps
from holdfast.store.scripts.apps.apps import find_app, list_apps, start_app, stop_app
from holdfast.store.scripts.apps.hearing import events_after
from holdfast.store.scripts.events.events import emit, publish
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.scripts.sessions.sessions import close_session, note_stop_request, open_session
from holdfast.store.topics import APPS, DUE
from tests.store.acts import NOW, select, settle, write
from tests.store.acts import open_session as begin

KITCHEN = OfferedApp("kitchen", "Kitchen")
BROKEN = RaisedError("ValueError", "kaputt", "Traceback …")


@pytest.fixture(autouse=True)
def sessions(engine: Engine) -> None:
    """Two processes that have the code of the app."""
    begin(engine, "one")
    begin(engine, "two")


def take(engine: Engine, session: str, *apps: OfferedApp) -> list[AppState]:
    return write(engine, take_apps, session, apps or (KITCHEN,), NOW).apps


def owner(engine: Engine, app_key: str = "kitchen") -> str | None:
    return write(engine, find_app, app_key).session_id


def status(engine: Engine, app_key: str = "kitchen") -> AppStatus:
    return write(engine, find_app, app_key).status


def patterns(engine: Engine, app_key: str = "kitchen") -> list[str]:
    """The events that the app listens to."""
    sql = "SELECT pattern FROM event_patterns WHERE owner = :owner ORDER BY pattern"
    return [row["pattern"] for row in select(engine, sql, owner=f"app:{app_key}")]


def emitted(engine: Engine, name: str) -> int:
    """The number of an event that was emitted."""
    return write(engine, emit, f"id-{name}", name, None, NOW).number


def test_the_first_session_that_offers_an_app_owns_it(engine: Engine) -> None:
    assert take(engine, "one") == [AppState("kitchen", 0, Wanted.RUNNING, AppStatus.STARTING, "one")]
    assert take(engine, "two") == [AppState("kitchen", 0, Wanted.RUNNING, AppStatus.STARTING, "one")]


def test_a_session_takes_what_it_offers_when_it_is_opened(engine: Engine) -> None:
    offer = Offer("w", "here", ("t",), ("default",), 1, apps=(KITCHEN,))
    write(engine, open_session, NewSession("three", "embedded", "node", "boot", 1, None), offer, NOW)
    assert owner(engine) == "three"


def test_a_session_that_stops_takes_none(engine: Engine) -> None:
    write(engine, note_stop_request, "one", NOW)
    assert take(engine, "one")[0].session_id is None
    assert take(engine, "two")[0].session_id == "two"


def test_sessions_have_rising_numbers(engine: Engine) -> None:
    numbers = [write(engine, take_apps, session, [KITCHEN], NOW).session_number for session in ("one", "two")]
    assert numbers[1] == numbers[0] + 1


def test_the_owner_says_that_the_app_runs(engine: Engine) -> None:
    take(engine, "one")
    write(engine, begin_app, "one", "kitchen", ["light.*", "light.*", "boom"], Registrations(), NOW)
    assert status(engine) is AppStatus.RUNNING
    assert patterns(engine) == ["boom", "light.*"]


def test_an_app_may_listen_to_other_events_later(engine: Engine) -> None:
    take(engine, "one")
    write(engine, begin_app, "one", "kitchen", ["light.*"], Registrations(), NOW)
    write(engine, listen_app, "one", "kitchen", ["boom"])
    assert patterns(engine) == ["boom"]


def test_nobody_else_speaks_for_the_app(engine: Engine) -> None:
    take(engine, "one")
    with pytest.raises(NotHolder, match="session two no longer calls the handlers of app 'kitchen'"):
        write(engine, begin_app, "two", "kitchen", ["light.*"], Registrations(), NOW)
    with pytest.raises(NotHolder):
        write(engine, fail_app, "two", "kitchen", BROKEN)
    write(engine, release_app, "two", "kitchen")
    assert (owner(engine), status(engine)) == ("one", AppStatus.STARTING)
    assert patterns(engine) == []


def test_an_app_that_failed_keeps_its_owner_and_hears_nothing(engine: Engine) -> None:
    take(engine, "one")
    write(engine, begin_app, "one", "kitchen", ["light.*"], Registrations(), NOW)
    write(engine, fail_app, "one", "kitchen", BROKEN)
    app = write(engine, find_app, "kitchen")
    assert (app.status, app.session_id, app.error_type) == (AppStatus.FAILED, "one", "ValueError")
    assert take(engine, "two")[0].session_id == "one"
    assert patterns(engine) == []


@pytest.mark.parametrize("how", ["closed", "lost"])
def test_another_session_takes_over_what_one_that_ended_has_left(engine: Engine, how: str) -> None:
    take(engine, "one")
    write(engine, begin_app, "one", "kitchen", ["light.*"], Registrations(), NOW)
    if how == "closed":
        write(engine, close_session, "one", "success", NOW)
    else:
        write(engine, recover, "one", False, NOW)
    assert (owner(engine), status(engine)) == (None, AppStatus.WAITING)
    assert patterns(engine) == ["light.*"]
    assert take(engine, "two")[0].session_id == "two"


def test_the_next_session_tries_an_app_again_that_failed(engine: Engine) -> None:
    take(engine, "one")
    write(engine, fail_app, "one", "kitchen", BROKEN)
    write(engine, close_session, "one", "success", NOW)
    take(engine, "two")
    app = write(engine, find_app, "kitchen")
    assert (app.status, app.session_id, app.error_type) == (AppStatus.STARTING, "two", None)


def test_an_app_is_given_back_once(engine: Engine) -> None:
    take(engine, "one")
    write(engine, release_app, "one", "kitchen")
    take(engine, "two")
    write(engine, release_app, "one", "kitchen")
    assert owner(engine) == "two"


def test_an_app_that_is_stopped_is_taken_by_nobody(engine: Engine) -> None:
    take(engine, "one")
    assert write(engine, stop_app, "kitchen").wanted is Wanted.STOPPED
    assert status(engine) is AppStatus.STARTING  # Its owner has not stopped it yet.
    write(engine, release_app, "one", "kitchen")
    assert take(engine, "two")[0] == AppState("kitchen", 0, Wanted.STOPPED, AppStatus.STOPPED, None)


def test_an_app_that_waits_is_stopped_at_once(engine: Engine) -> None:
    take(engine, "one")
    write(engine, close_session, "one", "success", NOW)
    assert write(engine, stop_app, "kitchen").status is AppStatus.STOPPED


def test_a_stopped_app_may_be_started(engine: Engine) -> None:
    take(engine, "one")
    write(engine, stop_app, "kitchen")
    write(engine, release_app, "one", "kitchen")
    assert write(engine, start_app, "kitchen").status is AppStatus.WAITING
    assert take(engine, "two")[0].session_id == "two"


def test_to_start_an_app_that_failed_tries_it_again(engine: Engine) -> None:
    take(engine, "one")
    write(engine, fail_app, "one", "kitchen", BROKEN)
    assert write(engine, start_app, "kitchen").status is AppStatus.WAITING
    assert take(engine, "one")[0].status is AppStatus.STARTING


def test_an_app_that_nobody_has_offered_is_not_found(engine: Engine) -> None:
    for script in (find_app, start_app, stop_app):
        with pytest.raises(NotFound, match="there is no app 'cellar'"):
            write(engine, script, "cellar")


def test_apps_are_listed_by_their_keys(engine: Engine) -> None:
    take(engine, "one", KITCHEN, OfferedApp("attic", "Attic"))
    assert [(app.app_key, app.class_name, app.pid) for app in write(engine, list_apps)] == [
        ("attic", "Attic", 4711),
        ("kitchen", "Kitchen", 4711),
    ]


def test_an_app_hears_what_matches_its_patterns_and_no_more(engine: Engine) -> None:
    take(engine, "one")
    first, _, last = [emitted(engine, name) for name in ("light.sink", "door.front", "light.table")]
    heard = write(engine, events_after, first - 1, ["light.*"], ["kitchen"])
    assert [event.name for event in heard.events] == ["light.sink", "light.table"]
    assert (heard.number, heard.has_more) == (last, False)
    assert heard.apps == write(engine, states_of, ["kitchen"])


def test_events_are_read_a_few_at_a_time(engine: Engine) -> None:
    numbers = [emitted(engine, f"light.{number}") for number in range(5)]
    first = write(engine, events_after, numbers[0] - 1, ["*"], [], limit=3)
    rest = write(engine, events_after, first.number, ["*"], [], limit=3)
    assert (first.number, first.has_more, rest.number, rest.has_more) == (numbers[2], True, numbers[4], False)
    assert [event.number for event in first.events + rest.events] == numbers


def test_without_news_the_number_stays(engine: Engine) -> None:
    number = emitted(engine, "light.sink")
    assert write(engine, events_after, number, ["*"], []).number == number


def test_what_an_app_waits_for_is_kept_though_the_system_tells_it(engine: Engine) -> None:
    assert write(engine, publish, "job.run.failed", {}, NOW) is None
    take(engine, "one")
    write(engine, begin_app, "one", "kitchen", ["job.*"], Registrations(), NOW)
    assert write(engine, publish, "job.run.failed", {}, NOW) is not None


def announced(engine: Engine, name: str) -> Changes:
    heard: SimpleQueue[Changes] = SimpleQueue()
    leave = engine.listen(heard.put)
    emitted(engine, name)
    settle(engine)
    leave()
    together = Changes()
    while not heard.empty():
        together.merge(heard.get())
    return together


def test_an_event_for_an_app_tells_apps_and_nobody_else(engine: Engine) -> None:
    take(engine, "one")
    write(engine, begin_app, "one", "kitchen", ["light.*"], Registrations(), NOW)
    settle(engine)
    changes = announced(engine, "light.sink")
    assert APPS in changes.topics
    assert DUE not in changes.topics
    assert select(engine, "SELECT id FROM events WHERE is_spreading = 1") == []
    assert APPS not in announced(engine, "door.front").topics
