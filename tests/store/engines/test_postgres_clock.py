"""The clock of a PostgreSQL server is read when a database is opened, and now and then after that."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from holdfast.core.errors import StoreUnavailable
from holdfast.core.machine.database_time import AGAIN_MS, Measurement
from holdfast.store.boot_clock import boot_time
from holdfast.store.postgres.clock_reader import ClockReader
from holdfast.store.postgres.engine import PostgresEngine
from tests.store.acts import NOW, select

PATIENCE_S = 60


def test_what_is_read_is_the_servers_time(postgres_url: str, postgres_schema: str) -> None:
    engine = PostgresEngine(postgres_url, schema=postgres_schema, now=lambda: NOW)
    shown = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now"
    [before] = select(engine, shown)
    found = engine.read_clock()
    [after] = select(engine, shown)
    assert before["now"] - found.error - 1 <= found.at + found.ahead <= after["now"] + found.error + 1
    engine.close()


def test_it_is_read_before_anybody_needs_it(postgres_url: str, postgres_schema: str) -> None:
    told: list[Measurement] = []
    others = set(threading.enumerate())

    def heed(found: Measurement) -> int:
        told.append(found)
        return AGAIN_MS

    engine = PostgresEngine(
        postgres_url, schema=postgres_schema, now=lambda: told[-1].at + told[-1].ahead, heed_clock=heed
    )
    [migration] = select(engine, "SELECT applied_at FROM schema_version WHERE version = 1")
    assert migration["applied_at"] == told[0].at + told[0].ahead
    engine.close()
    assert "holdfast-clock" not in {thread.name for thread in set(threading.enumerate()) - others}


def test_it_is_read_again_when_that_is_wanted_and_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.store.postgres.clock_reader.AGAIN_MS", 1)
    told = SimpleQueue[Measurement]()
    answers = iter([Measurement(1, 2, 3), None, Measurement(4, 5, 6)])

    def read() -> Measurement:
        answer = next(answers, None)
        if answer is None:
            raise StoreUnavailable("it is down")
        return answer

    def heed(found: Measurement) -> int:
        told.put(found)
        return 1

    reader = ClockReader(read, heed)
    assert [told.get(timeout=PATIENCE_S) for _ in range(2)] == [Measurement(1, 2, 3), Measurement(4, 5, 6)]
    reader.close()


def test_the_time_since_the_boot_goes_on() -> None:
    before = boot_time()
    assert 0 < before <= boot_time()
