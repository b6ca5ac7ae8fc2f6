"""A group and its jobs in one transaction, and groups that are made anew."""

from __future__ import annotations

import pytest

from holdfast.core.errors import Conflict
from holdfast.core.job import StateName
from holdfast.core.jobs.requests import Enqueued
from holdfast.core.values.event import shape_of
from holdfast.core.values.group import Dependency, GroupMode, OnFailure
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import emit, list_events, register_pattern
from holdfast.store.scripts.groups.groups import head_of_group, members_of_group, view_group
from holdfast.store.scripts.jobs import group_jobs
from holdfast.store.scripts.jobs.cancel import cancel_group, cancel_job
from holdfast.store.scripts.jobs.group_jobs import enqueue_group, retry_group
from holdfast.store.scripts.jobs.predecessors import predecessors
from holdfast.store.scripts.maintenance.retention import forget_old
from tests.store.acts import (
    DONE,
    FAILED,
    NOW,
    claim_one,
    claim_some,
    claimed_ids,
    dump,
    end,
    let_time_pass,
    new_job,
    put,
    put_one,
    states,
    write,
)

D, F, C, S, Q = (StateName[name] for name in ("DONE", "FAILED", "CANCELLED", "SCHEDULED", "QUEUED"))


def make(engine: Engine, names: str, mode: GroupMode = GroupMode.PARALLEL, repeated: bool = False) -> list[Enqueued]:
    jobs = [new_job(name) for name in names]
    return write(engine, enqueue_group, "g", "release", mode, OnFailure.STOP, jobs, NOW, repeated)


def run_all(engine: Engine, *broken: str) -> list[str]:
    ran = []
    while found := claim_some(engine, 1):
        ran.append(found[0].job_id)
        end(engine, found[0], FAILED if ran[-1] in broken else DONE)
    return ran


@pytest.mark.parametrize("mode", list(GroupMode))
def test_a_repeat_finds_what_the_first_call_stored(engine: Engine, mode: GroupMode) -> None:
    first = make(engine, "abc", mode)
    before = dump(engine)
    assert make(engine, "abc", mode, repeated=True) == first
    with pytest.raises(Conflict, match="there is a group g already"):
        make(engine, "d", mode)
    assert dump(engine) == before


def test_members_are_shown_in_their_order_page_by_page(engine: Engine) -> None:
    make(engine, "abc")
    first = engine.query(members_of_group, "release", 2)
    second = engine.query(members_of_group, "g", 2, first.cursor)
    assert ([job.id for job in first.jobs + second.jobs], second.cursor) == (["a", "b", "c"], None)


def test_a_group_goes_on_until_its_last_member_has_ended(engine: Engine) -> None:
    make(engine, "ab")
    assert engine.query(head_of_group, "release").is_live
    run_all(engine)
    assert not engine.query(head_of_group, "release").is_live


def test_a_retried_member_speaks_for_the_old_one_and_keeps_its_place(engine: Engine) -> None:
    make(engine, "abc")
    run_all(engine, "b")
    [again] = write(engine, retry_group, "g", NOW)
    view = engine.query(view_group, "g")
    assert list(view.members.items()) == [("a", D), (again.id, Q), ("c", D)]
    assert view.counts == {D: 2, Q: 1}
    assert view.progress == pytest.approx(2 / 3)
    assert write(engine, retry_group, "g", NOW) == []


def test_of_a_group_that_grew_everybody_is_made_anew(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_jobs, "MOST_MEMBERS", 4)
    monkeypatch.setattr(group_jobs, "PAGE", 2)
    make(engine, "abc")
    put(engine, *(new_job(name, group_id="g") for name in "defg"))
    run_all(engine, *"abdefg")
    assert [len(write(engine, retry_group, "g", NOW)) for _ in range(3)] == [4, 2, 0]
    assert list(engine.query(view_group, "g").members.values()) == [Q, Q, D, Q, Q, Q, Q]


def test_a_cancelled_sequence_is_made_anew_in_order(engine: Engine) -> None:
    make(engine, "abc", GroupMode.SEQUENTIAL)
    end(engine, claim_one(engine))
    write(engine, cancel_group, "g", NOW, 10)
    again = [str(answer.id) for answer in write(engine, retry_group, "g", NOW)]
    assert states(engine, *again) == [Q, S]
    assert run_all(engine) == again


def test_what_is_outside_of_the_group_is_waited_for_only_while_it_goes_on(engine: Engine) -> None:
    put(engine, new_job("broken"), new_job("slow", delay_ms=1_000))
    run_all(engine, "broken")
    jobs = [new_job("a", after=(Dependency("broken"),)), new_job("b", after=(Dependency("slow"),))]
    write(engine, enqueue_group, "g", None, GroupMode.PARALLEL, OnFailure.STOP, jobs, NOW)
    write(engine, cancel_job, "b", NOW)
    again = [str(answer.id) for answer in write(engine, retry_group, "g", NOW)]
    assert states(engine, *again) == [Q, S]
    assert [[one.id for one in engine.query(predecessors, job)] for job in again] == [["broken"], ["slow"]]


def test_a_member_that_something_newer_stands_for_is_left_as_it_is(engine: Engine) -> None:
    jobs = [new_job("a", subject="s"), new_job("b", subject="t")]
    write(engine, enqueue_group, "g", None, GroupMode.PARALLEL, OnFailure.STOP, jobs, NOW)
    put_one(engine, "newer", subject="s")
    run_all(engine, "b")
    assert len(write(engine, retry_group, "g", NOW)) == 1


def test_an_event_that_never_came_is_waited_for_again(engine: Engine) -> None:
    jobs = [new_job("a", wait_for_event="git:*", event_attributes={"branch": "main"})]
    write(engine, enqueue_group, "g", None, GroupMode.PARALLEL, OnFailure.STOP, jobs, NOW)
    write(engine, cancel_group, "g", NOW, 10)
    [again] = write(engine, retry_group, "g", NOW)
    assert again.state is S
    write(engine, emit, "e", "git:commit", {"branch": "main"}, NOW)
    let_time_pass(engine, NOW)
    assert states(engine, str(again.id)) == [Q]


def test_a_group_is_told_of_once_when_its_last_member_has_ended(engine: Engine) -> None:
    write(engine, register_pattern, shape_of("group.completed", ()), "hook")
    make(engine, "ab")
    for run in (claim_one(engine), claim_one(engine)):
        assert engine.query(list_events).events == []
        end(engine, run)
    [view] = engine.query(list_events).events
    assert view.event.name == "group.completed"
    assert view.event.attributes == {
        "group_id": "g",
        "name": "release",
        "mode": "parallel",
        "status": "COMPLETED",
        "jobs": "2",
        "done": "2",
    }


def test_a_predecessor_that_is_gone_by_retention_is_no_more_seen(engine: Engine) -> None:
    put_one(engine, "a")
    run_all(engine)
    put_one(engine, "b", after=(Dependency("a"),))
    assert [one.id for one in engine.query(predecessors, "b")] == ["a"]
    write(engine, forget_old, NOW + 1)
    assert engine.query(predecessors, "b") == []


def test_many_members_are_stored_quickly_enough_to_be_one_transaction(engine: Engine) -> None:
    jobs = [new_job(f"job {number}") for number in range(2_000)]
    assert len(write(engine, enqueue_group, "g", None, GroupMode.PARALLEL, OnFailure.STOP, jobs, NOW)) == 2_000
    assert len(claimed_ids(engine, 3)) == 3
