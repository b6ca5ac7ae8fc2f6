"""Each turn of a job's life is a line in the log, written once its transaction is committed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.core.errors import QueueFull
from holdfast.core.gates.queue import Overflow
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.values.retry import RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.queues.queues import set_queue
from holdfast.store.scripts.queues.reserve import reserve
from tests.store.acts import (
    DONE,
    FAILED,
    NOW,
    SESSION,
    claim_one,
    end,
    let_time_pass,
    put_one,
    settle,
    write,
)


class Heard(logging.Handler):
    """What the log was told so far."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine
        self._records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)

    @property
    def records(self) -> list[logging.LogRecord]:
        """As soon as all of it is written."""
        settle(self._engine)
        return self._records

    def events(self) -> list[str]:
        return [str(vars(record)["event"]) for record in self.records]

    def fields(self, event: str) -> dict[str, Any]:
        [record] = [record for record in self.records if vars(record)["event"] == event]
        return vars(record)


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    log = logging.getLogger("holdfast.jobs")
    before = log.level
    yield log
    log.setLevel(before)


@pytest.fixture
def heard(engine: Engine, log: logging.Logger) -> Iterator[Heard]:
    """Everything, down to the smallest."""
    log.setLevel(logging.DEBUG)
    handler = Heard(engine)
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)


def test_a_life_is_told_turn_by_turn(engine: Engine, heard: Heard) -> None:
    put_one(engine, "a", trace_id="trace")
    end(engine, claim_one(engine), DONE)
    assert heard.events() == ["job_enqueued", "job_claimed", "job_done"]
    assert {record.levelno for record in heard.records} == {logging.DEBUG}
    told = [(vars(record)["job_id"], vars(record)["trace_id"], vars(record)["queue"]) for record in heard.records]
    assert told == [("a", "trace", "default")] * 3


def test_a_run_that_fails_and_is_tried_again_is_told(engine: Engine, heard: Heard) -> None:
    put_one(engine, "a", policy=RetryPolicy(retries=1, initial_ms=1))
    end(engine, claim_one(engine), FAILED)
    let_time_pass(engine, NOW + 1_000)
    end(engine, claim_one(engine), FAILED)
    assert heard.events()[2:] == ["job_waits_again", "job_claimed", "job_failed"]
    assert heard.fields("job_failed")["code"] == "ERR_TEST"


def test_the_old_and_the_new_generation_are_told(engine: Engine, heard: Heard) -> None:
    put_one(engine, "old", subject="s", generation=3, trace_id="trace")
    put_one(engine, "new", subject="s", generation=7)
    told = heard.fields("job_superseded")
    assert (told["job_id"], told["old_gen"], told["new_gen"], told["trace_id"]) == ("old", 3, 7, "trace")
    assert told["levelno"] == logging.INFO


def test_one_that_comes_too_late_is_told_as_superseded(engine: Engine, heard: Heard) -> None:
    put_one(engine, "new", subject="s", generation=7)
    put_one(engine, "old", subject="s", generation=3)
    told = heard.fields("job_superseded")
    assert (told["job_id"], told["old_gen"], told["new_gen"]) == ("old", 3, 7)


def test_what_waited_too_long_is_told_as_skipped(engine: Engine, heard: Heard) -> None:
    put_one(engine, "stale", ttl_ms=1)
    put_one(engine, "late", deadline=NOW + 1)
    put_one(engine, "too late", deadline=NOW)
    let_time_pass(engine, NOW + 10)
    told = [record for record in heard.records if vars(record)["event"] == "job_skipped"]
    assert {vars(record)["job_id"] for record in told} == {"stale", "late", "too late"}
    assert {record.levelno for record in told} == {logging.INFO}


def test_who_is_cancelled_and_who_makes_room_are_told_apart(engine: Engine, heard: Heard) -> None:
    put_one(engine, "cancelled", queue="other")
    write(engine, cancel_job, "cancelled", NOW)
    write(engine, set_queue, "q", QueueChanges(max_length=1, overflow=Overflow.SHED))
    put_one(engine, "low", queue="q", priority=1)
    put_one(engine, "high", queue="q", priority=2)
    assert (heard.fields("job_cancelled")["job_id"], heard.fields("job_shed")["job_id"]) == ("cancelled", "low")


def test_a_reservation_that_runs_out_is_told(engine: Engine, heard: Heard) -> None:
    wanted = NewReservation(id="r", scope="q", reserved_by="me", session_id=SESSION, ttl_ms=1_000, wait_ms=0)
    held = write(engine, reserve, wanted, NOW)
    let_time_pass(engine, NOW + 2_000)
    assert heard.fields("reservation_expired")["reservation_id"] == held.id


def test_what_was_undone_is_not_told(engine: Engine, heard: Heard) -> None:
    write(engine, set_queue, "q", QueueChanges(max_length=0))
    with pytest.raises(QueueFull):
        put_one(engine, "a", queue="q")
    assert heard.events() == []


def test_at_info_nothing_is_put_together_for_a_life_that_goes_well(
    engine: Engine, heard: Heard, log: logging.Logger
) -> None:
    log.setLevel(logging.INFO)
    put_one(engine, "a")
    end(engine, claim_one(engine), DONE)
    assert heard.events() == []
