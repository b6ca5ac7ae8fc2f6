"""What changes become: jobs, each change once, in the transaction that remembers it."""

from __future__ import annotations

import json

import pytest

from holdfast.core.errors import Conflict
from holdfast.core.gates.fairness import ACTIVE_MS
from holdfast.core.jobs.requests import NewJob
from holdfast.core.rules.tokens import Tokens
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.values.retry import RetryPolicy
from holdfast.core.values.watch import SeenFile
from holdfast.core.watching.git import GitEvent, GitMove
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.queues.queues import set_queue
from holdfast.store.scripts.queues.tenants import note_activity
from holdfast.store.scripts.watches.changed_files import changed_files
from holdfast.store.scripts.watches.plans import (
    Planned,
    files_behind,
    files_below,
    note_scanned,
    plan,
    plan_moves,
    take_in,
    tell,
    where_it_stood,
)
from holdfast.store.scripts.watches.watches import find_watch, pause_watch, resume_watch
from tests.store.acts import NOW, select, write
from tests.store.watch_acts import add, jobs, planned


def test_a_change_becomes_a_job_with_a_generation_and_its_cause(engine: Engine) -> None:
    add(engine)
    assert planned(engine, ("a.py", "1")) == Planned(1, 1)
    assert planned(engine, ("a.py", "2")) == Planned(1, 1)
    assert planned(engine, ("a.py", None)) == Planned(1, 1)
    rows = jobs(engine)
    assert [json.loads(row["payload"])["change"] for row in rows] == ["added", "modified", "deleted"]
    assert [(row["state"], row["generation"]) for row in rows] == [("SUPERSEDED", 1), ("SUPERSEDED", 2), ("QUEUED", 3)]
    assert json.loads(rows[0]["trigger"]) == {"kind": "watch", "watch": "src", "path": "/src/a.py", "change": "added"}


def active(engine: Engine) -> dict[str, int]:
    """Until when somebody works with which tenant."""
    return {row["tenant"]: row["active_until"] for row in select(engine, "SELECT * FROM tenants WHERE queue = ''")}


def test_an_edit_is_activity_of_the_tenant_and_a_first_look_is_none(engine: Engine) -> None:
    add(engine, tenant="me::shop", initial=True)
    planned(engine, ("a.py", "1"), is_first=True)
    assert active(engine) == {}
    planned(engine, ("a.py", "2"))
    assert active(engine) == {"me::shop": NOW + ACTIVE_MS}
    write(engine, note_activity, "me::shop", NOW, 10 * ACTIVE_MS)
    planned(engine, ("a.py", "3"))
    assert active(engine) == {"me::shop": NOW + 10 * ACTIVE_MS}


def test_an_edit_without_a_job_is_activity_too(engine: Engine) -> None:
    add(engine, task=None, tenant="me::shop")
    planned(engine, ("a.py", "1"))
    assert active(engine) == {"me::shop": NOW + ACTIVE_MS}


def test_a_tenant_that_is_known_by_its_subject_is_active_when_its_repository_moves(engine: Engine) -> None:
    add(engine, subject="me::{repo}::head", kind="git")
    moves = [GitMove(GitEvent.COMMIT, "main", "2", "1")]
    write(engine, plan_moves, "w1", 1, None, "2", moves, NOW)
    assert active(engine) == {"me::src": NOW + ACTIVE_MS}


def test_the_first_look_of_a_second_planner_tells_what_came_after_that_of_the_first(engine: Engine) -> None:
    add(engine)
    planned(engine, ("a.py", "1"), is_first=True)
    write(engine, note_scanned, "w1", 1, NOW)
    assert planned(engine, ("a.py", "1"), ("b.py", "1"), is_first=True) == Planned(1, 1)


def test_what_was_taken_in_already_makes_no_second_job(engine: Engine) -> None:
    add(engine)
    planned(engine, ("a.py", "1"))
    assert planned(engine, ("a.py", "1"), ("never", None)) == Planned()
    assert len(jobs(engine)) == 1


