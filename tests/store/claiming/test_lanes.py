"""Jobs that wait for an idle or a charging machine: they hold nobody up, and keep their place."""

from __future__ import annotations

import itertools

import pytest

from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.jobs.reorder import move_before, move_to_top
from tests.store.acts import NOW, claim_some, claimed_ids, execute, lose, new_job, open_session, put, put_one, write

MACHINES = list(itertools.product([False, True], repeat=2))


def machine(engine: Engine, is_idle: bool, is_charging: bool, node: str = "node") -> None:
    """What the probe of a machine has found."""
    execute(engine, "DELETE FROM machines WHERE node = :node", node=node)
    execute(
        engine,
        "INSERT INTO machines (node, is_idle, is_charging, source, updated_at) "
        "VALUES (:node, :idle, :charging, 'test', 1)",
        node=node,
        idle=int(is_idle),
        charging=int(is_charging),
    )


def one_of_each(engine: Engine) -> None:
    """A job of every lane, the plain one last."""
    for idle, charging in reversed(MACHINES):
        put_one(engine, name(idle, charging), wait_for_idle=idle, require_charging=charging)


def name(idle: bool, charging: bool) -> str:
    """What a job is called here."""
    return f"{'idle' if idle else ''}{'charging' if charging else ''}" or "plain"


@pytest.mark.parametrize(("is_idle", "is_charging"), MACHINES)
@pytest.mark.parametrize("wild", [False, True])
def test_a_lane_is_open_when_the_machine_is_what_it_waits_for(
    engine: Engine, is_idle: bool, is_charging: bool, wild: bool
) -> None:
    open_session(engine)
    one_of_each(engine)
    machine(engine, is_idle, is_charging)
    expected = [
        name(idle, charging)
        for idle, charging in reversed(MACHINES)
        if (is_idle or not idle) and (is_charging or not charging)
    ]
    assert claimed_ids(engine, queues=("*",) if wild else ("default",)) == expected


def test_a_machine_that_nobody_has_looked_at_is_neither(engine: Engine) -> None:
    open_session(engine)
    one_of_each(engine)
    assert claimed_ids(engine) == ["plain"]
    machine(engine, True, True, node="another")
    assert claimed_ids(engine) == []


def test_the_order_is_one_over_all_lanes(engine: Engine) -> None:
    open_session(engine)
    machine(engine, True, True)
    put(engine, new_job("a"), new_job("b", wait_for_idle=True), new_job("c"), new_job("d", require_charging=True))
    put(engine, new_job("urgent", priority=5, wait_for_idle=True))
    write(engine, move_to_top, "d")
    write(engine, move_before, "c", "b")
    assert claimed_ids(engine, 2) == ["urgent", "d"]
    assert claimed_ids(engine) == ["a", "c", "b"]


def test_a_suspect_waits_for_its_machine_too_and_keeps_nobody_from_working(engine: Engine) -> None:
    open_session(engine)
    machine(engine, True, False)
    put_one(engine, "suspect", wait_for_idle=True)
    put_one(engine, "beside")
    claim_some(engine)
    lose(engine)
    machine(engine, False, False)
    open_session(engine, "s2")
    assert claimed_ids(engine, session="s2", now=NOW + 100_000) == ["beside"]
    lose(engine, "s2", NOW + 100_000)
    machine(engine, True, False)
    open_session(engine, "s3")
    taken = claimed_ids(engine, session="s3", now=NOW + 200_000)
    assert taken in (["suspect"], ["beside"])


@pytest.mark.parametrize(
    ("gate", "options"), [("idle", {"wait_for_idle": True}), ("charging", {"require_charging": True})]
)
def test_why_says_what_the_machine_is_like(engine: Engine, gate: str, options: dict[str, bool]) -> None:
    open_session(engine)
    put_one(engine, "a", **options)
    assert gate in [closed.gate for closed in engine.query(why, "a", NOW).closed]
    machine(engine, True, True)
    assert gate not in [closed.gate for closed in engine.query(why, "a", NOW).closed]
