"""The whole database at a glance, who works, and the lists of groups, runs and reservations."""

from __future__ import annotations

import pytest

from holdfast.core.errors import NotFound
from holdfast.core.job import StateName
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.messages.sessions import Offer
from holdfast.core.messages.stats import QueueStats
from holdfast.core.rules.tokens import Tokens
from holdfast.core.values.group import GroupMode
from holdfast.store.engine import Engine
from holdfast.store.scripts.groups.groups import list_groups
from holdfast.store.scripts.maintenance.stats import stats
from holdfast.store.scripts.queues.queues import pause, set_limit
from holdfast.store.scripts.queues.reserve import list_reservations, release, reserve
from holdfast.store.scripts.reading.read_jobs import find_run
from holdfast.store.scripts.sessions.sessions import close_session
from holdfast.store.scripts.sessions.workers import list_workers
from tests.store.acts import NOW, claim_one, end, group, open_session, put_and_end, put_one, runs, write

OFFER = Offer("w2", "box", ("t", "u"), ("default", "mail"), 7)


def test_an_empty_database_has_nothing_to_show(engine: Engine) -> None:
    seen = engine.query(stats, NOW)
    assert (seen.queues, seen.jobs, seen.ready_since, seen.ended_per_second) == ([], {}, None, 0)
    assert (seen.sessions, seen.workers, seen.slots, seen.running) == (1, 0, 0, 0)


def test_jobs_are_counted_by_queue_and_state(engine: Engine) -> None:
    put_and_end(engine, "done")
    put_one(engine, "running", queue="mail")
    claim_one(engine, queues=("mail",))
    put_one(engine, "later", delay_ms=1_000)
    write(engine, pause, "mail", "spring cleaning", NOW + 1)
    write(engine, set_limit, "empty", 3)
    seen = engine.query(stats, NOW)
    assert seen.queues == [
        QueueStats(name="default", jobs={StateName.DONE: 1, StateName.SCHEDULED: 1}),
        QueueStats(name="empty", jobs={}, concurrency=3),
        QueueStats(name="mail", jobs={StateName.RUNNING: 1}, paused_at=NOW + 1, pause_reason="spring cleaning"),
    ]
    assert seen.jobs == {StateName.DONE: 1, StateName.SCHEDULED: 1, StateName.RUNNING: 1}
    assert seen.running == 1


def test_the_job_that_is_next_shows_how_long_a_queue_waits(engine: Engine) -> None:
    put_one(engine, "low", priority=-1, now=NOW + 1)
    put_one(engine, "high", priority=9, now=NOW + 5)
    put_one(engine, "second", priority=9, now=NOW + 6)
    put_one(engine, "other", queue="mail", now=NOW + 3)
    seen = engine.query(stats, NOW + 10)
    assert {queue.name: queue.ready_since for queue in seen.queues} == {"default": NOW + 1, "mail": NOW + 3}
    assert seen.ready_since == NOW + 1


def test_a_job_that_waits_for_tokens_is_ready_and_one_that_waits_for_the_machine_is_not(engine: Engine) -> None:
    put_one(engine, "plain", now=NOW + 5)
    put_one(engine, "big", tokens=Tokens(cpu=9, io=1), now=NOW + 3)
    put_one(engine, "at night", tokens=Tokens(cpu=1), wait_for_idle=True, now=NOW + 1)
    assert engine.query(stats, NOW + 10).ready_since == NOW + 3


def test_the_rate_is_that_of_the_last_ten_seconds(engine: Engine) -> None:
    put_and_end(engine, "old", now=NOW)
    for number in range(4):
        put_and_end(engine, f"j{number}", now=NOW + 10_000)
    assert engine.query(stats, NOW + 10_000).ended_per_second == 0.4


def test_a_worker_shows_what_it_offers_and_what_it_runs(engine: Engine) -> None:
    open_session(engine, "s2", NOW + 1, offer=OFFER)
    put_one(engine, "j")
    claim_one(engine, session="s2")
    [worker] = engine.query(list_workers)
    assert (worker.id, worker.name, worker.tasks, worker.queues) == ("w2", "box", ["t", "u"], ["default", "mail"])
    assert (worker.slots, worker.running, worker.session_id, worker.node, worker.pid) == (7, 1, "s2", "node", 4711)
    assert (worker.connected_at, worker.last_heartbeat_at, worker.stop_requested_at) == (NOW + 1, NOW + 1, None)
    assert engine.query(stats, NOW).slots == 7


def test_a_worker_whose_session_has_ended_is_gone(engine: Engine) -> None:
    open_session(engine, "s2", offer=OFFER)
    write(engine, close_session, "s2", "success", NOW)
    assert engine.query(list_workers) == []


def test_groups_are_listed_newest_first_page_by_page(engine: Engine) -> None:
    for number in range(5):
        group(engine, f"g{number}", GroupMode.PARALLEL)
    found: list[str] = []
    page = engine.query(list_groups, 2)
    while True:
        found += [item.id for item in page.groups]
        if page.cursor is None:
            break
        page = engine.query(list_groups, 2, page.cursor)
    assert found == ["g4", "g3", "g2", "g1", "g0"]


def test_a_full_last_page_has_no_cursor(engine: Engine) -> None:
    for number in range(2):
        group(engine, f"g{number}", GroupMode.PARALLEL)
    assert engine.query(list_groups, 2).cursor is None


def test_a_run_is_found_by_its_id(engine: Engine) -> None:
    put_one(engine, "j")
    run = claim_one(engine)
    end(engine, run)
    assert engine.query(find_run, run.run_id) == runs(engine, "j")[0]
    with pytest.raises(NotFound, match="there is no run 'nowhere'"):
        engine.query(find_run, "nowhere")


def test_reservations_are_listed_until_they_end(engine: Engine) -> None:
    for scope in ("a", "b"):
        write(engine, reserve, NewReservation(f"r-{scope}", scope, "ada", "s1", 1_000, 0), NOW)
    assert [held.scope for held in engine.query(list_reservations)] == ["a", "b"]
    write(engine, release, "r-a", NOW)
    assert [held.scope for held in engine.query(list_reservations)] == ["b"]


def test_only_a_session_that_lives_can_reserve(engine: Engine) -> None:
    with pytest.raises(NotFound, match="there is no session 'gone' that lives"):
        write(engine, reserve, NewReservation("r", "a", "ada", "gone", 1_000, 0), NOW)
