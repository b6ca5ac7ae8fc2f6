"""Users of the PostgreSQL database who may connect to it, and have no right on our schema."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from threading import Event

import psycopg
import pytest

from holdfast.store.engine import Changes
from holdfast.store.notifications import NotificationFailure
from holdfast.store.postgres.engine import PostgresEngine
from tests.cli.shell import Shell
from tests.daemon.house import two_houses
from tests.postgres_server import stranger
from tests.store.acts import NOW, put_one

PATIENCE_S = 60.0
DEEP = '{"x":' + "[" * 3_900
RUBBISH = (DEEP, "[" * 7_999, "", "null", "{}", '{"sender":1}', '{"sender":"\\ud800"}', "9" * 7_000)
NOTIFY = "SELECT pg_notify(%s, %s)"


@pytest.fixture
def foreign(postgres_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection of a stranger."""
    with stranger(postgres_url) as url, psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def engine(postgres_url: str, postgres_schema: str) -> Iterator[PostgresEngine]:
    with closing(PostgresEngine(postgres_url, schema=postgres_schema, now=lambda: NOW)) as made:
        yield made


def ears(engine: PostgresEngine) -> SimpleQueue[Changes]:
    """All that an engine hears of other processes from now on."""
    heard: SimpleQueue[Changes] = SimpleQueue()
    engine.listen(heard.put)
    assert heard.get(timeout=PATIENCE_S).unknown  # it listens
    return heard


@pytest.mark.parametrize("payload", RUBBISH, ids=lambda payload: payload[:20])
def test_no_notification_ends_the_listening(
    engine: PostgresEngine, foreign: psycopg.Connection[tuple[object, ...]], payload: str
) -> None:
    heard = ears(engine)
    foreign.execute(NOTIFY, (engine._channel, payload))
    assert heard.get(timeout=PATIENCE_S).unknown
    with closing(PostgresEngine(engine.url, schema=engine.schema, now=lambda: NOW)) as other:
        put_one(other, "a", queue="x")
    assert heard.get(timeout=PATIENCE_S).queues == {"x"}
    assert engine.notifications.failures == {NotificationFailure.UNREADABLE: 1}


def test_a_flood_of_rubbish_counts_as_unknown_at_most_once_a_second(
    engine: PostgresEngine, foreign: psycopg.Connection[tuple[object, ...]], caplog: pytest.LogCaptureFixture
) -> None:
    heard = ears(engine)
    began = time.monotonic()
    for number in range(3_000):
        foreign.execute(NOTIFY, (engine._channel, f"rubbish {number}"))
    with closing(PostgresEngine(engine.url, schema=engine.schema, now=lambda: NOW)) as other:
        put_one(other, "a", queue="x")
    unknown = 0
    while not (changes := heard.get(timeout=PATIENCE_S)).queues:
        unknown += changes.unknown
    seconds = time.monotonic() - began
    assert engine.notifications.failures == {NotificationFailure.UNREADABLE: 3_000}
    assert 1 <= unknown <= 1 + seconds
    lines = [record.msg for record in caplog.records if getattr(record, "event", "") == "notifications_unreadable"]
    assert 1 <= len(lines) <= 1 + seconds / 10
    if unknown < 1 + int(seconds):
        assert heard.get(timeout=PATIENCE_S).unknown  # The rest is told of when the second is over.


def test_a_listener_that_fails_in_any_way_begins_again_and_takes_it_that_anything_has_changed(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = ears(engine)
    listening = engine._listening
    assert listening is not None
    failed, go_on = Event(), Event()

    def fail(notification: psycopg.Notify) -> None:
        raise RecursionError("no way to read this")

    def lose(error: BaseException) -> None:
        lost(error)
        failed.set()
        go_on.wait(PATIENCE_S)

    lost = engine.notifications.lose
    monkeypatch.setattr(engine.notifications, "lose", lose)
    monkeypatch.setattr(listening, "_receive", fail)
    with closing(PostgresEngine(engine.url, schema=engine.schema, now=lambda: NOW)) as other:
        put_one(other, "a", queue="x")
        assert failed.wait(PATIENCE_S)
        said = engine.notifications.lost
        put_one(other, "b", queue="x")
    monkeypatch.undo()
    go_on.set()
    assert said is not None
    assert "no way to read this" in said
    assert heard.get(timeout=PATIENCE_S).unknown
    assert engine.notifications.lost is None
    assert engine.notifications.failures == {NotificationFailure.LOST: 1}


def test_daemons_hear_of_each_other_behind_rubbish_and_tell_of_it(
    side: Path, postgres_url: str, postgres_schema: str, foreign: psycopg.Connection[tuple[object, ...]]
) -> None:
    with two_houses(side, f'[daemon]\nstore = "{postgres_url}"\nschema = "{postgres_schema}"\n') as (here, there):
        daemons = [house.up() for house in (here, there)]
        for payload in RUBBISH:
            foreign.execute(NOTIFY, (f"holdfast_{postgres_schema}", payload))
        there.await_metrics(f'holdfast_notification_failures_total{{kind="unreadable"}} {len(RUBBISH):.1f}')
        ran = Shell(here.home)("run", "--wait", "--node", there.client().here, "--", "true")
        assert (ran.code, ran.err) == (0, "")
        doctor = Shell(there.home)("doctor")
        assert f"{len(RUBBISH)} notifications on channel holdfast_{postgres_schema} could not be read" in doctor.out
        there.await_metrics("holdfast_notifications_lost 0.0")
        for house, daemon in zip((here, there), daemons, strict=True):
            house.down(daemon)
