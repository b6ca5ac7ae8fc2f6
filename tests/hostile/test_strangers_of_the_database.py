"""Users of the PostgreSQL database who may connect to it, and have no right on our schema."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any, TypeAlias
from urllib.parse import quote

import psycopg
import pytest

from holdfast.core.errors import StoreUnavailable
from holdfast.store.engine import Changes, Tx
from holdfast.store.notifications import NotificationFailure
from holdfast.store.postgres.engine import TRIES, PostgresEngine
from holdfast.store.postgres.pool import PgConnection
from holdfast.store.postgres.write_lock import LOCK_SPACE, AdvisoryLock, AdvisoryLockHeld, key_of
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.topics import UNKNOWN
from holdfast.store.trouble import TroubleKind
from tests.chaos.journal import entries
from tests.chaos.processes import until
from tests.cli.shell import Shell
from tests.daemon.house import House, two_houses
from tests.faults.story import until_it_writes
from tests.postgres_server import stranger
from tests.store.acts import NOW, new_job, put_one, statement, write

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

PATIENCE_S = 60.0
DEEP = '{"x":' + "[" * 3_900
RUBBISH = (DEEP, "[" * 7_999, "", "null", "{}", '{"sender":1}', '{"sender":"\\ud800"}', "9" * 7_000)
NOTIFY = "SELECT pg_notify(%s, %s)"


@pytest.fixture
def foreign(postgres_url: str) -> Iterator[Connection]:
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
    assert UNKNOWN in heard.get(timeout=PATIENCE_S).topics  # it listens
    return heard


@pytest.mark.parametrize("payload", RUBBISH, ids=lambda payload: payload[:20])
def test_no_notification_ends_the_listening(engine: PostgresEngine, foreign: Connection, payload: str) -> None:
    heard = ears(engine)
    foreign.execute(NOTIFY, (engine._channel, payload))
    assert UNKNOWN in heard.get(timeout=PATIENCE_S).topics
    with closing(PostgresEngine(engine.url, schema=engine.schema, now=lambda: NOW)) as other:
        put_one(other, "a", queue="x")
    assert heard.get(timeout=PATIENCE_S).queues == {"x"}
    assert engine.notifications.failures == {NotificationFailure.UNREADABLE: 1}


def test_a_flood_of_rubbish_counts_as_unknown_at_most_once_a_second(
    engine: PostgresEngine, foreign: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    heard = ears(engine)
    began = time.monotonic()
    for number in range(3_000):
        foreign.execute(NOTIFY, (engine._channel, f"rubbish {number}"))
    with closing(PostgresEngine(engine.url, schema=engine.schema, now=lambda: NOW)) as other:
        put_one(other, "a", queue="x")
    unknown = 0
    while not (changes := heard.get(timeout=PATIENCE_S)).queues:
        unknown += UNKNOWN in changes.topics
    seconds = time.monotonic() - began
    assert engine.notifications.failures == {NotificationFailure.UNREADABLE: 3_000}
    assert 1 <= unknown <= 1 + seconds
    lines = [record.msg for record in caplog.records if getattr(record, "event", "") == "notifications_unreadable"]
    assert 1 <= len(lines) <= 1 + seconds / 10
    if unknown < 1 + int(seconds):
        assert UNKNOWN in heard.get(timeout=PATIENCE_S).topics  # The rest is told of when the second is over.


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
    assert UNKNOWN in heard.get(timeout=PATIENCE_S).topics
    assert engine.notifications.lost is None
    assert engine.notifications.failures == {NotificationFailure.LOST: 1}


def test_daemons_hear_of_each_other_behind_rubbish_and_tell_of_it(
    side: Path, postgres_url: str, postgres_schema: str, foreign: Connection
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


def hold(connection: Connection, schema: str) -> str:
    """Take the lock of writers, as any user of the database can. Return who holds it, as messages say it."""
    connection.execute("SELECT pg_advisory_lock(%s, %s)", (LOCK_SPACE, key_of(schema)))
    return f"server process {connection.info.backend_pid} of user '{connection.info.user}'"


def let_go(connection: Connection) -> None:
    connection.execute("SELECT pg_advisory_unlock_all()")


def hurry(engine: PostgresEngine, wait_s: float) -> None:
    """Have an engine wait for its lock for a shorter time than usual."""
    engine._write_lock = AdvisoryLock(engine.schema, engine.title, wait_s)


def job_ids(engine: PostgresEngine) -> list[str]:
    return sorted(row["id"] for row in engine.query(lambda tx: tx.rows(statement("SELECT id FROM jobs"))))


def test_who_holds_the_lock_of_writers_is_named_and_writing_goes_on_when_they_let_go(
    engine: PostgresEngine, foreign: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    put_one(engine, "before")
    hurry(engine, 0.2)
    who = hold(foreign, engine.schema)
    with pytest.raises(
        StoreUnavailable, match=f"^{who} on .* holds the lock .*; nothing was written. Wait for it"
    ) as held:
        put_one(engine, "held")
    assert not held.value.is_worth_repeating
    with pytest.raises(
        StoreUnavailable, match=f"^{who} on .* holds the lock .*; nothing was written. Wait for it"
    ) as held:
        put_one(engine, "refused")
    assert not held.value.is_worth_repeating
    assert engine.troubles.current is not None
    assert engine.troubles.current.sentence.startswith(who)
    let_go(foreign)
    until_it_writes(engine)
    put_one(engine, "after")
    assert job_ids(engine) == ["after", "before"]
    assert engine.troubles.failures == {TroubleKind.LOCKED: 1}
    lines = [record.getMessage() for record in caplog.records if getattr(record, "event", "") == "store_trouble"]
    assert lines[0].startswith(who)


def test_a_write_that_waits_for_the_lock_is_told_of_and_stored_when_it_is_free(
    engine: PostgresEngine, foreign: Connection
) -> None:
    put_one(engine, "before")
    hurry(engine, 3.0)
    who = hold(foreign, engine.schema)
    waiting = engine.submit(enqueue, [new_job("waiting")], NOW)
    trouble = until(lambda: engine.troubles.current, "it is told of")
    assert trouble is not None
    assert trouble.says.startswith(who)
    assert engine.troubles.refusal() is None
    let_go(foreign)
    waiting.result(PATIENCE_S)
    until_it_writes(engine)
    assert job_ids(engine) == ["before", "waiting"]


def test_a_database_whose_lock_is_held_is_opened_when_it_is_free(engine: PostgresEngine, foreign: Connection) -> None:
    hurry(engine, 0.2)
    who = hold(foreign, engine.schema)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=f"^{who} on .*; nothing was written. Wait for it"):
            engine.open()
    let_go(foreign)
    until_it_writes(engine)
    put_one(engine, "after")
    assert job_ids(engine) == ["after"]


@pytest.mark.parametrize(("options", "expected"), [("", "0"), ("-c lock_timeout=7s", "7s")])
def test_the_timeout_of_the_lock_is_for_nothing_else(
    postgres_url: str, postgres_schema: str, options: str, expected: str
) -> None:
    url = f"{postgres_url}&options={quote(options)}" if options else postgres_url
    with closing(PostgresEngine(url, schema=postgres_schema, now=lambda: NOW)) as engine:
        for _ in range(2):
            assert write(engine, lambda tx: tx.value(statement("SHOW lock_timeout"))) == expected


def held_as_seen_by(url: str, schema: str, wait_s: float) -> AdvisoryLockHeld:
    """What a user of the database learns who cannot take the lock."""
    with psycopg.connect(url, autocommit=True) as connection, pytest.raises(AdvisoryLockHeld) as held:
        AdvisoryLock(schema, "the store", wait_s).begin(connection)
    return held.value


def test_what_the_server_hides_of_a_holder_is_called_unknown(
    postgres_url: str, postgres_schema: str, foreign: Connection
) -> None:
    who = hold(foreign, postgres_schema)
    with stranger(postgres_url) as url:
        hidden = held_as_seen_by(url, postgres_schema, 0.1)
    assert hidden.says == f"{who} on an unknown machine holds the lock that every write to the store takes"
    shown = held_as_seen_by(postgres_url, postgres_schema, 0.1)
    assert shown.says == f"{who} on the server's own machine holds the lock that every write to the store takes"
    assert (hidden.is_stuck, shown.is_stuck) == (True, True)


def test_all_who_share_the_lock_are_named_up_to_three(postgres_url: str, postgres_schema: str) -> None:
    with stranger(postgres_url) as url, ExitStack() as open_ones:
        for _ in range(5):
            holder = open_ones.enter_context(psycopg.connect(url, autocommit=True))
            holder.execute("SELECT pg_advisory_lock_shared(%s, %s)", (LOCK_SPACE, key_of(postgres_schema)))
        said = held_as_seen_by(postgres_url, postgres_schema, 0.1).says
    assert said.count("server process") == 3
    assert " and 2 more hold the lock" in said


def test_a_writer_of_our_own_that_is_at_work_is_not_stuck(
    engine: PostgresEngine, postgres_url: str, postgres_schema: str
) -> None:
    began, ended = Event(), Event()

    def work(tx: Tx) -> None:
        began.set()
        while not ended.is_set():
            tx.value(statement("SELECT pg_sleep(0.01)"))

    working = engine.submit(work)
    assert began.wait(PATIENCE_S)
    try:
        assert not held_as_seen_by(postgres_url, postgres_schema, 2.0).is_stuck
    finally:
        ended.set()
    working.result(PATIENCE_S)


@contextmanager
def long_statement(url: str, schema: str) -> Iterator[None]:
    """One of our own user that has the lock, such as a migration of a large table."""
    with psycopg.connect(url) as worker, psycopg.connect(url, autocommit=True) as other:
        worker.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCK_SPACE, key_of(schema)))
        with ThreadPoolExecutor(1) as pool:
            sleeping = pool.submit(worker.execute, "SELECT pg_sleep(3600)")
            other.execute("SELECT pg_sleep(0.3)")  # It began longer ago than anybody waits here.
            try:
                yield
            finally:
                other.execute("SELECT pg_cancel_backend(%s)", (worker.info.backend_pid,))
                assert isinstance(sleeping.exception(PATIENCE_S), psycopg.errors.QueryCanceled)
                worker.rollback()


def test_a_start_waits_for_a_long_statement_of_our_own(
    engine: PostgresEngine, postgres_url: str, postgres_schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(engine, 0.1)
    tries: list[None] = []
    begin = engine._write_lock.begin

    def count(connection: PgConnection) -> None:
        tries.append(None)
        begin(connection)

    monkeypatch.setattr(engine._write_lock, "begin", count)
    with ThreadPoolExecutor(1) as pool:
        with long_statement(postgres_url, postgres_schema):
            assert not held_as_seen_by(postgres_url, postgres_schema, 0.1).is_stuck
            opening = pool.submit(engine.open)
            until(lambda: len(tries) > 2 * TRIES, "it is waited for, again and again")
            assert engine.troubles.current is None
        opening.result(PATIENCE_S)
    put_one(engine, "after")


def test_a_start_waits_for_no_stranger_who_keeps_busy(engine: PostgresEngine, foreign: Connection) -> None:
    hurry(engine, 0.3)
    who, is_over = hold(foreign, engine.schema), Event()

    def keep_busy() -> None:
        while not is_over.wait(0.05):
            foreign.execute("SELECT 1")

    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(keep_busy)
        try:
            with pytest.raises(StoreUnavailable, match=f"^{who}"):
                engine.open()
        finally:
            is_over.set()
        busy.result(PATIENCE_S)


def test_a_failure_while_others_have_the_lock_is_no_reason_to_refuse_writes(
    engine: PostgresEngine, foreign: Connection
) -> None:
    put_one(engine, "before")
    hurry(engine, 0.1)
    hold(foreign, engine.schema)
    engine._find_out(TroubleKind.LOST, "the connection was lost")
    assert engine.troubles.refusal() is None
    assert engine.troubles.kind is TroubleKind.LOCKED
    let_go(foreign)
    until_it_writes(engine)
    put_one(engine, "after")


def test_a_command_ends_with_the_name_of_who_holds_the_lock_and_all_goes_on_when_they_let_go(
    house: House, postgres_url: str, postgres_schema: str, foreign: Connection
) -> None:
    # The lock is held for much longer than the lease.
    house.settings(f'[daemon]\nstore = "{postgres_url}"\nschema = "{postgres_schema}"\nlease = "3s"\n')
    daemon, shell = house.up(app="manners"), Shell(house.home)
    worker, running = house.worker(), house.enqueue("short")
    until(lambda: entries(house.side, "start"), "a job runs")
    who = hold(foreign, postgres_schema)
    refused = shell("run", "--", "true")
    assert refused.code != 0
    assert who in refused.err
    assert "\n" not in refused.err.strip()
    with house.connection() as connection:
        connection.request(
            "POST", "/v1/jobs", '{"jobs":[{"id":"0192f5a0-0000-7000-8000-000000000001","task":"plain"}]}'
        )
        answer = connection.getresponse()
        # No client that waits for room should add its own half minute.
        assert (answer.status, answer.headers["retry-after"]) == (503, None)
    status, said = house.ask("GET", "/readyz")
    assert status == 503
    assert who in said["detail"]
    doctor = shell("doctor")
    assert doctor.code == 1
    assert f"✗ store        {who}" in doctor.out
    house.await_metrics('holdfast_store_trouble{kind="locked"} 1.0')
    (house.side / "finish").touch()
    until(lambda: entries(house.side, "end"), "the job ends while nothing can be stored")
    let_go(foreign)
    until(lambda: house.is_ready, "it goes on by itself")
    assert running.result(PATIENCE_S) == "finished"
    assert shell("run", "--wait", "--", "true").code == 0
    assert len(house.client().jobs(without_system=True).jobs) == 2
    assert (house.worker(), [run.status for run in running.runs]) == (worker, ["COMPLETED"])
    house.down(daemon)
    events = daemon.events()
    assert events.index("store_trouble") < events.index("store_recovered")
