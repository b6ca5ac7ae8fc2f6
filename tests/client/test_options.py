"""Every option of an enqueue: what it stores, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from holdfast import Holdfast, HoldfastError, InvalidInput, NotFound, Retry, StateName, Task
from holdfast.core.job import Queued, Scheduled
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.testing import ManualClock
from tests.client.acts import refused

START = datetime(2030, 1, 1, tzinfo=UTC)
NOW = int(START.timestamp() * 1000)
HOUR = 3_600_000


@pytest.fixture
def hf(make_holdfast: Callable[..., Holdfast]) -> Holdfast:
    """A Holdfast in which it is the first of January 2030."""
    return make_holdfast(clock=ManualClock(START))


@pytest.fixture
def task(hf: Holdfast) -> Task[..., int]:
    @hf.task
    def task(x: int = 0) -> int:
        return x

    return task


STORED: list[tuple[dict[str, Any], str, object]] = [
    ({}, "queue", "default"),
    ({"queue": "build"}, "queue", "build"),
    ({}, "priority", 0),
    ({"priority": -7}, "priority", -7),
    ({"ttl": 2}, "ttl_ms", 2_000),
    ({"ttl": timedelta(hours=1)}, "ttl_ms", HOUR),
    ({"timeout": 0.25}, "timeout_ms", 250),
    ({"timeout": timedelta(milliseconds=5)}, "timeout_ms", 5),
    ({"deadline": START + timedelta(hours=1)}, "deadline", NOW + HOUR),
    ({"retry": 3}, "policy", RetryPolicy(retries=3)),
    ({"tag": "nightly ✓"}, "tag", "nightly ✓"),
    ({"tenant": "acme"}, "tenant", "acme"),
    ({}, "tenant", "default"),
    ({"subject": "editor::repo::a.py"}, "subject", "editor::repo::a.py"),
    ({"subject": "editor::repo::a.py"}, "tenant", "editor::repo"),
    ({"subject": "s", "generation": 7}, "generation", 7),
    ({"subject": "t"}, "generation", 1),
    ({"idempotency_key": "order-5"}, "idempotency_key", "order-5"),
    ({"trace_id": "4bf92f35"}, "trace_id", "4bf92f35"),
    ({"delay": 0}, "state", Queued(NOW)),
    ({"at": START - timedelta(days=1)}, "state", Queued(NOW)),
    ({"delay": 90}, "state", Scheduled(NOW + 90_000)),
    ({"delay": 0.001}, "state", Scheduled(NOW + 1)),
    ({"delay": timedelta(hours=1)}, "state", Scheduled(NOW + HOUR)),
    ({"at": START + timedelta(hours=1)}, "state", Scheduled(NOW + HOUR)),
    ({"at": datetime(2030, 1, 1, 3, tzinfo=timezone(timedelta(hours=2)))}, "state", Scheduled(NOW + HOUR)),
]


def test_every_option_is_stored_with_the_job(task: Task[..., int]) -> None:
    for options, field, stored in STORED:
        assert getattr(task.options(**options).enqueue().job, field) == stored, options


def test_a_retry_policy_is_stored_whole(task: Task[..., int]) -> None:
    policy = Retry(5, initial=0.5, factor=3, cap=timedelta(minutes=1), mode="chain", infra=0)
    stored = RetryPolicy(5, initial_ms=500, factor=3.0, cap_ms=60_000, mode=RetryMode.CHAIN, infra=0)
    assert task.options(retry=policy).enqueue().job.policy == stored


def test_options_of_a_task_are_defaults_for_its_jobs(hf: Holdfast) -> None:
    @hf.task(queue="build", priority=5, tag="a")
    def task() -> None: ...

    job = task.options(priority=0, tag=None).enqueue().job
    assert (job.queue, job.priority, job.tag) == ("build", 0, "a")


def test_later_options_are_laid_over_earlier_ones(task: Task[..., int]) -> None:
    earlier = task.options(delay=60, tag="a")
    later = earlier.options(at=START + timedelta(hours=1), tag="b")
    assert (earlier.enqueue().job.tag, later.enqueue().job.tag) == ("a", "b")
    assert later.enqueue().job.state == Scheduled(NOW + HOUR)
    assert later.options(delay=1).enqueue().job.state == Scheduled(NOW + 1_000)


def test_options_can_be_used_again(task: Task[..., int]) -> None:
    first = task.enqueue()
    waiting = task.options(after=iter([first]))
    states = [waiting.enqueue().state, waiting.options(tag="a").enqueue().state]
    assert states == [StateName.SCHEDULED, StateName.SCHEDULED]


def test_an_idempotency_key_stands_for_one_job(task: Task[..., int]) -> None:
    first = task.options(idempotency_key="k").enqueue(x=1)
    again = task.options(idempotency_key="k").enqueue(x=2)
    assert (again.id, again.was_existing, first.was_existing) == (first.id, True, False)
    assert again.job.payload == '{"x":1}'


NO_DURATION = [True, "soon", "", "1h x", "1y", "-1s", "1h 5", [], object(), math.nan, 1j, START]
NO_LENGTH = [-1, -0.001, timedelta(seconds=-1), math.inf, 10**400, timedelta.max, 101 * 365 * 86_400]
NO_MOMENT = ["2030-01-01", 5, True, date(2030, 1, 1), timedelta(1)]
NO_YEAR = [datetime(1969, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)]
NO_LABEL = ["", 5, True, b"x", [], "a\x00", "a\nb", "\ud800", "x" * 1_001]

REFUSED: list[tuple[str, list[Any], str]] = [
    *[
        (option, NO_DURATION, f"{option} .* is not valid: use . m?s to 100 years")
        for option in ("delay", "ttl", "timeout")
    ],
    *[
        (option, NO_LENGTH, f"{option} .* is not valid: use . m?s to 100 years")
        for option in ("delay", "ttl", "timeout")
    ],
    ("timeout", [0, 0.0, 0.0004, timedelta(0)], "timeout .* is not valid: use 1 ms to 100 years"),
    *[
        (option, NO_MOMENT, f"{option} .* is not valid: use a moment from 1970 to 9999")
        for option in ("at", "deadline")
    ],
    *[(option, NO_YEAR, f"{option} .* is not valid: use a moment from 1970 to 9999") for option in ("at", "deadline")],
    *[
        (option, [datetime(2030, 1, 1)], f"{option} .* as a datetime with a time zone such as datetime.UTC")
        for option in ("at", "deadline")
    ],
    *[(option, NO_LABEL, f"{option} .* is not valid: use") for option in ("tag", "tenant", "idempotency_key")],
    *[(option, NO_LABEL, f"{option} .* is not valid: use") for option in ("trace_id", "subject")],
    ("queue", ["", "a b", "ä", 5, True, ["a"], "a\x00", "x" * 201], "queue .* is not valid"),
    ("priority", [1.5, True, False, "5", math.nan, 10**7, -(10**7)], "priority .* use a whole number from -1000000"),
    ("retry", [True, "3", 1.5, [], Retry, math.nan], r"retry .* use a whole number from 0 to 1000000, or a Retry"),
    ("retry", [-1, 10**9], "retry .* use a whole number from 0"),
    ("subject", ["{", "a}", "{}", "{x.y}", "{x!r}"], r"has a brace that names no argument: write \{name\}"),
    ("subject", ["a::{y}"], "subject 'a::{y}' names 'y', which is not an argument"),
    ("generation", [1], "generation 1 means nothing without subject"),
    ("stop_older", [1, 0, "no", object()], "stop_older .* use true or false"),
    ("group", [5, object(), True], "is not a job or group: give a handle or an id"),
    ("after", [5, object(), True, [5], [None]], "is not a job or group: give a handle or an id"),
    ("after_ended", [5, object(), [5]], "is not a job or group: give a handle or an id"),
    *[(option, ["a\x00", "\ud800"], "id .* is not valid") for option in ("group", "after", "after_ended")],
]


@pytest.mark.parametrize(("option", "values", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_wrong_value_is_refused(
    hf: Holdfast, task: Task[..., int], option: str, values: list[Any], message: str
) -> None:
    for value in values:
        with refused(hf, InvalidInput, message):
            task.options(**{option: value}).enqueue()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"delay": 1, "at": START}, InvalidInput, "delay and at exclude each other: give one of them"),
        ({"subject": "s", "generation": -1}, InvalidInput, "generation -1 is not valid"),
        ({"subject": "s", "generation": True}, InvalidInput, "generation True is not valid"),
        ({"subject": "s", "generation": 2**63}, InvalidInput, "generation 9223372036854775808 is not valid"),
        ({"group": "nowhere"}, NotFound, "there is no group 'nowhere'; create it first"),
        ({"after": "nowhere"}, NotFound, "there is no job 'nowhere' to wait for; nothing was enqueued"),
        ({"after_ended": ["nowhere"]}, NotFound, "there is no job 'nowhere' to wait for"),
        ({"retry": Retry(1, permanent=KeyError)}, InvalidInput, "permanent= belongs to a task"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    hf: Holdfast, task: Task[..., int], options: dict[str, Any], error: type[HoldfastError], message: str
) -> None:
    with refused(hf, error, message):
        task.options(**options).enqueue()


def test_an_option_that_does_not_exist_is_refused_with_those_that_do(task: Task[..., int]) -> None:
    with pytest.raises(InvalidInput, match="'prio' is not an option; use queue, priority, delay, at, ttl"):
        task.options(prio=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"retries": True}, "retries True is not valid"),
        ({"retries": 1, "initial": -1}, "initial -1 is not valid: use 0 s to 100 years"),
        ({"retries": 1, "cap": "late"}, "cap 'late' is not valid: use 0 s to 100 years"),
        ({"retries": 1, "factor": 0.5}, "factor 0.5 is not valid: use a number from 1"),
        ({"retries": 1, "factor": True}, "factor True is not valid"),
        ({"retries": 1, "factor": math.nan}, "factor nan is not valid"),
        ({"retries": 1, "factor": 10**400}, "factor 1000.* is not valid"),
        ({"retries": 1, "mode": "twice"}, "mode 'twice' is not valid: use one of 'requeue', 'chain'"),
        ({"retries": 1, "infra": -1}, "infra -1 is not valid"),
        ({"retries": 1, "permanent": 5}, "permanent 5 is not valid: list exception types"),
        ({"retries": 1, "permanent": ("KeyError",)}, "permanent 'KeyError' is not valid"),
    ],
)
def test_a_wrong_retry_policy_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Retry(**settings)
