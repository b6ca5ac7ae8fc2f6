"""Jobs that wait: for a moment, an event, another job, an idle or charging machine, and for any of these together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, combinations
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput, StateName
from holdfast.core.messages.conditions import ConditionKind
from holdfast.testing import ManualClock, SimulatedMachine, inline
from tests.client.acts import both_engines

CONDITIONS = ("time", "event", "after", "ended", "idle", "charging")
SUBSETS = [*chain.from_iterable(combinations(CONDITIONS, size) for size in range(len(CONDITIONS) + 1))]


class Course:
    """A program whose conditions the test makes true one by one."""

    def __init__(self, make_holdfast: Callable[..., Holdfast]) -> None:
        self.clock, self.machine = ManualClock(), SimulatedMachine(idle=False, charging=False)
        self.hf = hf = make_holdfast(clock=self.clock, machine=self.machine, concurrency=100)
        self.ran: set[tuple[str, ...]] = set()

        @hf.task(queue="first")
        def before(is_well: bool) -> None:
            assert is_well

        @hf.task
        def work(waits: list[str]) -> None:
            self.ran.add(tuple(waits))

        self.work = work
        hf.pause("first")
        self.well, self.broken = before.enqueue(is_well=True), before.enqueue(is_well=False)

    def options(self, name: str) -> dict[str, Any]:
        """What a job is enqueued with to wait for this."""
        chosen: dict[str, dict[str, Any]] = {
            "time": {"delay": 60},
            "event": {"on_event": "git:*", "where": {"branch": "main"}},
            "after": {"after": self.well},
            "ended": {"after_ended": self.broken},
            "idle": {"when_idle": True},
            "charging": {"when_charging": True},
        }
        return chosen[name]

    def make_true(self, name: str) -> None:
        """From now on nobody waits for this any more."""
        match name:
            case "time":
                self.clock.advance(60)
            case "event":
                self.hf.emit("git:commit", branch="main")
            case "after" | "ended":
                self.hf.resume("first")
            case "idle":
                self.machine.set(idle=True)
            case "charging":
                self.machine.set(charging=True)


@both_engines
@pytest.mark.parametrize("order", [CONDITIONS, CONDITIONS[::-1]], ids=["forwards", "backwards"])
def test_a_job_runs_once_all_that_it_waits_for_has_come_true(
    make_holdfast: Callable[..., Holdfast], order: tuple[str, ...]
) -> None:
    course = Course(make_holdfast)
    for waits in SUBSETS:
        chosen: dict[str, Any] = {}
        for name in waits:
            chosen |= course.options(name)
        course.work.options(**chosen).enqueue(waits=list(waits))
    is_true: set[str] = set()
    course.hf.drain()
    for name in order:
        assert course.ran == {waits for waits in SUBSETS if set(waits) <= is_true}
        course.make_true(name)
        # The two jobs before them end together.
        is_true |= {"after", "ended"} if name in ("after", "ended") else {name}
        course.hf.drain()
    assert course.ran == set(SUBSETS)


@both_engines
def test_the_conditions_of_a_job_tell_what_came_true_when_and_by_which_event(
    make_holdfast: Callable[..., Holdfast],
) -> None:
    course = Course(make_holdfast)
    hf = course.hf
    chosen: dict[str, Any] = {}
    for name in CONDITIONS:
        chosen |= course.options(name)
    job = course.work.options(**chosen).enqueue(waits=[])
    assert [condition.is_met for condition in job.conditions()] == [False] * 6
    course.clock.advance(1)
    event = hf.emit("git:push", branch="main")
    hf.drain()
    found = {condition.kind: condition for condition in job.conditions()}
    told = found[ConditionKind.EVENT]
    assert (told.event, told.attributes, told.is_met) == ("git:*", {"branch": "main"}, True)
    assert (told.event_id, told.event_name, told.met_at) == (event.id, "git:push", course.clock.now())
    assert found[ConditionKind.AFTER].job_id == course.well.id
    assert [kind for kind, condition in found.items() if condition.is_met] == [ConditionKind.EVENT]
    for name in CONDITIONS:
        course.make_true(name)
        hf.drain()
    assert all(condition.is_met for condition in job.conditions())


@both_engines
def test_a_job_says_why_it_waits_for_an_event_and_the_machine(make_holdfast: Callable[..., Holdfast]) -> None:
    course = Course(make_holdfast)
    waits = course.options("event") | course.options("idle") | course.options("charging")
    job = course.work.options(**waits).enqueue(waits=[])
    course.hf.drain()
    closed = {gate.gate: gate for gate in job.why().closed}
    assert closed["event"].reason == "it waits for an event 'git:*' with branch=main"
    assert closed["event"].needs == "such an event"
    assert {"event", "idle", "charging"} <= set(closed)
    named = course.work.options(on_event="git:commit", where={"branch": "main"}).enqueue(waits=[])
    assert named.why().closed[0].needs == "holdfast emit git:commit branch=main"


@both_engines
def test_an_event_before_the_enqueue_does_not_count(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    hf.emit("git:commit")
    job = work.options(on_event="git:commit").enqueue()
    assert (hf.drain(), job.state) == (0, StateName.SCHEDULED)
    hf.emit("git:commit")
    assert (hf.drain(), job.state) == (1, StateName.DONE)


@both_engines
def test_one_event_must_have_all_the_attributes(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    job = work.options(on_event="git:commit", where={"branch": "main", "pushed": True}).enqueue()
    hf.emit("git:commit", branch="main", pushed=False)
    hf.emit("git:commit", branch="other", pushed=True)
    assert hf.drain() == 0
    hf.emit("git:commit", branch="main", pushed=True, author="ada")
    assert (hf.drain(), job.state) == (1, StateName.DONE)


@pytest.mark.parametrize(
    ("pattern", "runs"), [("*", 3), ("git:*", 2), ("git:commit*", 1), ("git:commit", 1), ("git", 0), ("git:", 0)]
)
def test_a_star_at_the_end_stands_for_any_ending(hf: Holdfast, pattern: str, runs: int) -> None:
    @hf.task
    def work() -> None: ...

    for name in ("git:commit", "git:push", "hello"):
        work.options(on_event=pattern).enqueue()
        hf.emit(name)
        hf.drain()
        hf.bulk("cancel")
    assert hf.counts()["default"].get(StateName.DONE, 0) == runs


@both_engines
def test_a_job_whose_predecessor_fails_ends_whatever_else_it_waits_for(hf: Holdfast) -> None:
    @hf.task
    def fail() -> None:
        raise RuntimeError

    first = fail.enqueue()
    second = fail.options(after=first, on_event="git:commit").enqueue()
    hf.drain()
    assert second.state is StateName.CANCELLED


def test_a_task_may_wait_by_default_and_a_job_may_wait_for_something_else(hf: Holdfast) -> None:
    @hf.task(on_event="git:commit", where={"branch": "main"}, when_charging=True)
    def work() -> None: ...

    usual, other = work.enqueue(), work.options(on_event="tick").enqueue()
    assert [handle.job.wait_for_event for handle in (usual, other)] == ["git:commit", "tick"]
    assert usual.conditions()[0].attributes == {"branch": "main"}
    assert other.conditions()[0].attributes == {}
    assert other.job.require_charging


def test_jobs_by_name_and_commands_wait_as_well(hf: Holdfast) -> None:
    waits: Mapping[str, Any] = {"when_idle": True, "on_event": "go", "where": {"n": 1}}
    for handle in (hf.enqueue("elsewhere", **waits), hf.command("true", **waits)):
        assert (handle.job.wait_for_idle, handle.job.wait_for_event, handle.state) == (True, "go", StateName.SCHEDULED)


def test_inside_inline_an_event_runs_what_waits_for_it(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    with inline(hf):
        job = work.options(on_event="go").enqueue()
        hf.emit("go")
        assert job.state is StateName.DONE


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"where": {"branch": "main"}}, "means nothing without on_event: give that as well"),
        ({"on_event": "two words"}, "on_event 'two words' is not valid"),
        ({"on_event": "*commit"}, "with * behind"),
        ({"on_event": 5}, "on_event 5 is not valid"),
        ({"on_event": "go", "where": {"a b": "c"}}, "'a b' is no such name"),
        ({"on_event": "go", "where": {"a": None}}, "'a' has no such text"),
        ({"on_event": "go", "where": ["a"]}, "where ['a'] is not valid: use at most 32 names"),
        ({"on_event": "go", "where": {str(number): "x" for number in range(33)}}, "at most 32 names"),
        ({"when_idle": 1}, "when_idle 1 is not valid: use true or false"),
        ({"when_charging": "yes"}, "when_charging 'yes' is not valid"),
    ],
    ids=str,
)
def test_a_condition_that_makes_no_sense_is_refused(hf: Holdfast, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        hf.enqueue("work", **options)
    assert said in str(refused.value)
