"""Histories that once went wrong, taken step by step. Each step compares the store with the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.core.gates.queue import Overflow
from holdfast.core.job import StateName as S
from holdfast.core.jobs.settle import Broke, Completed, Outcome, Overdue, Yielded
from holdfast.core.messages.jobs import BulkAction
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.values.group import GroupMode, Needs, OnFailure
from holdfast.core.values.retry import Failure, FailureKind, RetryMode, RetryPolicy
from tests.model.machine import StoreMachine
from tests.model.places import SqlitePlace
from tests.model.timetable import DAY
from tests.model.wishes import OUTCOMES, QUEUES, TASKS, Habits, Wish

FAILED = Broke(Failure(FailureKind.PERMANENT, "ERR_TEST", "it never works"))
HABITS = Habits((), RetryPolicy(), OUTCOMES, GroupMode.SEQUENTIAL, OnFailure.CONTINUE)
NEWEST_GROUP = 2


@pytest.fixture
def state() -> Iterator[StoreMachine]:
    machine = StoreMachine(SqlitePlace(), Counter())
    machine.habits = HABITS
    machine.open_session()
    yield machine
    machine.teardown()


def wish(group: int | None = None, due: int | None = None, **options: Any) -> Wish:
    return Wish({"task": TASKS[0]} | options, group=group, due=due)


def claim(state: StoreMachine, slots: int = 1) -> None:
    state.claim(n=2, lanes=[(QUEUES[0], 9)], slots=slots, tasks=TASKS)


def states(state: StoreMachine) -> list[S]:
    return [job.state for job in state.model.jobs.values()]


def test_nobody_passes_the_first_member_when_all_between_were_cancelled_from_the_end(state: StoreMachine) -> None:
    state.enqueue([wish(group=0), wish(group=NEWEST_GROUP), wish(group=NEWEST_GROUP)])
    claim(state)
    state.cancel_many(tag="red", n=0, limit=2)
    state.enqueue([wish(group=NEWEST_GROUP)])
    claim(state)
    assert states(state) == [S.RUNNING, S.CANCELLED, S.CANCELLED, S.SCHEDULED]


@pytest.mark.parametrize("second", [Completed("2"), FAILED, Overdue()])
def test_of_two_results_for_a_run_in_one_call_the_first_counts(state: StoreMachine, second: Outcome) -> None:
    state.enqueue([wish()])
    claim(state)
    state.finish(said=[(0, Completed("1")), (0, second)], late=False)
    assert states(state) == [S.DONE]


def test_a_suspect_whose_claim_got_lost_still_runs_alone(state: StoreMachine) -> None:
    state.enqueue([wish(), wish()])
    claim(state, 2)
    state.lose_session(n=0, death="crash", limits=[3], to_the_end=False)
    state.open_session()
    claim(state, 2)
    state.exchange(n=0, said=[], slots=0, lost=True)
    claim(state, 2)
    assert sorted(states(state)) == [S.QUEUED, S.RUNNING]


def test_a_job_is_moved_beside_one_that_shares_its_place_with_another(state: StoreMachine) -> None:
    state.enqueue([wish(due=1)])
    state.enqueue([wish(), wish()])
    state.wait(span=1, limit=500)
    scheduled, beside, moved = state.model.jobs
    state.move(n=0, other=1, how="before", times=1)
    assert state.store["ready"] == {(QUEUES[0], "default"): [scheduled, moved, beside]}


def test_a_running_job_comes_back_to_its_place_in_a_queue_that_was_renumbered(state: StoreMachine) -> None:
    state.enqueue([wish(), wish(), wish()])
    state.move(n=0, other=2, how="before", times=1)
    order = list(state.store["ready"][QUEUES[0], "default"])
    claim(state, 2)
    state.change(n=0, to=QUEUES[0])
    state.finish(said=[(0, Yielded("room")), (1, Yielded("room"))], late=False)
    assert state.store["ready"] == {(QUEUES[0], "default"): order}


def test_of_two_generations_that_failed_the_newer_one_is_what_runs_again(state: StoreMachine) -> None:
    for payload in ('{"x":1}', '{"x":2}'):
        state.work([wish(subject="a::b::c", payload=payload)], n=0, said=[FAILED])
    state.bulk(BulkAction.RETRY, {"states": (S.FAILED,)}, limit=9, dry_run=False, n=0)
    [job] = state.model.find(S.QUEUED)
    assert job.ask.payload == '{"x":2}'


def test_a_job_that_came_too_late_is_told_of_like_any_other(state: StoreMachine) -> None:
    state.enqueue([wish(wait_for_event="job.skipped_deadline")])
    state.enqueue([Wish({"task": TASKS[0]}, deadline=-1)])
    state.wait(span=1, limit=500)
    assert states(state) == [S.QUEUED, S.SKIPPED_DEADLINE]


def test_of_two_machines_one_idle_and_one_charging_neither_will_do(state: StoreMachine) -> None:
    """Both gates once looked open, and nobody took the job."""
    state.open_session()
    state.look_at_machine("laptop", idle=True, charging=False)
    state.look_at_machine("server", idle=False, charging=True)
    state.enqueue([wish(wait_for_idle=True, require_charging=True)])
    state.explain()
    assert states(state) == [S.QUEUED]
    state.look_at_machine("laptop", idle=True, charging=True)
    state.explain()
    assert states(state) == [S.RUNNING]


def test_a_tick_that_fired_while_the_clock_was_ahead_does_not_fire_again(state: StoreMachine) -> None:
    state.put_schedule(n=0, cron="30 2 * * *", misfire=Misfire.LATEST, overlap=Overlap.ALLOW, jitter=0)
    state.set_the_clock(span=3 * DAY, ticks=False)
    state.fire(limit=50)
    state.set_the_clock(span=-3 * DAY, ticks=False)
    state.fire(limit=50)
    state.set_the_clock(span=3 * DAY, ticks=False)
    state.fire(limit=50)
    [schedule] = state.model.schedules.values()
    assert (schedule.fires, set(schedule.skips)) == (1, {"missed", "fired before"})


def test_an_event_goes_to_a_webhook_once_whatever_else_happens(state: StoreMachine) -> None:
    state.listen(patterns=["git:*", "git:commit"], n=0)
    state.emit(name="git:commit", about={"branch": "main"}, times=2)
    state.wait(span=1, limit=500)
    state.crash_and_restart()
    state.wait(span=1, limit=500)
    assert len(state.model.deliveries) == 1


def test_a_weight_for_one_queue_does_not_take_the_default_tenant_out_of_its_line(state: StoreMachine) -> None:
    state.enqueue([wish()])
    state.weigh("default", queue=QUEUES[0], weight=10)
    state.enqueue([wish(tenant="acme"), wish(tenant="acme")])
    claim(state, 2)
    assert states(state) == [S.RUNNING, S.RUNNING, S.QUEUED]


def test_the_default_tenant_has_the_weight_that_holds_everywhere(state: StoreMachine) -> None:
    state.weigh("default", queue=None, weight=100)
    state.enqueue([wish(), wish(), wish(), wish(tenant="acme"), wish(tenant="acme")])
    claim(state, 4)
    assert states(state) == [S.RUNNING] * 4 + [S.QUEUED]


def test_of_two_that_make_room_one_waits_for_the_other(state: StoreMachine) -> None:
    state.set_up_queue(QUEUES[0], QueueChanges(max_length=2, overflow=Overflow.SHED))
    state.enqueue([wish(), Wish({"task": TASKS[0]}, after=((0, Needs.DONE),))])
    state.enqueue([wish(priority=5), wish(priority=5)])
    assert states(state) == [S.CANCELLED, S.CANCELLED, S.QUEUED, S.QUEUED]


def test_a_start_of_a_clock_that_was_wrong_does_not_close_a_queue_with_a_rate(state: StoreMachine) -> None:
    state.set_up_queue(QUEUES[0], QueueChanges(rate_limit=1, rate_window_ms=5_000))
    state.enqueue([wish(), wish()])
    state.set_the_clock(span=DAY, ticks=False)
    claim(state)
    state.set_the_clock(span=-DAY, ticks=True)
    claim(state)
    assert states(state) == [S.RUNNING, S.RUNNING]


def test_what_is_cancelled_for_one_job_does_not_start_for_another_that_ends_with_it(state: StoreMachine) -> None:
    state.enqueue([wish()])
    state.enqueue([Wish({"task": TASKS[0]}, after=((0, Needs.DONE),))])
    state.enqueue([Wish({"task": TASKS[0]}, after=((1, Needs.DONE), (0, Needs.ENDED)))])
    claim(state)
    state.finish(said=[(0, FAILED)], late=False)
    assert states(state) == [S.FAILED, S.CANCELLED, S.CANCELLED]


def test_a_generation_is_known_by_the_member_of_a_group_that_was_retried_with_it(state: StoreMachine) -> None:
    state.enqueue([wish(group=0, subject="a::b::c")])
    state.cancel_job(n=0)
    state.retry_by_hand(n=0)
    [_, again] = state.model.jobs
    state.enqueue([wish(subject="a::b::c", generation=2)])
    assert state.history[-1].answer[0].id == again
    assert states(state) == [S.CANCELLED, S.QUEUED]


def test_a_link_of_a_chain_is_not_ready_later_because_the_job_before_it_waited(state: StoreMachine) -> None:
    policy = RetryPolicy(retries=1, mode=RetryMode.CHAIN)
    state.enqueue([wish()])
    state.enqueue([Wish({"task": TASKS[0], "policy": policy}, after=((0, Needs.DONE),))])
    claim(state)
    state.set_the_clock(span=DAY, ticks=False)
    state.finish(said=[(0, Completed("1"))], late=False)
    claim(state)
    state.set_the_clock(span=-DAY, ticks=False)
    state.finish(said=[(0, Broke(Failure(FailureKind.TRANSIENT, "ERR_TEST", "it broke")))], late=False)
    state.wait(span=5_000, limit=500)
    *_, link = state.model.jobs.values()
    assert (link.state, link.queued) == (S.QUEUED, link.due)