def test_if_the_jobs_cannot_be_stored_nothing_is_remembered(engine: Engine) -> None:
    add(engine)

    def interrupted(tx: Tx) -> None:
        plan(tx, "w1", 1, [SeenFile("a.py", "1")], NOW)
        raise Conflict("the plug was pulled")

    with pytest.raises(Conflict):
        write(engine, interrupted)
    assert engine.query(files_behind, "w1", "", 10) == []
    assert planned(engine, ("a.py", "1")) == Planned(1, 1)


def test_a_first_look_remembers_and_makes_jobs_only_where_that_is_wanted(engine: Engine) -> None:
    add(engine)
    assert planned(engine, ("a.py", "1"), is_first=True) == Planned()
    assert engine.query(find_watch, "src").files == 1
    add(engine, watch_id="w2", replace=True, initial=True)
    assert planned(engine, ("b.py", "1"), revision=2, is_first=True) == Planned(1, 1)


def test_a_look_for_rules_of_before_changes_nothing(engine: Engine) -> None:
    add(engine)
    add(engine, watch_id="w2", replace=True, globs=("*.md",))
    assert planned(engine, ("a.py", "1")) == Planned()
    write(engine, note_scanned, "w1", 1, NOW)
    assert engine.query(find_watch, "src").scanned_at is None


def test_a_paused_watch_plans_nothing_until_it_is_resumed(engine: Engine) -> None:
    add(engine)
    assert not write(engine, pause_watch, "src", NOW).enabled
    assert planned(engine, ("a.py", "1"), revision=2) == Planned()
    assert write(engine, resume_watch, "src", NOW).enabled
    assert planned(engine, ("a.py", "1"), revision=3) == Planned(1, 1)


def test_a_watch_without_a_task_makes_no_jobs_but_wakes_those_who_wait(engine: Engine) -> None:
    add(engine, task=None)
    assert planned(engine, ("b.py", "1")) == Planned(1, 0)
    assert select(engine, "SELECT * FROM events") == []
    wish = NewJob(id="j1", task="t", wait_for_event="file:changed", event_attributes={"path": "/src/a.py"})
    write(engine, enqueue, [wish], NOW)
    planned(engine, ("a.py", "1"))
    [event] = select(engine, "SELECT * FROM events")
    assert json.loads(event["attributes"]) == {"watch": "src", "path": "/src/a.py", "change": "added"}


def test_much_at_once_is_one_job_even_if_a_crash_comes_between(engine: Engine) -> None:
    add(engine)
    for start in (0, 500):
        seen = [SeenFile(f"{number}.py", "1") for number in range(start, start + 500)]
        assert write(engine, take_in, "w1", 1, seen, NOW) == Planned(500)
    assert jobs(engine) == []
    assert write(engine, tell, "w1", NOW) == Planned(0, 1)
    assert write(engine, tell, "w1", NOW) == Planned()
    [job] = jobs(engine)
    assert json.loads(job["payload"]) == {
        "path": "/src",
        "relative": "",
        "change": "modified",
        "bulk": True,
        "paths_changed": 1_000,
    }
    found = engine.query(find_watch, "src")
    assert (found.files, found.changes, found.jobs) == (1_000, 1_000, 1)


def test_what_is_in_a_folder_is_found_and_nothing_beside_it(engine: Engine) -> None:
    add(engine)
    planned(engine, ("a", "1"), ("a/b", "1"), ("a/c/d", "1"), ("a-b", "1"), ("ab/c", "1"))
    assert [known.path for known in engine.query(files_below, "w1", "a", 10)] == ["a/b", "a/c/d"]


def test_a_move_of_a_repository_is_a_job_once(engine: Engine) -> None:
    add(engine, kind="git")
    move = GitMove(GitEvent.COMMIT, "old", "new", "main")
    args = ("w1", 1, None, "there", [move], NOW)
    assert write(engine, plan_moves, *args) == Planned(1, 1)
    assert write(engine, plan_moves, *args) == Planned()
    assert engine.query(where_it_stood, "w1") == "there"
    [job] = jobs(engine)
    assert json.loads(job["payload"]) == {
        "path": "/src",
        "repo": "src",
        "event": "commit",
        "branch": "main",
        "head": "new",
        "old_head": "old",
    }
    assert job["subject_key"] == "watch::src::main"


