"""Every wait can be explained, and the explanation agrees with what the claim does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.errors import NotFound
from holdfast.core.job import StateName
from holdfast.core.requests import ANY_QUEUE, Dependency, QueueSlots
from holdfast.store.engine import Engine
from holdfast.store.scripts import queues, sessions
from holdfast.store.scripts.cancel import cancel_job
from holdfast.store.scripts.reserve import NewReservation, release, reserve
from holdfast.store.scripts.why import Why, why
from tests.store.acts import NOW, QUEUE, TASK, claim_some, end, lose, open_session, put_one, write

OFFER = sessions.Offer("w1", "worker", (TASK,), (QUEUE,), 10)


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
    open_session(engine, "s2", offer=sessions.Offer("w1", "w", (TASK,), (ANY_QUEUE, "named"), 10, lanes))
    for name in ("one", "other"):
        put_one(engine, name, queue=name)
    assert len(claim_some(engine, 2, queues=("one", "other"), session="s2")) == 2
    put_one(engine, "j", queue="third")
    put_one(engine, "named", queue="named")
    explained = ask(engine, "j")
    assert (explained.closed, explained.free_slots, explained.slots) == ([], 0, 2)
    assert "all 2 slots that could take it are busy" in str(explained)
    assert ask(engine, "named").free_slots == 8


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
    open_session(engine, "s2", offer=sessions.Offer("w1", "worker", (TASK,), tuple(PLACES), 10_000))
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
