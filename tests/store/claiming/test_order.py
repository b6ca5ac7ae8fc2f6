"""The order of waiting jobs and how a person changes it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.core.job import JobId, StateName
from holdfast.core.jobs.order import GAP, rank
from holdfast.core.jobs.settle import Yielded
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.reorder import (
    edit_payload,
    move_after,
    move_before,
    move_to_bottom,
    move_to_top,
    renormalise,
    set_priority,
)
from tests.store.acts import (
    NOW,
    claim_one,
    claimed_ids,
    dump,
    end,
    execute,
    job,
    let_time_pass,
    new_job,
    put,
    put_and_end,
    put_one,
    row,
    runs,
    write,
)


def line_up(engine: Engine, names: str = "abcd", queue: str = "default") -> None:
    put(engine, *(new_job(name, queue=queue) for name in names))


def order(engine: Engine, names: str = "abcd") -> str:
    """The jobs as the claim would take them."""
    return "".join(sorted(names, key=lambda name: rank(job(engine, name))))


def test_the_claim_takes_jobs_by_rank(engine: Engine) -> None:
    put(engine, *(new_job(name, priority=int(priority)) for name, priority in ("a0", "b2", "c1", "d0", "e2", "f1")))
    write(engine, move_to_top, "d")
    write(engine, move_before, "f", "b")
    expected = order(engine, "abcdef")
    assert "".join(claimed_ids(engine)) == expected == "fbecda"


def test_to_the_top(engine: Engine) -> None:
    line_up(engine)
    write(engine, move_to_top, "c")
    assert order(engine) == "cabd"
    write(engine, move_to_top, "d")
    assert order(engine) == "dcab"


def test_to_the_bottom(engine: Engine) -> None:
    line_up(engine)
    write(engine, move_to_bottom, "b")
    assert order(engine) == "acdb"


@pytest.mark.parametrize(
    ("moved", "other", "after"),
    [("d", "a", "dabc"), ("d", "b", "adbc"), ("a", "d", "bcad"), ("b", "c", "abcd"), ("c", "b", "acbd")],
)
def test_before_another(engine: Engine, moved: JobId, other: JobId, after: str) -> None:
    line_up(engine)
    write(engine, move_before, moved, other)
    assert order(engine) == after


@pytest.mark.parametrize(
    ("moved", "other", "after"),
    [("a", "d", "bcda"), ("a", "b", "bacd"), ("d", "a", "adbc"), ("b", "a", "abcd"), ("c", "d", "abdc")],
)
def test_behind_another(engine: Engine, moved: JobId, other: JobId, after: str) -> None:
    line_up(engine)
    write(engine, move_after, moved, other)
    assert order(engine) == after


def test_beside_another_takes_its_priority(engine: Engine) -> None:
    put(engine, new_job("a", priority=5), new_job("b", priority=5), new_job("c"))
    write(engine, move_before, "c", "b")
    assert (row(engine, "c").priority, order(engine, "abc")) == (5, "acb")


def test_when_a_gap_runs_out_the_queue_is_renumbered_in_its_order(engine: Engine) -> None:
    line_up(engine)
    write(engine, move_before, "c", "b")
    for turn in range(30):
        write(engine, move_before, "dc"[turn % 2], "b")
        assert order(engine) == ("adcb" if turn % 2 else "acdb")
    assert len({row(engine, name).position for name in "abcd"}) == 4


def test_a_scheduled_job_keeps_its_place_when_the_queue_is_renumbered(engine: Engine) -> None:
    line_up(engine, "ab")
    put_one(engine, "s", delay_ms=1000)
    put_one(engine, "c")
    write(engine, move_after, "s", "a")
    write(engine, move_before, "b", "s")
    for turn in range(31):
        write(engine, move_before, "cb"[turn % 2], "s")
        assert order(engine, "abcs") == ("acbs" if turn % 2 else "abcs")
    let_time_pass(engine, NOW + 1000)
    assert claimed_ids(engine, now=NOW + 1000) == ["a", "b", "c", "s"]


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("act", [move_before, move_after])
def test_jobs_that_share_a_place_are_told_apart(engine: Engine, first: JobId, act: Callable[..., None]) -> None:
    put(engine, new_job("a"), new_job("b"), new_job("c"))
    execute(engine, "UPDATE jobs SET position = 100")
    write(engine, act, "c", first)
    behind = "abc" if first == "b" else "acb"
    ahead = "acb" if first == "b" else "cab"
    assert order(engine, "abc") == (behind if act is move_after else ahead)


def test_any_moves_give_the_order_that_a_list_gives(engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    names = "abcdefg"
    line_up(engine, names)
    expected = list(names)
    for _ in range(60):
        moved, other = dice.sample(names, 2)
        behind = dice.random() < 0.5
        expected.remove(moved)
        expected.insert(expected.index(other) + behind, moved)
        write(engine, move_after if behind else move_before, moved, other)
    assert order(engine, names) == "".join(expected)


def test_renumbering_by_hand_puts_a_gap_between_all(engine: Engine) -> None:
    line_up(engine)
    execute(engine, "UPDATE jobs SET position = number - 1000")
    assert write(engine, renormalise, "default", "default", 0) == 4
    assert [row(engine, name).position for name in "abcd"] == [GAP, 2 * GAP, 3 * GAP, 4 * GAP]


def test_renumbering_leaves_other_queues_and_priorities_alone(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b", queue="other"), new_job("c", priority=1))
    execute(engine, "UPDATE jobs SET position = 7")
    write(engine, renormalise, "default", "default", 0)
    assert [row(engine, name).position for name in "abc"] == [GAP, 7, 7]


def test_a_new_priority_puts_a_job_behind_those_that_have_it(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"), new_job("c", priority=5), new_job("d", priority=5))
    write(engine, set_priority, "b", 5)
    assert order(engine) == "cdba"


def test_the_same_priority_changes_nothing(engine: Engine) -> None:
    line_up(engine)
    before = dump(engine)
    write(engine, set_priority, "b", 0)
    assert dump(engine) == before


def test_an_edited_payload_is_what_the_next_run_gets(engine: Engine) -> None:
    put_one(engine, "a", payload='{"x":1}')
    end(engine, claim_one(engine), Yielded("room"))
    write(engine, edit_payload, "a", '{"x":2}')
    assert claim_one(engine).payload == '{"x":2}'
    assert [run.params_snapshot for run in runs(engine, "a")] == ['{"x":1}', '{"x":2}']


def test_only_a_waiting_job_can_be_moved_or_edited(engine: Engine) -> None:
    put_and_end(engine, "ended")
    put_one(engine, "running")
    claim_one(engine)
    put_one(engine, "waiting")
    before = dump(engine)
    for name, state in (("ended", StateName.DONE), ("running", StateName.RUNNING)):
        for act in (move_to_top, move_to_bottom):
            with pytest.raises(Conflict, match=state):
                write(engine, act, name)
        for beside in (move_before, move_after):
            with pytest.raises(Conflict, match=state):
                write(engine, beside, name, "waiting")
            with pytest.raises(Conflict, match=state):
                write(engine, beside, "waiting", name)
        with pytest.raises(Conflict, match=state):
            write(engine, set_priority, name, 3)
        with pytest.raises(Conflict, match=state):
            write(engine, edit_payload, name, "{}")
    assert dump(engine) == before


def test_a_job_cannot_be_moved_beside_itself_or_into_another_queue(engine: Engine) -> None:
    line_up(engine)
    put_one(engine, "far", queue="other")
    with pytest.raises(InvalidInput, match="itself"):
        write(engine, move_before, "a", "a")
    with pytest.raises(InvalidInput, match="within a queue"):
        write(engine, move_after, "a", "far")


def test_a_job_that_does_not_exist_cannot_be_moved(engine: Engine) -> None:
    line_up(engine)
    with pytest.raises(NotFound):
        write(engine, move_before, "a", "nobody")
    with pytest.raises(NotFound):
        write(engine, move_to_top, "nobody")


def test_a_scheduled_job_can_be_moved_edited_and_given_a_priority(engine: Engine) -> None:
    line_up(engine)
    put_one(engine, "s", delay_ms=1000)
    write(engine, move_to_top, "s")
    write(engine, edit_payload, "s", '{"x":2}')
    let_time_pass(engine, NOW + 1000)
    assert order(engine, "abcds") == "sabcd"
    assert row(engine, "s").payload == '{"x":2}'
