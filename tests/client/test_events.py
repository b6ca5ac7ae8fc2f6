"""Events: told, listed with what they triggered, and what triggered them; what triggered jobs and runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from holdfast import Context, Event, Holdfast, InvalidInput, NotFound, Retry, RunStatus
from holdfast.testing import ManualClock
from tests.client import telling_tasks
from tests.client.acts import WAIT, both_engines


def told(trigger: str | None) -> Any:
    """A trigger, read."""
    assert trigger is not None
    return msgspec.json.decode(trigger)


@both_engines
def test_an_event_is_told_with_what_is_known_about_it(hf: Holdfast) -> None:
    event = hf.emit("git:commit", branch="main", files=3, is_big=False, attributes={"odd-name": "x"}, data={"n": 1})
    assert isinstance(event, Event)
    assert event.attributes == {"branch": "main", "files": "3", "is_big": "false", "odd-name": "x"}
    assert event.data == {"n": 1}
    assert hf.event(event.id).event == Event(**{name: getattr(event, name) for name in Event.__struct_fields__})
    assert hf.event(event.id).jobs == []


@both_engines
def test_an_event_tells_how_many_waited_and_is_listed_with_what_it_let_go(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    jobs = [work.options(on_event="go").enqueue() for _ in range(3)]
    event = hf.emit("go")
    assert event.waiting == 3
    hf.drain()
    [view] = hf.events("g*").events
    assert [(job.job_id, job.state) for job in view.jobs] == [(job.id, "DONE") for job in jobs]
    assert (view.event.id, view.more, view.deliveries) == (event.id, False, [])


@both_engines
def test_events_are_listed_page_by_page_newest_first(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)
    for number in range(5):
        hf.emit(f"tick:{number}")
        clock.advance(1)
    page = hf.events(limit=3)
    rest = hf.events(limit=3, cursor=page.cursor)
    assert [view.event.name[-1] for view in (*page.events, *rest.events)] == ["4", "3", "2", "1", "0"]
    assert rest.cursor is None


@both_engines
def test_the_awaitable_twins_do_the_same(hf: Holdfast) -> None:
    async def work() -> None:
        event = await hf.aemit("go", where="here")
        assert (await hf.aevent(event.id)).event.id == event.id
        assert [view.event.id for view in (await hf.aevents()).events] == [event.id]

    asyncio.run(work())


def test_an_event_that_makes_no_sense_is_refused(hf: Holdfast) -> None:
    for call in (
        lambda: hf.emit("git:*"),
        lambda: hf.emit("two words"),
        lambda: hf.emit("go", attributes={"a b": "c"}),
        lambda: hf.emit("go", attributes=["a"]),  # type: ignore[arg-type]
        lambda: hf.emit("go", text="x" * 1_001),
        lambda: hf.emit("go", data=object()),
        lambda: hf.emit("go", data="x" * 65_535),
        lambda: hf.events("*x"),
        lambda: hf.events(limit=0),
    ):
        with pytest.raises(InvalidInput):
            call()
    with pytest.raises(NotFound, match="events are kept for a day"):
        hf.event("nowhere")


@both_engines
def test_a_run_tells_events_that_show_where_they_come_from(hf: Holdfast) -> None:
    @hf.task
    def blocking(ctx: Context) -> str:
        return ctx.emit("told", by="thread").id

    @hf.task
    async def awaiting(ctx: Context) -> str:
        return (await ctx.aemit("told", attributes={"by": "loop"})).id

    @hf.task
    def outside() -> str:
        return hf.emit("told").id

    for task in (blocking, awaiting, outside):
        job = task.enqueue()
        hf.drain()
        event = hf.event(job.result(timeout=WAIT)).event
        assert told(event.trigger) == {"kind": "run", "job_id": job.id, "run_id": job.runs[0].id}


@both_engines
def test_a_task_in_a_process_of_its_own_tells_events(make_holdfast: Callable[..., Holdfast]) -> None:
    hf = make_holdfast()
    hf._adopt(telling_tasks.hf, "both")
    job = hf.enqueue("tell", {"name": "told"})
    refused = hf.enqueue("tell", {"name": "two words"})
    hf.drain()
    event = hf.event(job.result(timeout=WAIT)).event
    assert (event.name, event.attributes, event.data) == ("told", {"from": "afar"}, ["far", 1])
    assert told(event.trigger) == {"kind": "run", "job_id": job.id, "run_id": job.runs[0].id}
    assert refused.runs[0].error_code == "InvalidInput"


@both_engines
def test_a_job_tells_who_called_and_which_program(hf: Holdfast) -> None:
    job = hf.enqueue("elsewhere").job
    trigger = told(job.trigger)
    assert trigger.keys() == {"kind", "by", "program"}
    assert trigger["kind"] == "call"
    assert told(hf.emit("go").trigger) == trigger


@both_engines
def test_a_job_tells_its_parent_and_the_run_that_called(hf: Holdfast) -> None:
    @hf.task
    def child() -> None: ...

    @hf.task
    def parent(ctx: Context) -> list[str]:
        return [ctx.enqueue(child).id, child.enqueue().id]

    job = parent.enqueue()
    hf.drain()
    ids = job.result(timeout=WAIT)
    about = {"job_id": job.id, "run_id": job.runs[0].id}
    assert [told(hf.job(job_id).job.trigger) for job_id in ids] == [{"kind": "parent"} | about, {"kind": "run"} | about]


@both_engines
@pytest.mark.parametrize("mode", ["requeue", "chain"])
def test_the_first_run_shows_what_triggered_its_job_and_the_next_what_went_before(
    make_holdfast: Callable[..., Holdfast], mode: str
) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)

    @hf.task(retry=Retry(1, mode=mode))
    def work(ctx: Context) -> None:
        assert ctx.attempt > 1

    job = work.enqueue()
    hf.drain()
    clock.advance(3_600)
    hf.drain()
    first, second = job.runs
    assert first.trigger == job.job.trigger
    assert told(second.trigger) == {"kind": "retry", "run_id": first.id, "after": RunStatus.FAILED}
    assert told(job.retry().job.trigger) == {"kind": "retry", "job_id": second.job_id}


@both_engines
def test_the_run_of_a_job_that_waited_for_an_event_shows_the_event(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    job = work.options(on_event="git:*").enqueue()
    event = hf.emit("git:push")
    hf.drain()
    assert told(job.runs[0].trigger) == {"kind": "event", "event_id": event.id, "name": "git:push"}
    assert told(job.job.trigger)["kind"] == "call"
