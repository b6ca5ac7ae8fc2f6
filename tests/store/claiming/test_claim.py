"""Claim: which ready jobs a session is handed, in what order, and that each has one owner."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from holdfast.core.job import Running, StateName
from holdfast.core.jobs.requests import Claimed, ClaimRequest, QueueSlots
from holdfast.core.jobs.settle import Yielded
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.claiming.claim import MOST_BYTES, claim
from holdfast.store.scripts.reading.read_jobs import find_run
from holdfast.store.scripts.runs.progress import save_checkpoint
from tests.store.acts import (
    NOW,
    SESSION,
    claim_one,
    claim_some,
    claimed_ids,
    end,
    job,
    let_time_pass,
    lose,
    new_job,
    open_session,
    put,
    put_one,
    row,
    runs,
    select,
    state,
    write,
)


def test_a_claim_makes_the_job_running_with_an_open_run(engine: Engine) -> None:
    put_one(engine, "a", payload='{"x":1}', trace_id="trace")
    run = claim_one(engine, now=NOW + 7)
    assert job(engine, "a").state == Running(NOW + 7, run.run_id, SESSION, "w1")
    [stored] = runs(engine, "a")
    assert (stored.id, stored.status, stored.attempt, stored.started_at) == (run.run_id, None, 1, NOW + 7)
    assert (stored.params_snapshot, stored.session_id, stored.worker_id) == ('{"x":1}', SESSION, "w1")
    assert stored.trace_id == "trace"


def test_the_claim_hands_over_all_that_the_worker_needs(engine: Engine) -> None:
    put_one(
        engine,
        "a",
        payload='{"x":1}',
        subject="c::r::p",
        generation=4,
        timeout_ms=900,
        deadline=NOW + 5000,
        tag="blue",
        trace_id="trace",
    )
    run = claim_one(engine)
    assert (run.job_id, run.number, run.task, run.queue) == ("a", row(engine, "a").number, "t", "default")
    assert (run.payload, run.attempt, run.started_at) == ('{"x":1}', 1, NOW)
    assert (run.subject, run.generation, run.timeout_ms, run.deadline) == ("c::r::p", 4, 900, NOW + 5000)
    assert (run.checkpoint, run.tag, run.trace_id) == (None, "blue", "trace")


def test_jobs_come_in_the_order_they_were_enqueued(engine: Engine) -> None:
    put(engine, *(new_job(name) for name in "cab"))
    assert claimed_ids(engine) == ["c", "a", "b"]


def test_a_higher_priority_comes_first(engine: Engine) -> None:
    put(engine, new_job("low", priority=-1), new_job("none"), new_job("high", priority=5))
    assert claimed_ids(engine) == ["high", "none", "low"]


def test_at_one_place_the_older_job_comes_first(engine: Engine) -> None:
    put_one(engine, "old", delay_ms=10)
    put_one(engine, "young", delay_ms=1, now=NOW + 1)
    assert row(engine, "old").position == row(engine, "young").position
    let_time_pass(engine, NOW + 10)
    assert claimed_ids(engine) == ["old", "young"]


def test_no_more_than_the_slots_are_claimed(engine: Engine) -> None:
    put(engine, *(new_job(name) for name in "abc"))
    assert claimed_ids(engine, 2) == ["a", "b"]
    assert claimed_ids(engine, 2) == ["c"]
    assert claimed_ids(engine, 2) == []


def test_slots_are_shared_by_the_queues_of_a_claim(engine: Engine) -> None:
    put(engine, *(new_job(f"x{n}", queue="x") for n in range(3)), *(new_job(f"y{n}", queue="y") for n in range(3)))
    assert claimed_ids(engine, 4, queues=("x", "y")) == ["x0", "x1", "x2", "y0"]


def test_each_queue_has_slots_of_its_own(engine: Engine) -> None:
    put(engine, *(new_job(f"x{n}", queue="x") for n in range(3)), *(new_job(f"y{n}", queue="y") for n in range(3)))
    lanes = (QueueSlots("x", 1), QueueSlots("y", 2), QueueSlots("z", 9))
    request = ClaimRequest(session_id=SESSION, slots=9, queues=lanes, tasks=("t",))
    assert [run.job_id for run in write(engine, claim, request, NOW)] == ["x0", "y0", "y1"]


def test_a_claim_for_no_slots_or_no_task_is_empty(engine: Engine) -> None:
    put_one(engine, "a")
    assert claim_some(engine, 0) == []
    assert claim_some(engine, tasks=()) == []
    assert claim_some(engine, queues=()) == []


def test_only_offered_tasks_are_claimed(engine: Engine) -> None:
    put(engine, new_job("a", task="one"), new_job("b", task="two"), new_job("c", task="three"))
    assert claimed_ids(engine, tasks=("three", "one")) == ["a", "c"]
    assert state(engine, "b") is StateName.QUEUED


def test_only_served_queues_are_claimed(engine: Engine) -> None:
    put(engine, new_job("a", queue="x"), new_job("b", queue="y"))
    assert claimed_ids(engine, queues=("y",)) == ["b"]


def test_a_job_past_its_deadline_is_not_claimed(engine: Engine) -> None:
    put(engine, new_job("late", deadline=NOW + 10), new_job("ok", deadline=NOW + 11))
    assert claimed_ids(engine, now=NOW + 10) == ["ok"]


def test_a_job_past_its_time_to_live_is_not_claimed(engine: Engine) -> None:
    put(engine, new_job("late", ttl_ms=10), new_job("ok", ttl_ms=11))
    assert claimed_ids(engine, now=NOW + 10) == ["ok"]


def test_two_jobs_of_one_subject_never_run_at_once(engine: Engine) -> None:
    put_one(engine, "old", subject="s")
    first = claim_one(engine)
    put_one(engine, "new", subject="s")
    assert claim_some(engine) == []
    end(engine, first)
    assert claimed_ids(engine) == ["new"]


def test_a_busy_subject_holds_nobody_else_back(engine: Engine) -> None:
    put_one(engine, "old", subject="s")
    claim_one(engine)
    put(
        engine,
        new_job("new", subject="s"),
        new_job("other", subject="s2"),
        new_job("same_subject", task="u", subject="s"),
    )
    assert claimed_ids(engine, tasks=("t", "u")) == ["other", "same_subject"]


def test_the_next_run_counts_on_and_sees_the_checkpoint(engine: Engine) -> None:
    put_one(engine, "a")
    first = claim_one(engine)
    write(engine, save_checkpoint, "a", first.run_id, '"half"')
    end(engine, first, Yielded("make room"))
    second = claim_one(engine)
    assert (second.attempt, second.checkpoint) == (2, '"half"')
    assert second.run_id != first.run_id


def test_a_session_that_was_settled_as_dead_claims_nothing(engine: Engine) -> None:
    put_one(engine, "a")
    lose(engine)
    assert claim_some(engine) == []
    assert claim_some(engine, session="nobody") == []


def test_sessions_that_claim_at_once_share_no_job(engine: Engine) -> None:
    put(engine, *(new_job(f"j{n:02d}") for n in range(40)))
    sessions = [open_session(engine, f"claimer{n}") for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        shares = list(pool.map(lambda session: claimed_ids(engine, 10, session=session), sessions))
    assert sorted(name for share in shares for name in share) == [f"j{n:02d}" for n in range(40)]


def test_a_claim_ends_after_16_mib_of_payloads_and_tells_to_ask_again(engine: Engine) -> None:
    payload = '"' + "x" * (MOST_BYTES // 3) + '"'
    put(engine, *(new_job(name, payload=payload) for name in "abcd"), new_job("small", priority=-1))

    def claim_and_tell(tx: Tx) -> tuple[list[Claimed], set[str]]:
        request = ClaimRequest(session_id=SESSION, slots=9, queues=(QueueSlots("default", 9),), tasks=("t",))
        return claim(tx, request, NOW), tx.changes.ready

    first, told = write(engine, claim_and_tell)
    assert [(run.job_id, run.payload) for run in first] == [("a", payload), ("b", payload)]
    assert told == {"default"}
    assert claimed_ids(engine, 9) == ["c", "d", "small"]
    assert engine.query(find_run, first[0].run_id).params_snapshot == payload


def test_a_payload_that_is_larger_than_a_claim_is_claimed_alone(engine: Engine) -> None:
    put(engine, new_job("large", payload='"' + "x" * MOST_BYTES + '"'), new_job("next"))
    assert claimed_ids(engine, 9) == ["large"]
    assert claimed_ids(engine, 9) == ["next"]


def test_those_left_out_pay_neither_turns_nor_tokens(engine: Engine) -> None:
    payload = '"' + "x" * (MOST_BYTES // 3) + '"'
    put(engine, *(new_job(f"{tenant}{n}", payload=payload, tenant=tenant) for n in (1, 2) for tenant in ("x", "y")))
    assert claimed_ids(engine, 9) == ["x1", "y1"]
    started = select(engine, "SELECT tenant, starts FROM tenants WHERE queue = 'default' ORDER BY tenant")
    assert [row["starts"] for row in started if row["tenant"] in "xy"] == [1, 1]
    assert claimed_ids(engine, 9) == ["x2", "y2"]
