"""Enqueue: what is stored, where in the queue, and all of it or nothing."""

from __future__ import annotations

import pytest

from holdfast.core.errors import NotFound, StoreError
from holdfast.core.job import Queued, Scheduled, SkippedDeadline, StateName
from holdfast.core.jobs.order import GAP
from holdfast.core.values.group import Dependency, GroupMode
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.reading.read_jobs import find_job
from tests.store.acts import (
    NOW,
    claim_some,
    claimed_ids,
    dump,
    group,
    job,
    new_job,
    put,
    put_one,
    row,
    select,
    states,
)


def test_a_job_is_stored_as_it_was_asked_for(engine: Engine) -> None:
    policy = RetryPolicy(retries=4, initial_ms=10, factor=1.5, cap_ms=99, mode=RetryMode.CHAIN, infra=1)
    answer = put_one(
        engine,
        "a",
        task="paint",
        queue="art",
        payload='{"colour":"blué"}',
        priority=3,
        tenant="me::wall",
        ttl_ms=1000,
        deadline=NOW + 5000,
        timeout_ms=700,
        policy=policy,
        tag="blue",
        parent_job_id="parent",
        trace_id="trace",
        trigger='{"kind":"test"}',
        idempotency_key="key",
    )
    assert (answer.id, answer.state, answer.generation, answer.existing) == ("a", StateName.QUEUED, None, False)
    stored = job(engine, "a")
    assert stored.state == Queued(NOW)
    assert (stored.task, stored.queue, stored.payload, stored.priority) == ("paint", "art", '{"colour":"blué"}', 3)
    assert (stored.tenant, stored.ttl_ms, stored.deadline, stored.timeout_ms) == ("me::wall", 1000, NOW + 5000, 700)
    assert (stored.policy, stored.tag, stored.parent_job_id) == (policy, "blue", "parent")
    assert (stored.trace_id, stored.trigger, stored.idempotency_key) == ("trace", '{"kind":"test"}', "key")
    assert (stored.created_at, stored.attempts, stored.subject, stored.group_id) == (NOW, 0, None, None)


def test_the_answer_has_the_number_of_each_job(engine: Engine) -> None:
    group(engine, "steps", GroupMode.SEQUENTIAL)
    some = [new_job("a"), new_job("b", subject="s"), new_job("c", group_id="steps"), new_job("d", group_id="steps")]
    many = [new_job(f"m{number}") for number in range(500)]
    answers = put(engine, *some, *many, new_job("e", deadline=NOW - 1))
    assert {answer.id: answer.number for answer in answers} == {
        row["id"]: row["number"] for row in select(engine, "SELECT id, number FROM jobs")
    }
    assert [answer.number for answer in answers] == sorted(answer.number or 0 for answer in answers)


def test_the_number_of_an_earlier_job_is_told_for_a_request_that_it_stands_for(engine: Engine) -> None:
    put(engine, new_job("other"))
    first = put_one(engine, "a", idempotency_key="k")
    again = put_one(engine, "b", idempotency_key="k")
    assert (again.id, again.number) == ("a", first.number)
    same = put_one(engine, "c", subject="s", generation=4)
    assert put_one(engine, "d", subject="s", generation=4).number == same.number != first.number
    [repeated] = engine.submit(enqueue, [new_job("a", idempotency_key="k")], NOW, repeated=True).result()
    assert repeated.number == first.number


def test_a_job_can_be_found_by_id_and_by_number(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"))
    number = job(engine, "b").number
    assert engine.query(find_job, number).id == "b"
    assert engine.query(find_job, str(number)).id == "b"
    assert number == job(engine, "a").number + 1


@pytest.mark.parametrize("ref", ["nobody", "999999999", 999_999_999, "9" * 40, ""])
def test_a_job_that_does_not_exist_is_not_found(engine: Engine, ref: str | int) -> None:
    with pytest.raises(NotFound):
        engine.query(find_job, ref)


def test_each_job_takes_the_place_behind_the_last(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"))
    put_one(engine, "c")
    assert [row(engine, name).position for name in "abc"] == [GAP, 2 * GAP, 3 * GAP]


def test_places_are_counted_within_queue_and_priority(engine: Engine) -> None:
    for request in (new_job("a"), new_job("b", queue="other"), new_job("c", priority=1), new_job("d")):
        put(engine, request)
    assert [row(engine, name).position for name in "abcd"] == [GAP, GAP, GAP, 2 * GAP]


def test_many_jobs_keep_their_order(engine: Engine) -> None:
    names = [f"j{number}" for number in range(300)]
    answers = put(engine, *(new_job(name) for name in names))
    assert [answer.id for answer in answers] == names
    assert claimed_ids(engine, 1000) == names


def test_a_job_with_a_delay_is_counted_from_the_enqueue(engine: Engine) -> None:
    assert put_one(engine, "a", delay_ms=50).state is StateName.SCHEDULED
    assert job(engine, "a").state == Scheduled(NOW + 50)
    assert select(engine, "SELECT schedule_type, schedule_delay_ms FROM jobs") == [
        {"schedule_type": "AFTER", "schedule_delay_ms": 50}
    ]


def test_a_job_with_a_moment_waits_for_it(engine: Engine) -> None:
    put(engine, new_job("future", due=NOW + 50), new_job("present", due=NOW), new_job("past", due=NOW - 1))
    assert states(engine, "future", "present", "past") == [StateName.SCHEDULED, StateName.QUEUED, StateName.QUEUED]
    assert claimed_ids(engine) == ["present", "past"]


def test_no_delay_at_all_is_ready_at_once(engine: Engine) -> None:
    assert put_one(engine, "a", delay_ms=0).state is StateName.QUEUED


def test_a_job_that_comes_too_late_is_stored_as_skipped(engine: Engine) -> None:
    assert put_one(engine, "a", deadline=NOW).state is StateName.SKIPPED_DEADLINE
    assert job(engine, "a").state == SkippedDeadline(NOW, "its deadline had passed when it came")
    assert claim_some(engine) == []


def test_all_are_stored_or_none(engine: Engine) -> None:
    before = dump(engine)
    with pytest.raises(NotFound, match="nobody"):
        put(engine, new_job("a"), new_job("b", subject="s"), new_job("c", after=(Dependency("nobody"),)))
    assert dump(engine) == before


def test_an_id_that_exists_is_refused(engine: Engine) -> None:
    put_one(engine, "a")
    before = dump(engine)
    with pytest.raises(StoreError):
        put(engine, new_job("b"), new_job("a"))
    assert dump(engine) == before


def test_a_task_that_nobody_offers_waits(engine: Engine) -> None:
    assert put_one(engine, "a", task="unheard of").state is StateName.QUEUED


def test_nothing_to_enqueue_is_nothing_stored(engine: Engine) -> None:
    before = dump(engine)
    assert put(engine) == []
    assert dump(engine) == before
