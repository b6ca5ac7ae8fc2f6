"""Looking at many jobs, and acting on many jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput, NotFound, StateName, Task
from holdfast.core.messages.jobs import BulkResult
from holdfast.testing import ManualClock, assert_enqueued

START = datetime(2030, 1, 1, tzinfo=UTC)
DONE, FAILED, QUEUED = StateName.DONE, StateName.FAILED, StateName.QUEUED
CANCELLED, SCHEDULED = StateName.CANCELLED, StateName.SCHEDULED


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def hf(make_holdfast: Callable[..., Holdfast], clock: ManualClock) -> Holdfast:
    return make_holdfast(clock=clock)


@pytest.fixture
def work(hf: Holdfast) -> Task[..., int]:
    @hf.task
    def work(x: int = 0) -> int:
        if x < 0:
            raise ValueError(f"{x} is 100% too small")
        return x

    return work


def payloads(hf: Holdfast, **filters: Any) -> list[str | None]:
    return [job.payload for job in hf.jobs(**filters).jobs]


def test_jobs_are_listed_newest_first_in_pages_that_fit_together(hf: Holdfast, work: Task[..., int]) -> None:
    handles = work.enqueue_many({"x": number} for number in range(7))
    seen, cursor = [], None
    for _ in range(3):
        page = hf.jobs(limit=3, cursor=cursor)
        seen += [job.id for job in page.jobs]
        cursor = page.cursor
        work.enqueue(x=100)
    assert cursor is None
    assert seen == [handle.id for handle in reversed(handles)]


def test_a_list_is_narrowed_by_its_filters(hf: Holdfast, work: Task[..., int], clock: ManualClock) -> None:
    @hf.task(queue="other")
    def rest() -> None: ...

    group = hf.create_group()
    work.enqueue(x=1)
    work.enqueue(x=-2)
    hf.drain()
    clock.advance(60)
    work.options(tag="nightly", subject="a::b::c").enqueue(x=3)
    work.options(group=group, delay=60).enqueue(x=4)
    rest.enqueue()
    assert payloads(hf, state="DONE") == ['{"x":1}']
    assert payloads(hf, state=["DONE", FAILED]) == ['{"x":-2}', '{"x":1}']
    assert payloads(hf, state=QUEUED, queue="default") == ['{"x":3}']
    assert payloads(hf, queue="other") == ["{}"]
    assert payloads(hf, task="rest") == payloads(hf, task=rest) == ["{}"]
    assert payloads(hf, tag="nightly") == payloads(hf, subject_prefix="a::b") == ['{"x":3}']
    assert payloads(hf, group=group) == payloads(hf, group=group.id, state="SCHEDULED") == ['{"x":4}']
    assert payloads(hf, created_after=START + timedelta(seconds=30), task=work) == ['{"x":4}', '{"x":3}']
    assert payloads(hf, error_text="100% TOO") == ['{"x":-2}']
    assert payloads(hf, error_text="100_") == payloads(hf, tag="weekly") == payloads(hf, group="nowhere") == []
    assert len(payloads(hf, tag=None)) == 5


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"colour": "red"}, "'colour' is not a filter; use state, queue, tag, tenant, group, task"),
        ({"state": "done"}, "state 'done' is not valid: use one of 'SCHEDULED', 'QUEUED'"),
        ({"state": 5}, "state 5 is not valid: use one of 'SCHEDULED'"),
        ({"state": []}, r"state \[\] is not valid: use 1 to \d+ of them"),
        ({"queue": 5}, "queue 5 is not valid"),
        ({"task": 5}, "task 5 is not valid"),
        ({"tag": "\x00"}, "tag .* is not valid"),
        ({"group": 5}, "5 is not a job or group"),
        ({"subject_prefix": "\ud800"}, "subject_prefix .* is not valid"),
        ({"created_after": "yesterday"}, "created_after 'yesterday' is not valid: use a moment"),
        ({"created_after": datetime(2030, 1, 1)}, "created_after .* as a datetime with a time zone"),
        ({"error_text": 5}, "error_text 5 is not valid"),
        ({"limit": 0}, "limit 0 is not valid: use a whole number from 1 to 1000"),
        ({"limit": True}, "limit True is not valid"),
        ({"cursor": "here"}, "cursor 'here' is not one that a list returned"),
        ({"cursor": "bjk5OTk5OTk5OTk5OTk5OTk5OTk5OTk"}, "is not one that a list returned"),
        ({"cursor": 5}, "cursor 5 is not valid"),
    ],
)
def test_a_wrong_filter_is_refused(hf: Holdfast, filters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        hf.jobs(**filters)
    if not filters.keys() & {"limit", "cursor"}:
        with pytest.raises(InvalidInput, match=message):
            hf.bulk("cancel", **filters)


def test_counts_are_by_queue_and_state(hf: Holdfast, work: Task[..., int]) -> None:
    assert hf.counts() == {}
    work.enqueue_many([{"x": 1}, {"x": -1}])
    hf.drain()
    work.options(delay=60).enqueue()
    work.options(queue="other").enqueue()
    assert hf.counts() == {"default": {DONE: 1, FAILED: 1, SCHEDULED: 1}, "other": {QUEUED: 1}}


def test_a_bulk_action_can_be_looked_at_first(hf: Holdfast, work: Task[..., int]) -> None:
    work.options(tag="a").enqueue_many([{}] * 5)
    assert hf.bulk("cancel", tag="a", dry_run=True) == BulkResult(5, more=False, dry_run=True)
    assert hf.counts()["default"] == {QUEUED: 5}
    assert hf.bulk("cancel", tag="a", limit=3) == BulkResult(3, more=True, dry_run=False)
    assert hf.counts()["default"] == {QUEUED: 2, CANCELLED: 3}


def test_failed_jobs_are_retried_together(hf: Holdfast, work: Task[..., int]) -> None:
    work.enqueue_many([{"x": -1}, {"x": -2}, {"x": 3}])
    hf.drain()
    assert hf.bulk("retry", state="FAILED", priority=5).jobs == 2
    assert {job.priority for job in hf.jobs(state="QUEUED").jobs} == {5}


def test_priorities_are_changed_together(hf: Holdfast, work: Task[..., int]) -> None:
    handles = work.enqueue_many([{}] * 3)
    assert hf.bulk("priority", priority=9).jobs == 3
    assert {handle.job.priority for handle in handles} == {9}


@pytest.mark.parametrize(
    ("action", "options", "message"),
    [
        ("delete", {}, "action 'delete' is not valid: use one of 'cancel', 'retry', 'priority'"),
        ("priority", {}, "the bulk action 'priority' needs a priority"),
        ("priority", {"priority": True}, "priority True is not valid"),
        ("cancel", {"dry_run": "no"}, "dry_run 'no' is not valid: use true or false"),
        ("cancel", {"limit": 0}, "limit 0 is not valid"),
    ],
)
def test_a_wrong_bulk_action_is_refused(
    hf: Holdfast, work: Task[..., int], action: str, options: dict[str, Any], message: str
) -> None:
    handle = work.enqueue()
    with pytest.raises(InvalidInput, match=message):
        hf.bulk(action, **options)
    assert handle.state is QUEUED


@pytest.mark.parametrize("ref", ["nowhere", 99, "99", 2**63 - 1, "9" * 30, "²"])
def test_a_job_that_does_not_exist_is_said_to(hf: Holdfast, ref: Any) -> None:
    with pytest.raises(NotFound, match=f"there is no job {ref!r}"):
        hf.job(ref)


@pytest.mark.parametrize("ref", [None, 1.5, True, 0, -1, 2**63, "", "\x00", "\ud800", object()])
def test_what_cannot_be_a_job_is_refused(hf: Holdfast, ref: Any) -> None:
    with pytest.raises(InvalidInput, match=r"is not (valid|a job or group)"):
        hf.job(ref)


@pytest.mark.parametrize("queue", ["", "a b", 5, None])
def test_queues_have_names(hf: Holdfast, queue: Any) -> None:
    for call in (hf.pause, hf.resume, lambda name: hf.limit(name, 1)):
        with pytest.raises(InvalidInput, match=r"queue .* is not valid"):
            call(queue)


def test_the_limit_and_the_reason_of_a_queue_are_checked(hf: Holdfast) -> None:
    for limit in (-1, True, 1.5, "x"):
        with pytest.raises(InvalidInput, match="concurrency"):
            hf.limit("default", limit)  # type: ignore[arg-type]
    for reason in (5, "", "\x00", "x" * 1_001):
        with pytest.raises(InvalidInput, match="reason"):
            hf.pause("default", reason)  # type: ignore[arg-type]


def test_the_twins_give_the_same(hf: Holdfast, work: Task[..., int]) -> None:
    handles = work.options(tag="a").enqueue_many([{}] * 3)

    async def main() -> list[bool]:
        await hf.apause("default")
        await hf.alimit("default", 2)
        await hf.aresume("default")
        return [
            await hf.ajobs(limit=2) == hf.jobs(limit=2),
            await hf.acounts() == hf.counts(),
            (await hf.ajob(handles[0].id)).id == handles[0].id,
            await hf.abulk("cancel", dry_run=True) == BulkResult(3, more=False, dry_run=True),
            await hf.adoctor() == [],
            await hf.adrain() == 3,
        ]

    assert all(asyncio.run(main()))


def test_a_long_payload_is_told_of_in_lists_and_whole_in_the_job(hf: Holdfast) -> None:
    @hf.task
    def read(text: str) -> str:
        return text

    text = "x" * 10_000
    handle = read.enqueue(text=text)
    hf.drain()
    [job] = hf.jobs().jobs
    assert (job.payload, sorted(job.cut)) == (None, ["payload", "result"])
    assert job.cut["payload"].head.startswith('{"text":"xxx')
    assert handle.job == hf.job(handle.id).job == hf.jobs(payloads=True).jobs[0]
    assert handle.result() == text
    assert_enqueued(hf, read, text=text)


def test_the_results_of_a_group_are_whole_however_long(hf: Holdfast) -> None:
    @hf.task
    def long(size: int) -> str:
        return "x" * size

    group = hf.group(*(long.call(size=size) for size in (900_000, 900_001, 900_002)))
    hf.drain()
    assert [len(result) for result in group.results()] == [900_000, 900_001, 900_002]
    assert [job.cut["result"].bytes for job in group.members()] == [900_002, 900_003, 900_004]
