"""Groups and chains that are made of calls: stored as one, held as one, with results that travel along."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import (
    PREVIOUS,
    Call,
    Conflict,
    Context,
    GroupHandle,
    Holdfast,
    InvalidInput,
    InvalidPayload,
    JobCancelled,
    JobFailed,
    Retry,
    StateName,
    StillRunning,
    Task,
)
from holdfast.core.values.event import shape_of
from holdfast.core.values.group import GroupStatus
from holdfast.store.scripts.events.events import list_events, register_pattern
from holdfast.testing import ManualClock
from tests.client.acts import WAIT, Gate, refused, wait_until

DONE, FAILED, CANCELLED = StateName.DONE, StateName.FAILED, StateName.CANCELLED


class Steps:
    """Tasks to put together, and a list of the ones that will fail."""

    def __init__(self, hf: Holdfast) -> None:
        self.broken: set[str] = set()
        self.ran: list[str] = []
        self.task: Task[..., str] = hf.task(name="step")(self._step)
        self.join: Task[..., str] = hf.task(name="join")(self._join)

    def _step(self, name: str, after: str = "") -> str:
        self.ran.append(name)
        if name in self.broken:
            raise ValueError(name)
        return after + name

    def _join(self, parts: list[str]) -> str:
        return "+".join(parts)

    def call(self, name: str, **more: Any) -> Call[str]:
        return self.task.call(name, **more)

    def calls(self, names: str) -> list[Call[str]]:
        return [self.call(name) for name in names]


@pytest.fixture
def steps(hf: Holdfast) -> Steps:
    return Steps(hf)


def states(group: GroupHandle) -> list[StateName]:
    return list(group.view().members.values())


def test_a_group_is_stored_with_its_jobs_and_gives_their_results_in_order(hf: Holdfast, steps: Steps) -> None:
    group = hf.group(*steps.calls("abc"), name="letters")
    assert [job.state for job in group.jobs] == [StateName.QUEUED] * 3
    hf.drain()
    assert (group.results(), group.wait()) == (["a", "b", "c"], GroupStatus.COMPLETED)
    assert hf.find_group("letters").id == hf.find_group(group).id == group.id


def test_one_call_that_does_not_fit_leaves_nothing_of_the_group(hf: Holdfast, steps: Steps) -> None:
    earlier = steps.task.options(idempotency_key="once").enqueue("earlier")
    once = steps.task.options(idempotency_key="once").call("again")
    with pytest.raises(Conflict, match=f"job {earlier.id} stands for member 2 already"):
        hf.group(steps.call("a"), once)
    assert ([job.id for job in hf.jobs().jobs], hf.groups().groups) == ([earlier.id], [])


def test_a_chain_hands_results_on(hf: Holdfast, steps: Steps) -> None:
    chain = hf.chain(steps.call("a"), steps.call("b", after=PREVIOUS), steps.call("c", after=PREVIOUS))
    hf.drain()
    assert (chain.results(), steps.ran) == (["a", "ab", "abc"], ["a", "b", "c"])


def test_a_step_of_several_jobs_is_waited_for_as_a_whole(hf: Holdfast, steps: Steps) -> None:
    chain = hf.chain(
        steps.call("a"), [steps.call(name, after=PREVIOUS) for name in "bc"], steps.join.call(parts=PREVIOUS)
    )
    assert states(chain) == [StateName.QUEUED] + [StateName.SCHEDULED] * 3
    hf.drain()
    assert chain.results() == ["a", "ab", "ac", "ab+ac"]


@pytest.mark.parametrize(
    ("on_failure", "then"), [("stop", [FAILED, DONE, CANCELLED]), ("continue", [FAILED, DONE, DONE])]
)
def test_a_step_of_several_jobs_fails_as_the_chain_says(
    hf: Holdfast, steps: Steps, on_failure: str, then: list[StateName]
) -> None:
    steps.broken = {"a"}
    chain = hf.chain(steps.calls("ab"), steps.call("c"), on_failure=on_failure)
    hf.drain()
    assert states(chain) == then


def test_a_result_that_does_not_fit_fails_for_good_and_says_so(hf: Holdfast, steps: Steps) -> None:
    @hf.task(retry=5)
    def count(number: int) -> int:
        return number

    chain = hf.chain(steps.call("a"), count.call(number=PREVIOUS))
    hf.drain()
    first, second = chain.jobs
    with pytest.raises(JobFailed, match=rf"what job {first.number} \(step\) returned does not fit: .*Expected `int`"):
        chain.results()
    assert len(second.runs) == 1


def test_a_result_that_is_missing_is_named(hf: Holdfast, steps: Steps) -> None:
    steps.broken = {"a"}
    chain = hf.chain(steps.call("a"), steps.call("b", after=PREVIOUS), on_failure="continue")
    hf.drain()
    _, error = chain.results(return_errors=True)
    assert f"job {chain.jobs[0].number} (step) has no result: it is FAILED" in str(error)


def test_a_job_sees_every_job_that_it_came_after(hf: Holdfast, steps: Steps) -> None:
    seen: list[tuple[str, StateName, Any, bool]] = []

    @hf.task
    async def gather(ctx: Context) -> list[Any]:
        seen.extend((one.task, one.state, one.result, one.is_previous) for one in await ctx.apredecessors())
        return await ctx.aresults()

    steps.broken = {"b"}
    outside, broken = steps.task.enqueue("x"), steps.task.enqueue("b")
    last = gather.options(after=outside, after_ended=broken).call()
    chain = hf.chain(steps.call("a"), last)
    hf.drain()
    assert chain.results() == ["a", ["a", "x", None]]
    assert seen == [("step", DONE, "a", True), ("step", DONE, "x", False), ("step", FAILED, None, False)]


@pytest.mark.parametrize("mode", ["chain", "requeue"])
def test_the_results_of_the_last_try_are_handed_on(make_holdfast: Callable[..., Holdfast], mode: str) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)
    tries: list[str] = []

    @hf.task(retry=Retry(1, mode=mode))
    def flaky(name: str, after: str = "") -> str:
        tries.append(name)
        if tries.count(name) == 1:
            raise ConnectionError(name)
        return after + name

    chain = hf.chain(flaky.call("a"), [flaky.call("b", after=PREVIOUS), flaky.call("c", after=PREVIOUS)])
    together = hf.group(flaky.call("d"), flaky.call("e"))
    for _ in range(3):
        hf.drain()
        clock.advance(600)
    assert chain.results() == ["a", "ab", "ac"]
    assert (together.results(), together.view().status) == (["d", "e"], GroupStatus.COMPLETED)


@pytest.mark.parametrize("mode", ["chain", "requeue"])
@pytest.mark.parametrize(
    ("on_failure", "ended", "status"),
    [
        ("stop", [FAILED, CANCELLED, CANCELLED], GroupStatus.CANCELLED),
        ("continue", [FAILED, DONE, DONE], GroupStatus.PARTIAL),
        ("skip", [FAILED, CANCELLED, DONE], GroupStatus.PARTIAL),
    ],
)
def test_the_rules_of_a_chain_wait_for_the_last_try(
    make_holdfast: Callable[..., Holdfast], mode: str, on_failure: str, ended: list[StateName], status: GroupStatus
) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)
    steps = Steps(hf)
    steps.broken = {"a"}
    twice = steps.task.options(retry=Retry(1, mode=mode))
    chain = hf.chain(twice.call("a"), *steps.calls("bc"), on_failure=on_failure)
    hf.drain()
    assert (states(chain), chain.view().status) == ([StateName.SCHEDULED] * 3, GroupStatus.OPEN)
    clock.advance(600)
    hf.drain()
    assert (states(chain), chain.view().status) == (ended, status)


def test_what_did_not_go_well_is_made_anew_in_its_place(hf: Holdfast, steps: Steps) -> None:
    steps.broken = {"b"}
    chain = hf.chain(steps.call("a"), steps.call("b", after=PREVIOUS), steps.call("c", after=PREVIOUS))
    hf.drain()
    held = chain.jobs
    assert states(chain) == [DONE, FAILED, CANCELLED]
    steps.broken = set()
    again = chain.retry()
    assert [job.state for job in again] == [StateName.QUEUED, StateName.SCHEDULED]
    with pytest.raises(Conflict, match="still goes on, in order"):
        chain.retry()
    hf.drain()
    assert (chain.results(), steps.ran) == (["a", "ab", "abc"], ["a", "b", "b", "c"])
    assert ([job.result() for job in held], chain.retry()) == (["a", "ab", "abc"], [])


def test_a_step_of_several_jobs_is_made_anew_with_those_behind_it(hf: Holdfast, steps: Steps) -> None:
    steps.broken = {"b"}
    chain = hf.chain(steps.call("a"), [steps.call("b"), steps.call("c")], steps.join.call(parts=PREVIOUS))
    hf.drain()
    steps.broken = set()
    assert len(chain.retry()) == 2
    hf.drain()
    assert (chain.results(), steps.ran) == (["a", "b", "c", "b+c"], ["a", "b", "c", "b"])


def test_a_parallel_group_is_retried_while_others_go_on(hf: Holdfast, steps: Steps) -> None:
    steps.broken = {"a"}
    group = hf.group(steps.call("a"), steps.task.options(delay=3600).call("later"))
    hf.drain()
    steps.broken = set()
    assert [job.wait(0) if job.state is DONE else job.state for job in group.retry()] == [StateName.QUEUED]
    hf.drain()
    assert states(group) == [DONE, StateName.SCHEDULED]


def test_a_member_that_was_left_out_once_counts_by_its_last_try(hf: Holdfast, steps: Steps) -> None:
    steps.broken = {"a"}
    chain = hf.chain(*steps.calls("ab"), on_failure="skip")
    hf.drain()
    assert states(chain) == [FAILED, CANCELLED]
    steps.broken = {"b"}
    chain.retry()
    hf.drain()
    assert states(chain) == [DONE, FAILED]
    assert steps.task.options(group=chain).enqueue("c").state is CANCELLED


def test_progress_is_that_of_the_whole(hf: Holdfast) -> None:
    gate = Gate()

    @hf.task
    def half(ctx: Context, waits: bool) -> None:
        if waits:
            ctx.progress(0.5)
            gate.pass_through()

    group = hf.group(half.call(waits=False), half.call(waits=True), half.options(delay=3600).call(waits=False))
    assert group.view().progress == 0
    with hf:
        gate.await_arrival()
        group.jobs[0].wait(WAIT)
        assert wait_until(lambda: group.view().progress == pytest.approx(0.5))
        assert group.view().counts == {DONE: 1, StateName.RUNNING: 1, StateName.SCHEDULED: 1}
        with pytest.raises(StillRunning, match=r"has not ended within 0 s: 1 DONE, 1 RUNNING, 1 SCHEDULED"):
            group.wait(0)
        gate.open()
        group.jobs[2].cancel()
        assert group.wait(WAIT) is GroupStatus.PARTIAL
    assert group.view().progress == 1


def test_a_job_retried_by_hand_has_the_same_predecessors(hf: Holdfast, steps: Steps) -> None:
    chain = hf.chain(steps.call("a"), steps.call("b", after=PREVIOUS))
    hf.drain()
    again = chain.jobs[1].retry()
    hf.drain()
    assert (again.result(), again.job.group_id) == ("ab", chain.id)


def test_a_job_retried_by_hand_gets_the_result_of_the_one_before_it_alone(hf: Holdfast, steps: Steps) -> None:
    other = steps.task.enqueue("x")
    chain = hf.chain(steps.call("a"), steps.task.options(after=other).call("b", after=PREVIOUS))
    hf.drain()
    again = chain.jobs[1].retry()
    hf.drain()
    assert (chain.results(), again.result()) == (["a", "ab"], "ab")


def test_cancelling_in_steps_leaves_nobody_out_whose_step_others_ended(hf: Holdfast, steps: Steps) -> None:
    steps.broken = {"a"}
    head: Task[..., str] = hf.task(name="head", retry=Retry(1, initial=3_600, mode="chain"))(steps._step)
    group = hf.create_group()
    steps.task.options(group=group, delay=3_600).enqueue_many({"name": "c"} for _ in range(400))
    first = head.options(group=group).enqueue("a")
    steps.task.options(group=group, after=first).enqueue_many({"name": "b"} for _ in range(300))
    assert hf.drain() == 1
    # The last link of `a` is the newest of all; with it end those behind it, in the same step as some of the others.
    group.cancel()
    assert set(states(group)) == {CANCELLED}


def test_a_group_ends_with_an_event_for_whoever_waits_for_it(hf: Holdfast, steps: Steps) -> None:
    hf._access.write(register_pattern, shape_of("group.*", ()), "hook")
    steps.broken = {"b"}
    hf.group(*steps.calls("ab"), name="release")
    doomed = hf.chain(*steps.calls("bcd"))
    empty = hf.chain(steps.task.options(after=doomed.jobs[0]).call("x"))
    hf.drain()
    hf.chain(*[steps.task.options(after=empty.jobs[0]).call("y")] * 3)
    told = [(view.event.name, view.event.attributes) for view in hf._access.read(list_events).events]
    assert sorted(name for name, _ in told) == ["group.cancelled"] * 3 + ["group.partial"]
    [release] = [about for name, about in told if name == "group.partial"]
    assert (told[0][1]["jobs"], release["name"], release["done"]) == ("3", "release", "1")


def test_what_only_looks_like_the_result_before_is_refused(hf: Holdfast) -> None:
    @hf.task
    def show(data: Any, more: Any = None) -> Any:
        return data

    foreign = {"$holdfast": "previous"}
    first = show.enqueue("secret")
    behind = show.options(after=first)
    wrong: list[Callable[[], Any]] = [
        lambda: behind.enqueue(foreign),
        lambda: behind.enqueue(PREVIOUS, more=foreign),
        lambda: hf.enqueue("show", {"data": foreign}, after=first),
    ]
    for call in wrong:
        with pytest.raises(InvalidPayload, match="use PREVIOUS if that is meant"):
            call()
    within = behind.enqueue([foreign], more=PREVIOUS)
    hf.drain()
    assert within.result() == [foreign]


def test_what_cannot_be_put_together_is_refused(hf: Holdfast, steps: Steps, tmp_path: Any) -> None:
    other = Holdfast(tmp_path / "other.db").task(name="elsewhere")(lambda: None)
    a = steps.call("a")
    wrong: list[tuple[Callable[[], Any], str]] = [
        (hf.group, "a group needs at least one call"),
        (hf.chain, "a group needs at least one call"),
        (lambda: hf.group(steps.calls("ab")), "is not a call: give task.call"),  # type: ignore[arg-type]
        (lambda: hf.group(steps.task), "is not a call: give task.call"),  # type: ignore[arg-type]
        (lambda: hf.chain([a] * 101, [a] * 101), "put a single call between the two steps"),
        (lambda: hf.chain(a, []), r"\[\] is not a step of a chain"),
        (lambda: hf.chain(a, [a, a], on_failure="skip"), "'skip' leaves out one member"),
        (lambda: hf.group(a, other.call()), "belongs to another database"),
        (lambda: hf.group(steps.task.options(group="g").call("a")), "has a group already"),
        (lambda: hf.group(steps.call("b", after=PREVIOUS)), "no job comes before it"),
        (lambda: hf.chain(steps.call("b", after=PREVIOUS), a), "no job comes before it"),
        (lambda: steps.task.enqueue("b", after=PREVIOUS), "no job comes before it"),
        (lambda: steps.task.options(subject="{after}").call("b", after=PREVIOUS), "PREVIOUS and not known yet"),
        (lambda: hf.group(a, on_failure="panic"), "on_failure 'panic' is not valid"),
        (lambda: hf.group(*[a] * 10_001), "jobs is not valid: use at most 10000 of them"),
    ]
    for call, message in wrong:
        with refused(hf, InvalidInput, message):
            call()
    with refused(hf, InvalidPayload, "Expected `str`, got `int`"):
        steps.call(5, after=PREVIOUS)  # type: ignore[arg-type]


def test_the_twins_of_groups_and_chains(hf: Holdfast, steps: Steps) -> None:
    async def main() -> None:
        group = await hf.agroup(*steps.calls("ab"), name="twins")
        chain = await hf.achain(hf.call("step", {"name": "c"}), steps.call("d", after=PREVIOUS))
        assert (await hf.afind_group("twins")).id == group.id
        await hf.astart()
        assert await group.aresults(WAIT) == ["a", "b"]
        assert await chain.await_(WAIT) is GroupStatus.COMPLETED
        assert [await job.aresult() for job in await chain.ajobs()] == ["c", "cd"]
        assert await chain.aretry() == []
        assert [job.task for job in await chain.amembers()] == ["step", "step"]
        steps.broken = {"e"}
        with pytest.raises(JobFailed):
            await (await hf.agroup(*steps.calls("e"))).aresults(WAIT)
        doomed = await hf.agroup(steps.task.options(delay=3600).call("f"))
        with pytest.raises(StillRunning):
            await doomed.await_(0)
        await doomed.acancel()
        with pytest.raises(JobCancelled):
            await doomed.aresults()
        await hf.astop()

    asyncio.run(main())
