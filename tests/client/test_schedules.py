"""Templates and schedules from Python: what is kept, what jobs are made of it, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from holdfast import Conflict, Holdfast, HoldfastError, InvalidInput, InvalidPayload, NotFound, Retry
from holdfast.testing import ManualClock

Make = Callable[..., Holdfast]
MIDNIGHT = "0 0 * * *"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def hf(make_holdfast: Make, clock: ManualClock) -> Holdfast:
    hf = make_holdfast(clock=clock)

    @hf.task(queue="maths", retry=2)
    def double(x: int, plus: int = 0) -> int:
        return 2 * x + plus

    return hf


def test_a_job_of_a_template_has_its_payload_and_options_with_others_laid_over(hf: Holdfast) -> None:
    made = hf.create_template("twice", "double", {"x": 2, "plus": 1}, queue="maths", priority=3, tag="t")
    assert hf.templates() == [made] == [hf.template(made.id)]
    assert hf.enqueue_template("twice", {"plus": 5}, priority=9).job.priority == 9
    first, second = hf.enqueue_template("twice"), hf.enqueue_template("twice", {"x": 10}, tag="other")
    assert hf.drain() == 3
    assert (first.result(), second.result()) == (5, 21)
    assert (first.job.priority, first.job.tag, second.job.tag) == (3, "t", "other")


def test_a_task_of_this_program_brings_its_options(make_holdfast: Make) -> None:
    hf = make_holdfast()

    @hf.task(queue="night", retry=Retry(4, initial=1), subject="file::{path}")
    def index(path: str) -> None: ...

    made = hf.create_template("index", index.options(timeout=9), {"path": "a.py"})
    assert (made.queue, made.options.subject, made.options.timeout_ms) == ("night", "file::a.py", 9_000)
    assert made.options.policy is not None
    assert made.options.policy.retries == 4


def test_what_an_event_must_have_may_go_with_the_event_of_the_template(hf: Holdfast) -> None:
    hf.create_template("waits", "double", {"x": 2}, on_event="go")
    job = hf.enqueue_template("waits", where={"branch": "main"})
    [condition] = job.conditions()
    assert (condition.event, condition.attributes) == ("go", {"branch": "main"})
    assert hf.edit_template("waits", where={"branch": "next"}).options.event_attributes == {"branch": "next"}
    hf.create_template("never", "double", {"x": 2})
    for refused in (hf.enqueue_template, hf.edit_template):
        with pytest.raises(InvalidInput, match=r"(where|event_attributes) {'a': 'b'} means nothing without"):
            refused("never", where={"a": "b"})


def test_a_schedule_may_say_what_the_event_of_its_template_must_have(hf: Holdfast) -> None:
    hf.create_template("waits", "double", {"x": 2}, on_event="go")
    schedule = hf.create_schedule("hourly", cron="0 * * * *", template="waits", where={"branch": "main"})
    [condition] = schedule.run_now().conditions()
    assert (condition.event, condition.attributes) == ("go", {"branch": "main"})
    schedule.edit(priority=3)
    schedule.edit(where={"branch": "next"})
    [condition] = schedule.run_now().conditions()
    assert (condition.event, condition.attributes) == ("go", {"branch": "next"})
    hf.create_template("never", "double", {"x": 2})
    refusal = r"where {'a': 'b'} means nothing without on_event"
    with pytest.raises(InvalidInput, match=refusal):
        hf.create_schedule("daily", cron=MIDNIGHT, template="never", where={"a": "b"})
    plain = hf.create_schedule("daily", cron=MIDNIGHT, template="never")
    with pytest.raises(InvalidInput, match=refusal):
        plain.edit(where={"a": "b"})
    assert plain.edit(template="waits", where={"a": "b"}).options.event_attributes == {"a": "b"}


def test_an_edit_changes_what_is_given_and_no_job(hf: Holdfast) -> None:
    hf.create_template("twice", "double", {"x": 2}, queue="maths", priority=3)
    job = hf.enqueue_template("twice")
    edited = hf.edit_template("twice", payload={"x": 3}, tag="new")
    assert (edited.payload, edited.options.priority, edited.options.tag) == ('{"x":3}', 3, "new")
    assert job.job.payload == '{"x":2}'


def test_no_job_is_made_from_an_archived_template_and_its_schedules_stand_still(hf: Holdfast) -> None:
    hf.create_template("twice", "double", {"x": 2})
    hf.create_schedule("nightly", cron=MIDNIGHT, template="twice")
    archived = hf.archive_template("twice")
    with pytest.raises(Conflict, match="archived"):
        hf.enqueue_template(archived.id)
    assert hf.schedule("nightly").view().disabled_reason == "template 'twice' was archived"
    assert (hf.templates(), hf.templates(archived=True)) == ([], [archived])


def test_a_schedule_makes_a_job_at_its_tick_and_the_job_tells(hf: Holdfast, clock: ManualClock) -> None:
    hf.create_template("twice", "double", {"x": 2}, queue="maths")
    nightly = hf.create_schedule("nightly", cron=MIDNIGHT, template="twice", payload={"plus": 1}, priority=7)
    assert hf.drain() == 0
    clock.advance(24 * 3600)
    assert hf.drain() == 1
    [job] = nightly.jobs().jobs
    assert (job.payload, job.priority, job.schedule_id) == ('{"x":2,"plus":1}', 7, nightly.id)
    assert hf.jobs(schedule=nightly).jobs == [job]
    assert msgspec.json.decode(job.trigger or "")["fire_time"] == clock.now()
    assert nightly.view().fires == 1


def test_a_schedule_of_a_task_has_a_template_of_its_own_which_goes_with_it(hf: Holdfast) -> None:
    nightly = hf.create_schedule("nightly", cron=MIDNIGHT, task="double", payload={"x": 4}, queue="maths")
    assert [template.name for template in hf.templates()] == ["nightly"]
    job = nightly.run_now()
    nightly.delete()
    assert (hf.templates(), hf.schedules()) == ([], [])
    assert hf.drain() == 1
    assert job.result() == 8
    with pytest.raises(NotFound):
        nightly.view()
    assert hf.create_schedule("nightly", cron=MIDNIGHT, task="double", payload={"x": 4}).view().fires == 0


def test_a_schedule_never_replaces_a_template_or_schedule_that_is_there(hf: Holdfast) -> None:
    template = hf.create_template("taken", "double")
    with pytest.raises(Conflict, match="there is a template 'taken' already"):
        hf.create_schedule("taken", cron=MIDNIGHT, task="other")
    hf.create_schedule("nightly", cron=MIDNIGHT, template="taken")
    with pytest.raises(Conflict, match="there is a schedule 'nightly' already"):
        hf.create_schedule("nightly", cron=MIDNIGHT, task="other")
    assert hf.templates() == [template]


def test_a_template_that_others_use_stays_when_its_schedule_goes(hf: Holdfast) -> None:
    first = hf.create_schedule("first", cron=MIDNIGHT, task="double", payload={"x": 1})
    second = hf.create_schedule("second", cron=MIDNIGHT, template="first")
    first.delete()
    assert second.view().enabled
    assert [template.name for template in hf.templates()] == ["first"]


def test_a_paused_schedule_fires_nothing_and_misses_nothing(hf: Holdfast, clock: ManualClock) -> None:
    hourly = hf.create_schedule("hourly", cron="0 * * * *", task="double", payload={"x": 1}, misfire="all")
    assert hourly.pause("holidays").disabled_reason == "holidays"
    clock.advance(5 * 3600)
    assert hf.drain() == 0
    resumed = hourly.resume()
    assert (resumed.enabled, resumed.next_fire) == (True, clock.now() + 3_600_000)
    assert hf.drain() == 0
    assert resumed.skips == []


def test_a_job_can_be_run_now_while_the_schedule_is_paused(hf: Holdfast) -> None:
    hourly = hf.create_schedule("hourly", cron="0 * * * *", task="double", payload={"x": 3}, queue="maths")
    hourly.pause()
    job = hourly.run_now()
    assert hf.drain() == 1
    assert job.result() == 6
    assert hourly.view().fires == 0


def test_an_edit_of_a_schedule_keeps_what_is_not_given(hf: Holdfast) -> None:
    handle = hf.create_schedule("early", cron="0 7 * * *", tz="Asia/Seoul", task="double", payload={"x": 1}, jitter=60)
    handle.edit(priority=5)
    edited = handle.edit(name="late", cron="0 19 * * *", overlap="allow", tag="evening")
    assert (edited.name, edited.words, edited.overlap) == ("late", "At 19:00 every day, Asia/Seoul time", "allow")
    assert (edited.jitter_ms, edited.options.priority, edited.options.tag) == (60_000, 5, "evening")
    assert hf.schedule("late").id == handle.id


def test_an_edit_does_not_look_at_an_event_that_it_leaves_alone(hf: Holdfast) -> None:
    hf.create_template("with", "double", {"x": 1}, on_event="pushed")
    hf.create_template("without", "double", {"x": 1})
    moved = hf.create_schedule("moved", cron=MIDNIGHT, template="with", where={"branch": "main"})
    moved.edit(template="without")
    assert moved.edit(priority=5).options.priority == 5
    lost = hf.create_schedule("lost", cron=MIDNIGHT, template="with", where={"branch": "main"})
    hf.archive_template("with")
    assert lost.edit(priority=5).options.priority == 5
    with pytest.raises(InvalidInput, match=r"where .* means nothing without on_event"):
        moved.edit(where={"branch": "other"})


def test_an_edit_refuses_a_payload_that_the_task_cannot_take(hf: Holdfast) -> None:
    built = hf.create_schedule("built", cron=MIDNIGHT, task="command", payload={"argv": ["make"]})
    with pytest.raises(InvalidPayload, match="cwd 'src' is not an absolute path"):
        built.edit(payload={"cwd": "src"})
    assert built.view().payload == "{}"


def test_the_next_fires_are_told_in_the_zone_of_the_schedule(hf: Holdfast, clock: ManualClock) -> None:
    clock.advance(datetime(2030, 3, 30, 12, tzinfo=UTC) - datetime(2030, 1, 1, tzinfo=UTC))
    berlin = ZoneInfo("Europe/Berlin")
    fires = [datetime(2030, 3, 31, 3, tzinfo=berlin), datetime(2030, 4, 1, 2, 30, tzinfo=berlin)]
    # On the 31st there is no half past two.
    assert hf.preview_cron("30 2 * * *", "Europe/Berlin", 2) == fires
    handle = hf.create_schedule("nightly", cron="30 2 * * *", tz="Europe/Berlin", task="double", payload={"x": 1})
    assert handle.preview(2) == fires
    assert [tick.utcoffset() for tick in handle.preview(2)] == [timedelta(hours=2)] * 2


@pytest.mark.parametrize(
    ("wish", "error", "said"),
    [
        ({"cron": "0 25 * * *", "task": "double"}, InvalidInput, "its hour does not fit"),
        ({"cron": MIDNIGHT, "tz": "Mars/Base", "task": "double"}, InvalidInput, "no time zone 'Mars/Base'"),
        ({"cron": MIDNIGHT}, InvalidInput, "either template= or task="),
        ({"cron": MIDNIGHT, "task": "double", "template": "t"}, InvalidInput, "either template= or task="),
        ({"cron": MIDNIGHT, "task": "double", "payload": {"x": "two"}}, InvalidPayload, "does not fit task 'double'"),
        ({"cron": MIDNIGHT, "task": "double", "misfire": "never"}, InvalidInput, "use one of 'skip', 'latest', 'all'"),
        (
            {"cron": MIDNIGHT, "task": "double", "overlap": "queue"},
            InvalidInput,
            "use one of 'allow', 'skip', 'supersede'",
        ),
        ({"cron": MIDNIGHT, "task": "double", "jitter": timedelta(days=2)}, InvalidInput, "jitter"),
        ({"cron": MIDNIGHT, "task": "other", "priority": "high"}, InvalidInput, "priority 'high'"),
        ({"cron": MIDNIGHT, "task": "other", "colour": "red"}, InvalidInput, "'colour' is not an option"),
        ({"cron": MIDNIGHT, "task": "other", "generation": 3}, InvalidInput, "'generation' belongs to one job"),
        ({"cron": MIDNIGHT, "template": "nobody"}, NotFound, "no template 'nobody'"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_stored(
    hf: Holdfast, wish: dict[str, Any], error: type[HoldfastError], said: str
) -> None:
    with pytest.raises(error, match=said):
        hf.create_schedule("nightly", **wish)
    assert (hf.schedules(), hf.templates()) == ([], [])


def test_a_payload_that_can_never_fit_is_refused(hf: Holdfast) -> None:
    with pytest.raises(InvalidPayload, match="no argument 'y'"):
        hf.create_template("twice", "double", {"y": 1})
    with pytest.raises(InvalidPayload, match="not JSON"):
        hf.create_template("other", "elsewhere", {"y": object()})
    assert hf.templates() == []


def test_every_call_can_be_awaited(hf: Holdfast) -> None:
    async def story() -> Any:
        await hf.acreate_template("twice", "double", {"x": 2}, queue="maths")
        await hf.aedit_template("twice", payload={"x": 3})
        job = await hf.aenqueue_template("twice", {"plus": 1})
        handle = await hf.acreate_schedule("nightly", cron=MIDNIGHT, template="twice")
        await handle.aedit(priority=2)
        await handle.apause("for now")
        await handle.aresume()
        now = await handle.arun_now()
        await hf.adrain()
        found = [template.name for template in await hf.atemplates()]
        assert (await hf.atemplate("twice")).payload == '{"x":3}'
        assert (await (await hf.aschedule("nightly")).aview()).options.priority == 2
        assert len(await handle.apreview(3)) == 3
        assert len((await handle.ajobs()).jobs) == 1
        await handle.adelete()
        await hf.aarchive_template("twice")
        return found, await job.aresult(), await now.aresult(), await hf.aschedules()

    assert asyncio.run(story()) == (["twice"], 7, 6, [])
