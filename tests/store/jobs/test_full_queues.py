"""A queue with a maximum length: who is refused, who makes room, and that nothing is ever half enqueued."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast.core.errors import InvalidInput, QueueFull
from holdfast.core.gates.queue import SHED_CODE, Overflow, QueueClass
from holdfast.core.job import Cancelled, StateName
from holdfast.core.messages.queues import Queue
from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.schedules import schedule as schedule_rules
from holdfast.core.schedules.cron import UTC
from holdfast.core.settings.queue_changes import QueueChanges, QueueSetting
from holdfast.core.settings.queue_settings import SETTINGS
from holdfast.core.tasks.task import TemplateOptions
from holdfast.core.values.group import GroupMode, OnFailure
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.rows import policy_of
from holdfast.store.scripts.jobs.group_jobs import enqueue_group
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.queues.queues import find_queue, set_queue
from holdfast.store.scripts.reading.read_jobs import counts
from holdfast.store.scripts.schedules.firing import fire_due
from holdfast.store.scripts.schedules.schedules import find_schedule, put_schedule
from holdfast.store.scripts.schedules.templates import put_template
from tests.store.acts import (
    FAILED,
    NOW,
    TASK,
    claim_one,
    claim_some,
    end,
    job,
    new_job,
    put,
    put_and_end,
    put_one,
    reason,
    row,
    select,
    state,
    states,
    write,
)


def bound(engine: Engine, most: int, overflow: Overflow = Overflow.REJECT, queue: str = "default") -> None:
    write(engine, set_queue, queue, QueueChanges(max_length=most, overflow=overflow))


def length(engine: Engine, queue: str = "default") -> int:
    waiting = (StateName.QUEUED, StateName.SCHEDULED)
    return sum(count.jobs for count in engine.query(counts) if count.queue == queue and count.state in waiting)


def test_more_than_a_queue_can_ever_hold_is_not_worth_asking_again(engine: Engine) -> None:
    bound(engine, 0)
    with pytest.raises(QueueFull, match=r"Waiting does not help: raise its maximum$") as refused:
        put_one(engine, "a")
    assert refused.value.retry_after is None
    bound(engine, 1)
    with pytest.raises(QueueFull, match=r"or enqueue fewer at once$") as too_many:
        put(engine, new_job("a"), new_job("b"))
    assert too_many.value.retry_after is None


def test_a_batch_that_never_fits_is_refused_at_once_also_by_a_full_queue(engine: Engine) -> None:
    bound(engine, 2)
    put(engine, new_job("a"), new_job("b"))
    with pytest.raises(QueueFull, match=r"3 more jobs did not fit.*Waiting does not help") as refused:
        put(engine, *(new_job(name) for name in "cde"))
    assert refused.value.retry_after is None
    with pytest.raises(QueueFull, match="2 more jobs did not fit") as later:
        put(engine, *(new_job(name) for name in "cd"))
    assert later.value.retry_after == 1


def test_a_job_that_was_shed_has_the_code_for_it(engine: Engine) -> None:
    bound(engine, 1, Overflow.SHED)
    put_one(engine, "a")
    put_one(engine, "b", priority=5)
    ended = job(engine, "a").state
    assert isinstance(ended, Cancelled)
    assert ended.error_code == SHED_CODE


def test_a_full_queue_refuses_and_says_when_to_ask_again(engine: Engine) -> None:
    bound(engine, 2)
    put(engine, new_job("a"), new_job("b", delay_ms=5))
    with pytest.raises(QueueFull, match="queue 'default' is full: 2 jobs wait in it, its maximum is 2") as refused:
        put_one(engine, "c")
    assert refused.value.retry_after == 1
    claim_one(engine)
    put_one(engine, "c")


def test_a_batch_comes_in_as_a_whole_or_not_at_all(engine: Engine) -> None:
    bound(engine, 3)
    put_one(engine, "a")
    with pytest.raises(QueueFull):
        put(engine, new_job("free", queue="free"), *(new_job(name, tag="x") for name in "bcd"))
    with pytest.raises(QueueFull):
        put(engine, new_job("keyed", idempotency_key="k", queue="free"), *(new_job(name) for name in "bcd"))
    members = [new_job(name) for name in "bcd"]
    with pytest.raises(QueueFull):
        write(engine, enqueue_group, "g", None, GroupMode.SEQUENTIAL, OnFailure.STOP, members, NOW)
    assert (length(engine), length(engine, "free"), select(engine, "SELECT 1 FROM job_groups")) == (1, 0, [])
    put(engine, new_job("b"), new_job("c"))


def test_what_adds_nothing_is_not_refused(engine: Engine) -> None:
    bound(engine, 2)
    put(engine, new_job("a", subject="s"), new_job("b", idempotency_key="k"))
    assert put_one(engine, "again", idempotency_key="k").existing
    put_one(engine, "newer", subject="s")
    assert states(engine, "a", "newer") == [StateName.SUPERSEDED, StateName.QUEUED]
    bound(engine, 1)
    put_one(engine, "newest", subject="s")
    assert length(engine) == 2


def test_retries_and_children_always_come_in(engine: Engine) -> None:
    bound(engine, 1)
    put_one(engine, "a", policy=RetryPolicy(retries=1))
    run = claim_one(engine)
    put_one(engine, "b")
    put_one(engine, "child", parent_job_id="a")
    assert end(engine, run, FAILED).state is StateName.SCHEDULED
    bound(engine, 0, queue="other")
    bound(engine, 1, queue="other")
    put_one(engine, "x", queue="other")
    end(engine, claim_one(engine, queues=("other",)))
    put_one(engine, "y", queue="other")
    assert write(engine, retry_job, "x", NOW).state is StateName.QUEUED
    assert length(engine) == 3


def test_the_lowest_priority_makes_room_and_of_equals_the_newest(engine: Engine) -> None:
    bound(engine, 4, Overflow.SHED)
    put(
        engine,
        new_job("high", priority=5),
        new_job("old", tenant="x"),
        new_job("new", tenant="y"),
        new_job("later", delay_ms=1_000, priority=1),
    )
    put_one(engine, "more", priority=3)
    assert state(engine, "new") is StateName.CANCELLED
    assert row(engine, "new").error_code == SHED_CODE
    assert reason(engine, "new") == "queue 'default' was full; it made room for a job of higher priority"
    put(engine, new_job("m1", priority=3), new_job("m2", priority=3))
    assert states(engine, "old", "later", "high") == [StateName.CANCELLED, StateName.CANCELLED, StateName.QUEUED]


def test_nobody_makes_room_for_an_equal_and_a_batch_is_refused_as_a_whole(engine: Engine) -> None:
    bound(engine, 2, Overflow.SHED)
    put(engine, new_job("a", priority=1), new_job("b", priority=2))
    with pytest.raises(QueueFull):
        put_one(engine, "equal", priority=1)
    with pytest.raises(QueueFull):
        put(engine, new_job("one", priority=9), new_job("two", priority=1))
    assert states(engine, "a", "b") == [StateName.QUEUED, StateName.QUEUED]
    put(engine, new_job("one", priority=9), new_job("two", priority=2))
    assert states(engine, "a", "b") == [StateName.CANCELLED, StateName.CANCELLED]


def test_a_job_that_has_run_before_stays(engine: Engine) -> None:
    bound(engine, 1, Overflow.SHED)
    put_and_end(engine, "a", FAILED, policy=RetryPolicy(retries=3))
    with pytest.raises(QueueFull):
        put_one(engine, "high", priority=9)
    assert state(engine, "a") is StateName.SCHEDULED


@pytest.mark.parametrize("seed", range(2))
def test_under_load_it_is_never_longer_than_its_maximum_and_keeps_the_highest(engine: Engine, seed: int) -> None:
    chance, most = random.Random(seed), 12
    bound(engine, most, Overflow.SHED)
    refused: list[int] = []

    def produce(batch: list[Any]) -> None:
        try:
            put(engine, *batch)
        except QueueFull:
            refused.extend(job.priority for job in batch)

    batches = [
        [
            new_job(f"j{number}-{n}", priority=chance.randint(0, 9), tenant=chance.choice("xyz"))
            for n in range(chance.randint(1, 3))
        ]
        for number in range(40)
    ]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(produce, batches))
    rows = select(engine, "SELECT priority, state, error_code FROM jobs")
    waiting = [row["priority"] for row in rows if row["state"] == "QUEUED"]
    shed = [row["priority"] for row in rows if row["error_code"] == SHED_CODE]
    assert len(waiting) == most, f"seed {seed}"
    assert len(waiting) + len(shed) == len(rows)
    assert len(rows) + len(refused) == sum(map(len, batches))
    assert max(shed) <= min(waiting)


def test_many_producers_fill_a_queue_to_its_maximum_and_not_beyond(engine: Engine) -> None:
    bound(engine, 10)

    def produce(number: int) -> bool:
        try:
            put_one(engine, f"j{number}")
        except QueueFull:
            return False
        return True

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(produce, range(40))) == 10
    assert length(engine) == 10


def test_a_schedule_whose_queue_is_full_skips_its_tick_and_goes_on(engine: Engine) -> None:
    write(engine, put_template, NewTemplate(id="t1", name="t1", task=TASK, queue="narrow"), NOW)
    for name in ("first", "second"):
        schedule = NewSchedule(id=name, name=name, template="t1", cron="* * * * *", timezone=UTC)
        write(engine, put_schedule, schedule, NOW)
    bound(engine, 1, queue="narrow")
    fired = write(engine, fire_due, NOW + 60_000)
    assert (fired.jobs, fired.skipped, fired.troubles) == (1, 1, ())
    skips = [skip for name in ("first", "second") for skip in engine.query(find_schedule, name).skips]
    assert [(skip.reason, skip.ticks) for skip in skips] == [("queue full", 1)]
    claim_some(engine, queues=("narrow",))
    assert write(engine, fire_due, NOW + 120_000).jobs == 1


def test_a_tick_takes_the_place_of_an_earlier_one_in_a_full_queue(engine: Engine) -> None:
    write(engine, put_template, NewTemplate(id="t1", name="t1", task=TASK, queue="narrow"), NOW)
    schedule = NewSchedule(
        id="s", name="s", template="t1", cron="* * * * *", timezone=UTC, overlap=schedule_rules.Overlap.SUPERSEDE
    )
    write(engine, put_schedule, schedule, NOW)
    bound(engine, 1, queue="narrow")
    assert write(engine, fire_due, NOW + 60_000).jobs == 1
    fired = write(engine, fire_due, NOW + 120_000)
    assert (fired.jobs, fired.skipped, length(engine, "narrow")) == (1, 0, 1)


def test_what_a_tick_replaces_makes_room_once_only(engine: Engine) -> None:
    write(engine, put_template, NewTemplate(id="t1", name="t1", task=TASK, queue="narrow"), NOW)
    schedule = NewSchedule(
        id="s", name="s", template="t1", cron="* * * * *", timezone=UTC, overlap=schedule_rules.Overlap.SUPERSEDE
    )
    write(engine, put_schedule, schedule, NOW)
    write(engine, fire_due, NOW + 60_000)
    put(engine, new_job("urgent", queue="narrow", priority=9))
    options = TemplateOptions(priority=5)
    write(engine, put_template, NewTemplate(id="t2", name="t1", task=TASK, queue="narrow", options=options), NOW)
    bound(engine, 1, Overflow.SHED, queue="narrow")
    fired = write(engine, fire_due, NOW + 120_000)
    assert (fired.jobs, fired.skipped, fired.troubles, length(engine, "narrow")) == (0, 1, (), 2)


def test_jobs_that_say_nothing_have_what_their_queue_says(engine: Engine) -> None:
    policy = RetryPolicy(retries=5, initial_ms=10, mode=RetryMode.CHAIN)
    write(engine, set_queue, "index", QueueChanges(retry=policy, timeout_ms=7_000))
    own = RetryPolicy(retries=1)
    put(
        engine,
        new_job("silent", queue="index"),
        new_job("own", queue="index", policy=own, timeout_ms=5),
        new_job("elsewhere"),
    )
    found = [(policy_of(row(engine, name)), row(engine, name).timeout_ms) for name in ("silent", "own", "elsewhere")]
    assert found == [(policy, 7_000), (own, 5), (RetryPolicy(), None)]


def test_a_queue_that_nobody_has_set_up_has_the_defaults_that_are_declared() -> None:
    usual = {field: setting.default for setting in SETTINGS.values() for field in setting.columns}
    assert {field: getattr(Queue(name="q"), field) for field in usual} == usual


def test_settings_are_changed_one_by_one_and_set_back(engine: Engine) -> None:
    assert engine.query(find_queue, "q") == Queue(name="q")
    write(engine, set_queue, "q", QueueChanges(concurrency=2, queue_class=QueueClass.HEAVY, overflow=Overflow.SHED))
    found = write(engine, set_queue, "q", QueueChanges(rate_limit=5, rate_window_ms=1_000, max_length=9))
    assert engine.query(find_queue, "q") == found
    assert (found.concurrency, found.queue_class, found.max_length) == (2, QueueClass.HEAVY, 9)
    everything = QueueChanges(clear=tuple(QueueSetting))
    assert write(engine, set_queue, "q", everything) == engine.query(find_queue, "q") == Queue(name="q")


@pytest.mark.parametrize(
    "changes",
    [
        QueueChanges(rate_limit=5),
        QueueChanges(rate_window_ms=5),
        QueueChanges(concurrency=1, clear=(QueueSetting.CONCURRENCY,)),
    ],
)
def test_settings_that_do_not_go_together_are_refused(engine: Engine, changes: QueueChanges) -> None:
    with pytest.raises(InvalidInput):
        write(engine, set_queue, "q", changes)
