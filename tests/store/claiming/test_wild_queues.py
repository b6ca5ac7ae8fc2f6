"""A worker that asks for `*` gets jobs of every queue that it does not name, the important and older ones first."""

from __future__ import annotations

import pytest
from msgspec import structs

from holdfast.core.jobs.requests import ANY_QUEUE, COMMAND, ClaimRequest, QueueSlots
from holdfast.core.messages.sessions import Offer
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.queues import queues
from tests.store.acts import NOW, SESSION, TASK, execute, open_session, put_one, write


def claim_wild(engine: Engine, wild: int, task: str = TASK, slots: int = 100, **named: int) -> list[str]:
    lanes = (*(QueueSlots(queue, count) for queue, count in named.items()), QueueSlots(ANY_QUEUE, wild))
    request = ClaimRequest(session_id=SESSION, slots=slots, queues=lanes, tasks=(task,))
    return [run.job_id for run in write(engine, claim, request, NOW)]


# Commands have an index and statements of their own.
both = pytest.mark.parametrize("task", [TASK, COMMAND])


@both
def test_every_queue_is_served(engine: Engine, task: str) -> None:
    for queue in ("b", "a", "c"):
        put_one(engine, f"in {queue}", queue=queue, task=task)
    assert claim_wild(engine, 10, task) == ["in b", "in a", "in c"]


@both
def test_priority_and_then_age_decide_between_queues(engine: Engine, task: str) -> None:
    put_one(engine, "old", queue="b", task=task, now=NOW)
    put_one(engine, "new", queue="a", task=task, now=NOW + 1)
    put_one(engine, "important", queue="c", task=task, now=NOW + 2, priority=1)
    assert claim_wild(engine, 2, task) == ["important", "old"]
    assert claim_wild(engine, 2, task) == ["new"]


@both
def test_inside_a_queue_its_own_order_stands(engine: Engine, task: str) -> None:
    put_one(engine, "first", queue="a", task=task, now=NOW + 5)
    put_one(engine, "second", queue="a", task=task, now=NOW)
    put_one(engine, "between", queue="b", task=task, now=NOW + 3)
    assert claim_wild(engine, 3, task) == ["between", "first", "second"]


def test_the_wild_slots_are_shared(engine: Engine) -> None:
    for number in range(6):
        put_one(engine, f"j{number}", queue=f"q{number % 3}")
    assert claim_wild(engine, 4) == ["j0", "j1", "j2", "j3"]


def test_a_named_queue_has_slots_of_its_own_and_is_not_wild_when_they_are_full(engine: Engine) -> None:
    for name in ("n1", "n2"):
        put_one(engine, name, queue="named")
    put_one(engine, "wild", queue="other")
    assert claim_wild(engine, 5, named=1) == ["n1", "wild"]
    assert claim_wild(engine, 5, named=0) == []


def test_the_gates_of_each_queue_hold_for_a_wild_claim_too(engine: Engine) -> None:
    for number, queue in enumerate(("paused", "narrow", "narrow", "open")):
        put_one(engine, f"{queue} {number}", queue=queue)
    write(engine, queues.pause, "paused", None, NOW)
    write(engine, queues.set_limit, "narrow", 1)
    assert sorted(job.split()[0] for job in claim_wild(engine, 9)) == ["narrow", "open"]


def test_only_the_offered_tasks_are_taken(engine: Engine) -> None:
    put_one(engine, "theirs", queue="a", task="other")
    put_one(engine, "a command", queue="a", task=COMMAND)
    assert claim_wild(engine, 9, COMMAND) == ["a command"]
    assert claim_wild(engine, 9) == []


@both
def test_a_suspect_of_any_queue_runs_alone(engine: Engine, task: str) -> None:
    put_one(engine, "plain", queue="a", task=task)
    put_one(engine, "suspect", queue="b", task=task)
    execute(engine, "UPDATE jobs SET is_suspect = 1 WHERE id = 'suspect'")
    assert claim_wild(engine, 9, task) == ["suspect"]
    assert claim_wild(engine, 9, task) == []


def test_a_task_that_does_not_roam_is_taken_from_named_queues_only(engine: Engine) -> None:
    for task in (TASK, COMMAND):
        put_one(engine, f"{task} in a named queue", queue="named", task=task)
        put_one(engine, f"{task} elsewhere", queue="other", task=task)
    request = ClaimRequest(
        session_id=SESSION,
        slots=9,
        queues=(QueueSlots("named", 9), QueueSlots(ANY_QUEUE, 9)),
        tasks=(TASK, COMMAND),
        wild_tasks=(COMMAND,),
    )
    assert sorted(run.job_id for run in write(engine, claim, request, NOW)) == [
        "command elsewhere",
        "command in a named queue",
        "t in a named queue",
    ]


def test_a_suspect_whose_task_does_not_roam_stays_in_its_queue(engine: Engine) -> None:
    put_one(engine, "suspect", queue="other")
    execute(engine, "UPDATE jobs SET is_suspect = 1")
    lanes = (QueueSlots("named", 9), QueueSlots(ANY_QUEUE, 9))
    settled = ClaimRequest(session_id=SESSION, slots=9, queues=lanes, tasks=(TASK, COMMAND), wild_tasks=(COMMAND,))
    assert write(engine, claim, settled, NOW) == []
    assert len(write(engine, claim, structs.replace(settled, wild_tasks=None), NOW)) == 1


def test_why_knows_that_a_wild_worker_serves_the_queue(engine: Engine) -> None:
    put_one(engine, "job", queue="anything")
    assert [gate.gate for gate in engine.query(why, "job", NOW).closed] == ["worker"]
    open_session(engine, "s2", offer=Offer("w2", "node", (TASK,), (ANY_QUEUE,), 3))
    found = engine.query(why, "job", NOW)
    assert (found.closed, found.free_slots) == ([], 3)
