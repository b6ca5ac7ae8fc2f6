"""Tenants of a queue take turns, whatever one of them piles up."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.gates.fairness import ACTIVE_MS, FADING_MS, RECENT_MS
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.reorder import move_before
from holdfast.store.scripts.queues.tenants import clear_weight, forget_tenants, list_tenants, note_activity, set_weight
from tests.store.acts import (
    NOW,
    claim_some,
    claimed_ids,
    end,
    execute,
    let_time_pass,
    lose,
    new_job,
    open_session,
    put,
    put_one,
    select,
    write,
)


def flood(engine: Engine, tenant: str, count: int, **options: object) -> None:
    """Many jobs of one tenant."""
    put(engine, *[new_job(f"{tenant}{number:04}", tenant=tenant, **options) for number in range(count)])


def weigh(engine: Engine, tenant: str, weight: int) -> None:
    """Give a tenant of the default queue a weight."""
    assert execute(engine, "UPDATE tenants SET weight = :weight WHERE tenant = :tenant", weight=weight, tenant=tenant)


def starts(engine: Engine, count: int, step: int) -> list[str]:
    """The tenants of the next jobs that are started, a few at a time; each ends at once."""
    order: list[str] = []
    while len(order) < count:
        claimed = claim_some(engine, step)
        order += [run.job_id[:-4] for run in claimed]
        for run in claimed:
            end(engine, run)
    return order


def test_a_flood_delays_another_tenants_job_by_one_turn(engine: Engine) -> None:
    open_session(engine)
    flood(engine, "flood", 300)
    put_one(engine, "one0000", tenant="one")
    assert "one0000" in claimed_ids(engine, 2)


def test_shares_are_as_the_weights(engine: Engine) -> None:
    open_session(engine)
    flood(engine, "much", 220)
    flood(engine, "little", 220)
    weigh(engine, "much", 100)
    weigh(engine, "little", 10)
    counts = Counter(starts(engine, 110, 10))
    assert counts["much"] == pytest.approx(100, abs=1)


def test_the_default_tenant_is_one_of_them(engine: Engine) -> None:
    open_session(engine)
    flood(engine, "default", 20)
    flood(engine, "other", 20)
    assert Counter(starts(engine, 20, 4)) == {"default": 10, "other": 10}


def test_an_absence_banks_nothing(engine: Engine) -> None:
    open_session(engine)
    flood(engine, "here", 100)
    put_one(engine, "away0000", tenant="away")
    assert Counter(starts(engine, 50, 5))["away"] == 1
    put(engine, *[new_job(f"away{number:04}", tenant="away") for number in range(1, 40)])
    assert abs(Counter(starts(engine, 20, 5))["away"] - 10) <= 1


def test_a_share_that_nobody_uses_is_lent(engine: Engine) -> None:
    open_session(engine)
    flood(engine, "few", 2)
    flood(engine, "many", 50)
    assert Counter(starts(engine, 30, 10)) == {"few": 2, "many": 28}


def test_one_tenant_alone_has_the_order_of_the_queue(engine: Engine) -> None:
    open_session(engine)
    put(engine, *[new_job(name, tenant="x", priority=priority) for name, priority in [("a", 0), ("b", 5), ("c", 0)]])
    assert claimed_ids(engine) == ["b", "a", "c"]


def test_many_tenants_are_looked_at_until_the_slots_are_full(engine: Engine) -> None:
    open_session(engine)
    for number in range(40):
        put_one(engine, f"busy{number}", tenant=f"t{number:02}", task="not offered")
    put_one(engine, "last", tenant="z")
    assert claimed_ids(engine, 3) == ["last"]


def test_a_tenant_that_has_nothing_left_leaves_the_line_and_comes_back(engine: Engine) -> None:
    open_session(engine)
    put_one(engine, "a", tenant="x")
    put_one(engine, "later", tenant="x", due=NOW + 10)
    assert claimed_ids(engine) == ["a"]
    assert select(engine, "SELECT tenant FROM tenants WHERE is_waiting = 1") == []
    let_time_pass(engine, NOW + 10)
    assert claimed_ids(engine, now=NOW + 10) == ["later"]


def test_turns_are_kept_over_wild_queues_and_only_what_was_started_is_charged(engine: Engine) -> None:
    open_session(engine)
    for queue in ("q1", "q2"):
        for tenant in ("x", "y"):
            put(engine, *[new_job(f"{queue}{tenant}{number}", queue=queue, tenant=tenant) for number in range(6)])
    taken = [name for _ in range(4) for name in claimed_ids(engine, 3, queues=("*",))]
    assert Counter(name[2] for name in taken) == {"x": 6, "y": 6}


def test_order_is_within_a_tenant(engine: Engine) -> None:
    put(engine, new_job("a", tenant="x"), new_job("b", tenant="y"))
    with pytest.raises(InvalidInput, match="tenants take turns"):
        write(engine, move_before, "a", "b")


def test_a_weight_for_one_queue_takes_nobody_out_of_its_line(engine: Engine) -> None:
    open_session(engine)
    flood(engine, "default", 4)
    write(engine, set_weight, "default", 30, "default")
    flood(engine, "other", 4)
    assert Counter(starts(engine, 4, 4)) == {"default": 3, "other": 1}


def test_a_weight_for_all_queues_holds_for_those_that_come_later(engine: Engine) -> None:
    open_session(engine)
    write(engine, set_weight, "much", 30)
    flood(engine, "much", 8)
    flood(engine, "little", 8)
    assert Counter(starts(engine, 8, 4)) == {"much": 6, "little": 2}
    assert [(one.tenant, one.weight, one.starts) for one in engine.query(list_tenants, NOW)] == [
        ("little", 10, 2),
        ("much", 30, 6),
    ]


def test_activity_raises_a_weight_and_fades(engine: Engine) -> None:
    open_session(engine)
    flood(engine, "mine", 1)
    assert write(engine, note_activity, "mine", NOW) == NOW + ACTIVE_MS

    def weight(at: int) -> float:
        return {one.tenant: one.weight_now for one in engine.query(list_tenants, at)}["mine"]

    after = NOW + ACTIVE_MS
    moments = (NOW, after, after + FADING_MS // 2, after + RECENT_MS // 2, after + RECENT_MS)
    assert [weight(at) for at in moments] == [100, 100, 55, 20, 10]


def test_tenants_at_rest_are_forgotten_where_there_are_very_many(engine: Engine) -> None:
    for tenant in ("gone", "heavy", "t1", "t2"):
        put_one(engine, tenant, tenant=tenant)
    write(engine, set_weight, "heavy", 30, "default")
    write(engine, cancel_job, "gone", NOW)
    assert claimed_ids(engine, 2) == ["heavy", "t1"]
    assert write(engine, forget_tenants, NOW, 50) == 0
    # Who was cancelled has nothing left; one was given a weight, one has had a turn more than others, one waits.
    assert write(engine, forget_tenants, NOW, 50, 0) == 1
    assert claimed_ids(engine) == ["t2"]
    assert write(engine, forget_tenants, NOW, 50, 0) == 2
    assert [one.tenant for one in engine.query(list_tenants, NOW)] == ["heavy"]


def test_an_activity_that_is_long_past_is_forgotten(engine: Engine) -> None:
    until = write(engine, note_activity, "x", NOW)
    assert write(engine, forget_tenants, until + RECENT_MS, 50, 0) == 0
    assert write(engine, forget_tenants, until + RECENT_MS + 1, 50, 0) == 1


def test_a_tenant_that_was_forgotten_has_its_turn_where_it_would_have_had_it(engine: Engine) -> None:
    put_one(engine, "x0", tenant="x")
    flood(engine, "y", 20)
    assert len(claim_some(engine, 10)) == 10
    assert write(engine, forget_tenants, NOW, 50, 0) == 1
    flood(engine, "x", 4, task="t")
    assert Counter(name[0] for name in claimed_ids(engine, 8)) == {"x": 4, "y": 4}


def test_a_share_is_one_of_all_who_wait_however_many_are_listed(engine: Engine) -> None:
    for tenant in "abcd":
        put_one(engine, tenant, tenant=tenant)
    [first] = engine.query(list_tenants, NOW, None, 1)
    shares = {view.tenant: view.share for view in engine.query(list_tenants, NOW)}
    assert (first.tenant, first.share) == ("a", shares["a"])
    assert sum(shares.values()) == pytest.approx(1)


def test_the_default_tenant_is_listed_only_where_it_has_jobs(engine: Engine) -> None:
    def shares() -> dict[str, float]:
        return {view.tenant: view.share for view in engine.query(list_tenants, NOW)}

    put_one(engine, "a", tenant="bob")
    assert shares() == {"bob": 1.0}
    put_one(engine, "b")
    assert shares() == {"bob": 0.5, "default": 0.5}


def test_a_weight_is_listed_before_the_first_job_and_can_be_set_back(engine: Engine) -> None:
    def weights() -> list[tuple[str, str, int]]:
        return [(view.queue, view.tenant, view.weight) for view in engine.query(list_tenants, NOW)]

    write(engine, set_weight, "bob", 50)
    assert weights() == [("", "bob", 50)]
    put_one(engine, "a", queue="q", tenant="bob")
    write(engine, set_weight, "bob", 20, "q")
    assert weights() == [("q", "bob", 20)]
    write(engine, clear_weight, "bob", "q")
    assert weights() == [("q", "bob", 50)]
    write(engine, clear_weight, "bob")
    assert weights() == [("q", "bob", 10)]


def test_a_job_that_must_run_alone_is_its_tenants_turn_too(engine: Engine) -> None:
    put(engine, new_job("a", tenant="a"), new_job("b", tenant="b"))
    [run] = claim_some(engine, 1, session=open_session(engine, "s2"))
    lose(engine, "s2")
    let_time_pass(engine, NOW + 60_000)
    assert [again.tag for again in claim_some(engine, 1, now=NOW + 60_000)] == [run.tag]
    starts = {view.tenant: view.starts for view in engine.query(list_tenants, NOW)}
    assert (starts["a"], starts["b"]) == (2, 0)
