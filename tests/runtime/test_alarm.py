"""Who listens for the store's troubles hears of them while it works, and not before or after."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdfast.runtime.clock import SystemClock
from holdfast.runtime.machine.alarm import Alarm
from holdfast.store.sqlite.engine import SqliteEngine
from tests.migrated import copy_migrated

NOW = 1_700_000_000_000


@pytest.fixture
def engine(tmp_path: Path) -> SqliteEngine:
    return SqliteEngine(copy_migrated(tmp_path / "work.db"), now=lambda: NOW)


def test_an_alarm_that_was_never_started_is_not_called(engine: SqliteEngine) -> None:
    async def make() -> None:
        Alarm(engine, SystemClock())

    untouched = engine.troubles.on_alert
    asyncio.run(make())
    assert engine.troubles.on_alert == untouched


def test_the_end_of_one_alarm_leaves_the_other_listening(engine: SqliteEngine) -> None:
    async def work() -> None:
        first, second = Alarm(engine, SystemClock()), Alarm(engine, SystemClock())
        first.start()
        second.start()
        await first.stop()
        assert engine.troubles.on_alert == second.hear
        await second.stop()

    asyncio.run(work())
    engine.close()