def test_a_commit_lets_go_of_what_waits_for_it(engine: Engine) -> None:
    add(engine, kind="git", task=None)
    write(engine, enqueue, [NewJob(id="j1", task="t", wait_for_event="git:commit")], NOW)
    write(engine, plan_moves, "w1", 1, None, "there", [GitMove(GitEvent.COMMIT, "old", "new", "main")], NOW)
    [event] = select(engine, "SELECT * FROM events")
    assert event["name"] == "git:commit"
    assert json.loads(event["attributes"]) == {
        "watch": "src",
        "repo": "src",
        "path": "/src",
        "branch": "main",
        "head": "new",
        "old_head": "old",
    }


def test_more_moves_than_there_may_be_jobs_are_told_as_one(engine: Engine) -> None:
    add(engine, kind="git", max_jobs=2)
    moves = [GitMove(GitEvent.COMMIT, str(number), str(number + 1), "main") for number in range(3)]
    assert write(engine, plan_moves, "w1", 1, None, "there", moves, NOW) == Planned(3, 1)
    payload = json.loads(jobs(engine)[0]["payload"])
    assert (payload["old_head"], payload["head"], payload["bulk"], payload["moves"]) == ("0", "3", True, 3)


def fill(engine: Engine, queue: str, most: int, waiting: int) -> None:
    write(engine, set_queue, queue, QueueChanges(max_length=most))
    write(engine, enqueue, [NewJob(id=f"j{number}", task="other", queue=queue) for number in range(waiting)], NOW)


def test_of_a_burst_as_much_becomes_jobs_as_its_queue_has_room_for(engine: Engine) -> None:
    add(engine, queue="small")
    fill(engine, "small", most=3, waiting=1)
    done = planned(engine, *((name, "1") for name in "abcde"))
    assert (done.changes, done.jobs, done.held) == (2, 2, ("c", "d", "e"))
    # Nothing is remembered of the others, so the next look finds them.
    assert [known.path for known in engine.query(files_behind, "w1", "", 10)] == ["a", "b"]
    assert planned(engine, ("c", "1")) == Planned(held=("c",))
    # One that takes the place of another needs no room.
    assert planned(engine, ("a", "2")).jobs == 1


def test_a_job_for_many_changes_waits_for_room_and_nothing_is_lost(engine: Engine) -> None:
    add(engine, queue="small")
    fill(engine, "small", most=1, waiting=1)
    write(engine, take_in, "w1", 1, [SeenFile("a", "1"), SeenFile("b", "1")], NOW)
    assert write(engine, tell, "w1", NOW).held
    write(engine, set_queue, "small", QueueChanges(max_length=2))
    assert write(engine, tell, "w1", NOW) == Planned(0, 1)
    assert [file.relative for file in engine.query(changed_files, jobs(engine)[-1]["id"])] == ["a", "b"]


def test_moves_of_which_only_some_find_room_are_told_in_one_job(engine: Engine) -> None:
    add(engine, kind="git", queue="small", subject="ci::{head}")
    fill(engine, "small", most=2, waiting=1)
    moves = [GitMove(GitEvent.COMMIT, str(number), str(number + 1), "main") for number in range(3)]
    assert write(engine, plan_moves, "w1", 1, None, "new", moves, NOW).jobs == 1
    assert json.loads(jobs(engine)[-1]["payload"])["moves"] == 3
    assert write(engine, plan_moves, "w1", 1, "new", "newer", moves[:1], NOW).held == ("1",)
    assert engine.query(where_it_stood, "w1") == "new"


def test_the_jobs_of_a_watch_have_its_tokens_retries_and_timeout(engine: Engine) -> None:
    stored = add(engine, tokens=Tokens(cpu=2), policy=RetryPolicy(retries=4), timeout_ms=5_000, settle_ms=7)
    assert (stored.tokens, stored.timeout_ms, stored.settle_ms) == (Tokens(cpu=2), 5_000, 7)
    assert stored.policy == RetryPolicy(retries=4)
    planned(engine, ("a", "1"))
    [job] = jobs(engine)
    assert (job["cpu"], job["max_retries"], job["timeout_ms"]) == (2, 4, 5_000)
