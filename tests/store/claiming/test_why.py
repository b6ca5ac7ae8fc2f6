"""Every wait can be explained, and the explanation agrees with what the claim does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.errors import NotFound
from holdfast.core.gates.gates import MOST_COUNTED, Closed
from holdfast.core.job import StateName
from holdfast.core.jobs.requests import ANY_QUEUE, COMMAND, QueueSlots
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.messages.sessions import Offer
from holdfast.core.messages.why import Why
from holdfast.core.values.group import Dependency
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.choose import SUSPECT_PATIENCE_MS
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.queues import queues
from holdfast.store.scripts.queues.reserve import release, reserve
from holdfast.store.scripts.sessions import sessions
from tests.store.acts import (
    NOW,
    QUEUE,
    TASK,
    claim_some,
    end,
    execute,
    lose,
    new_job,
    open_session,
    put,
    put_one,
    write,
)

OFFER = Offer("w1", "worker", (TASK,), (QUEUE,), 10)


def ask(engine: Engine, job_id: str, now: int = NOW) -> Why:
    return engine.query(why, job_id, now)


def closed(engine: Engine, job_id: str, now: int = NOW) -> list[str]:
    return [gate.gate for gate in ask(engine, job_id, now).closed]


@pytest.fixture
def staffed(engine: Engine) -> Engine:
    """An engine on which a worker offers the task."""
    open_session(engine, "s2", offer=OFFER)
    return engine


def test_a_job_that_nothing_holds_has_no_closed_gate(staffed: Engine) -> None:
    put_one(staffed, "j")
    assert closed(staffed, "j") == []
    assert "about to run" in str(ask(staffed, "j"))


def test_a_job_whose_task_nobody_offers_says_so(engine: Engine) -> None:
    put_one(engine, "j", task="unheard")
    [gate] = ask(engine, "j").closed
    assert gate.reason == "no worker offers task 'unheard' on queue 'default'"


def test_a_task_that_is_offered_on_another_queue_says_where(staffed: Engine) -> None:
    put_one(staffed, "j", queue="elsewhere")
    [gate] = ask(staffed, "j").closed
    assert gate.reason == f"no worker offers task {TASK!r} on queue 'elsewhere'; one offers it on {QUEUE!r}"


def test_slots_of_other_queues_do_not_take_a_job(engine: Engine) -> None:
    lanes = (QueueSlots(ANY_QUEUE, 2), QueueSlots("named", 8))
    open_session(engine, "s2", offer=Offer("w1", "w", (TASK,), (ANY_QUEUE, "named"), 10, lanes))
    for name in ("one", "other"):
        put_one(engine, name, queue=name)
    assert len(claim_some(engine, 2, queues=("one", "other"), session="s2")) == 2
    put_one(engine, "j", queue="third")
    put_one(engine, "named", queue="named")
    explained = ask(engine, "j")
    assert [gate.reason for gate in explained.closed] == ["all 2 slots that could take it are busy"]
    assert (explained.free_slots, explained.slots) == (0, 2)
    assert ask(engine, "named").free_slots == 8


def turn(engine: Engine, job_id: str, now: int = NOW) -> Closed:
    """What the last gate says, which is the only one that is closed."""
    [gate] = ask(engine, job_id, now).closed
    assert gate.gate == "tenant's turn"
    return gate


@pytest.fixture
def narrow(engine: Engine) -> Engine:
    """An engine on which a worker with one slot offers the task."""
    open_session(engine, "s2", offer=Offer("w1", "worker", (TASK,), (QUEUE,), 1))
    return engine


def test_a_job_behind_others_says_who_goes_first(narrow: Engine) -> None:
    for name in ("first", "second", "third"):
        put_one(narrow, name)
    assert closed(narrow, "first") == []
    assert turn(narrow, "third").reason == "others go first"
    assert (
        turn(narrow, "third").now == "1 of 1 slots that could take it is free; job first goes first; 2 jobs before it"
    )


def test_a_job_of_a_tenant_says_with_whom_it_takes_turns(narrow: Engine) -> None:
    for tenant in ("x", "y"):
        for number in range(2):
            put_one(narrow, f"{tenant}{number}", tenant=tenant)
    claim_some(narrow, 1, session="s2")
    gate = turn(narrow, "y1")
    assert gate.reason == "the only slot that could take it is busy"
    assert gate.now == "1 job of its tenant 'y' before it; it takes turns with tenant 'x'"


def test_a_long_line_is_not_counted_to_its_end(narrow: Engine) -> None:
    put(narrow, *[new_job(f"j{number}") for number in range(MOST_COUNTED + 5)])
    assert f"{MOST_COUNTED} or more jobs before it" in turn(narrow, f"j{MOST_COUNTED + 4}").now
    assert "3 jobs before it" in turn(narrow, "j3").now


def test_a_worker_without_a_slot_for_the_queue_takes_nothing(engine: Engine) -> None:
    lanes = (QueueSlots(QUEUE, 0), QueueSlots("named", 8))
    open_session(engine, "s2", offer=Offer("w1", "w", (TASK,), (QUEUE, "named"), 8, lanes))
    put_one(engine, "j")
    assert turn(engine, "j").reason == "no worker has a slot for its queue"


def test_a_task_that_does_not_roam_is_not_offered_elsewhere(engine: Engine) -> None:
    offer = Offer("w1", "w", (TASK, COMMAND), (ANY_QUEUE, "named"), 8, (), (COMMAND,))
    open_session(engine, "s2", offer=offer)
    put_one(engine, "here", queue="named")
    put_one(engine, "elsewhere", queue="other")
    assert closed(engine, "here") == []
    assert closed(engine, "elsewhere") == ["worker"]


def test_a_job_whose_time_is_over_says_so(staffed: Engine) -> None:
    put_one(staffed, "late", deadline=NOW + 5)
    put_one(staffed, "stale", ttl_ms=5)
    for name, said in (("late", "its deadline has passed"), ("stale", "it was ready for longer than its time to live")):
        assert closed(staffed, name) == []
        assert [gate.reason for gate in ask(staffed, name, NOW + 5).closed] == [said]


def test_a_job_that_the_clock_has_not_reached_yet_says_so(staffed: Engine) -> None:
    put_one(staffed, "j", delay_ms=5)
    assert turn(staffed, "j", NOW + 5).now == "it is about to be made ready"


def test_others_wait_while_a_worker_runs_empty_for_a_job_that_must_run_alone(staffed: Engine) -> None:
    put_one(staffed, "running")
    claim_some(staffed, 1, session="s2")
    for name in ("suspect", "j"):
        put_one(staffed, name)
    execute(staffed, "UPDATE jobs SET is_suspect = 1 WHERE id = 'suspect'")
    assert closed(staffed, "j") == []
    assert turn(staffed, "j", NOW + SUSPECT_PATIENCE_MS + 1).now == "job suspect runs alone next"


def test_a_worker_that_is_stopping_does_not_count(staffed: Engine) -> None:
    put_one(staffed, "j")
    write(staffed, sessions.note_stop_request, "s2", NOW)
    assert closed(staffed, "j") == ["worker"]


def test_a_delayed_job_says_when_it_is_due(staffed: Engine) -> None:
    put_one(staffed, "j", delay_ms=5_000)
    [gate] = ask(staffed, "j").closed
    assert (gate.gate, gate.opens_at) == ("due", NOW + 5_000)


def test_a_dependent_job_names_what_it_waits_for(staffed: Engine) -> None:
    put_one(staffed, "parent")
    put_one(staffed, "j", after=(Dependency("parent"),))
    [gate] = ask(staffed, "j").closed
    assert "parent" in gate.now


def test_a_paused_queue_is_named_with_its_reason(staffed: Engine) -> None:
    put_one(staffed, "j")
    write(staffed, queues.pause, QUEUE, "disk swap", NOW)
    [gate] = ask(staffed, "j").closed
    assert gate.reason == "queue 'default' is paused (disk swap)"


def test_a_full_queue_says_how_full(staffed: Engine) -> None:
    write(staffed, queues.set_limit, QUEUE, 1)
    put_one(staffed, "first")
    claim_some(staffed, 1)
    put_one(staffed, "j")
    [gate] = ask(staffed, "j").closed
    assert gate.now == "1 of 1 running"


def test_a_reservation_names_its_holder(staffed: Engine) -> None:
    put_one(staffed, "j")
    write(staffed, reserve, NewReservation("r", "*", "ann", "s1", 60_000, 0), NOW)
    assert ask(staffed, "j").closed[0].reason == "everything is reserved by ann"
    write(staffed, release, "r", NOW)
    assert closed(staffed, "j") == []


def test_a_busy_subject_names_the_job_that_runs(staffed: Engine) -> None:
    put_one(staffed, "old", subject="a")
    claim_some(staffed, 1)
    put_one(staffed, "new", subject="a")
    assert ask(staffed, "new").closed[0].now == "job old is running"


def test_a_suspect_waits_for_an_empty_worker(staffed: Engine) -> None:
    put_one(staffed, "suspect")
    put_one(staffed, "other")
    claim_some(staffed, 2)
    lose(staffed, "s1")
    claim_some(staffed, 1, session="s2")
    assert closed(staffed, "other") == ["alone"]


def test_what_waits_behind_a_job_that_runs_alone_says_so(staffed: Engine) -> None:
    put_one(staffed, "suspect")
    put_one(staffed, "innocent")
    claim_some(staffed, 2)
    lose(staffed, "s1")
    claim_some(staffed, 1, session="s2")
    put_one(staffed, "j")
    explained = ask(staffed, "j")
    assert [gate.now for gate in explained.closed] == ["job suspect runs alone"]
    assert explained.free_slots == 0
    assert claim_some(staffed, session="s2") == []


def test_a_running_and_an_ended_job_do_not_wait(staffed: Engine) -> None:
    put_one(staffed, "j")
    [run] = claim_some(staffed, 1)
    assert str(ask(staffed, "j")) == "job j does not wait: it is RUNNING"
    end(staffed, run)
    assert ask(staffed, "j").gates == []


def test_an_unknown_job_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFound, match="nobody"):
        ask(engine, "nobody")


CIRCUMSTANCES: dict[str, Callable[[Engine, str], Any]] = {
    "subject busy": lambda engine, at: (
        put_one(engine, f"{at}-older", queue=at, subject=at),
        claim_some(engine, 1, queues=(at,)),
    ),
    "parent waits": lambda engine, at: put_one(engine, f"{at}-parent", queue=at, task="unheard"),
    "paused": lambda engine, at: write(engine, queues.pause, at, None, NOW),
    "reserved": lambda engine, at: write(engine, reserve, NewReservation(f"{at}-r", at, "ann", "s1", 60_000, 0), NOW),
    "limited to none": lambda engine, at: write(engine, queues.set_limit, at, 0),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "delayed": {"delay_ms": 1_000},
    "of a task nobody offers": {"task": "unheard"},
    "due already": {"due": NOW - 1},
}
PLACES = [f"place{number}" for number in range(400)]


def test_no_closed_gate_means_that_the_next_claim_takes_it_and_the_reverse(engine: Engine) -> None:
    open_session(engine, "s2", offer=Offer("w1", "worker", (TASK,), tuple(PLACES), 10_000))
    places = iter(PLACES)

    @given(
        circumstances=st.sets(st.sampled_from(list(CIRCUMSTANCES))),
        kind=st.sampled_from(list(OPTIONS)),
        about_subject=st.booleans(),
        cancelled=st.booleans(),
    )
    @settings(max_examples=80, deadline=None, database=None)
    def agree(circumstances: set[str], kind: str, about_subject: bool, cancelled: bool) -> None:
        at = next(places)
        for name, arrange in CIRCUMSTANCES.items():
            if name in circumstances:
                arrange(engine, at)
        after = (Dependency(f"{at}-parent"),) if "parent waits" in circumstances else ()
        put_one(engine, at, queue=at, after=after, subject=at if about_subject else None, **OPTIONS[kind])
        if cancelled:
            write(engine, cancel_job, at, NOW)
        explained = ask(engine, at)
        taken = [run.job_id for run in claim_some(engine, 10, queues=(at,), session="s2")]
        waits = explained.state in (StateName.QUEUED, StateName.SCHEDULED)
        assert (at in taken) == (waits and not explained.closed), str(explained)
        assert waits == bool(explained.gates)

    agree()
