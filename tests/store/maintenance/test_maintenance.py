"""Chores are jobs: planned by what is stored, done one at a time, and everybody can see them."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis, StateName
from holdfast.core.jobs.requests import Claimed
from holdfast.core.machine import maintenance
from holdfast.core.machine.maintenance import (
    DAY_MS,
    HOUR_MS,
    KEEP_MS,
    MAINTENANCE,
    RULES,
    Chore,
    KeepTimes,
    chore_of,
    chores_of,
    task_of,
)
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.maintenance.maintenance import (
    asked_of_chore,
    claim_chore,
    list_chores,
    loosen,
    maintain,
    outlook,
    own_tasks,
    plan_chores,
    settle_chore,
    tight_lines,
)
from holdfast.store.scripts.queues.queues import pause, resume
from holdfast.store.scripts.runs.exchange import give_back
from holdfast.store.statements import Dialect
from tests.store.acts import (
    FAILED,
    FAILED_FOR_GOOD,
    NOW,
    claimed_ids,
    end,
    execute,
    job,
    let_time_pass,
    lose,
    open_session,
    put_and_end,
    put_one,
    report,
    select,
    state,
    write,
)

KEEP: Millis = 1_000
HERE = "node-1a2b3c"


def tasks(engine: Engine) -> tuple[str, ...]:
    return own_tasks(engine.dialect, HERE)


def plan(engine: Engine, now: Millis = NOW) -> set[Chore | None]:
    return {chore_of(task) for task in write(engine, plan_chores, tasks(engine), KeepTimes(KEEP), now)}


def start(engine: Engine, chore: str, now: Millis = NOW) -> str:
    [answer] = write(engine, maintain, chore, now)
    assert answer.id is not None
    return answer.id


def take(engine: Engine, session: str = "s1", now: Millis = NOW) -> Claimed | None:
    return write(engine, claim_chore, session, tasks(engine), now)


def taken(engine: Engine, **options: Any) -> Claimed:
    run = take(engine, **options)
    assert run is not None
    return run


def test_a_new_database_has_nothing_to_be_done(engine: Engine) -> None:
    assert plan(engine) == set()
    assert engine.query(outlook, tasks(engine), NOW).due_at == NOW + HOUR_MS


def test_what_is_not_known_yet_is_planned_at_once(engine: Engine) -> None:
    assert engine.query(outlook, tasks(engine), NOW).due_at == NOW


def test_old_jobs_are_a_reason_for_retention(engine: Engine) -> None:
    put_and_end(engine, "old")
    assert plan(engine, NOW + KEEP + 1) == {Chore.RETENTION}


def always(engine: Engine, every: Millis) -> set[Chore | None]:
    """The chores that are done so often, whether they find something to do or not."""
    chores = chores_of(is_file=engine.dialect is Dialect.SQLITE)
    return {chore for chore in chores if RULES[chore].every_ms == every and not RULES[chore].asks_first}


def test_each_chore_becomes_a_job_when_it_is_due(engine: Engine) -> None:
    plan(engine)
    assert plan(engine, NOW + HOUR_MS - 1) == set()
    assert plan(engine, NOW + HOUR_MS) == always(engine, HOUR_MS)
    assert plan(engine, NOW + DAY_MS) == always(engine, DAY_MS)  # The hourly ones still wait.


def test_a_restart_and_a_second_process_repeat_nothing(engine: Engine) -> None:
    plan(engine)
    assert plan(engine, NOW + DAY_MS)
    assert plan(engine, NOW + DAY_MS) == set()


def test_a_clock_that_was_set_back_puts_off_no_chore_for_long(engine: Engine) -> None:
    plan(engine, NOW + 365 * DAY_MS)
    assert engine.query(outlook, tasks(engine), NOW).due_at == NOW
    plan(engine)
    assert engine.query(outlook, tasks(engine), NOW + 1).due_at == NOW + HOUR_MS


def test_files_of_another_place_are_another_chore(engine: Engine) -> None:
    plan(engine)
    other = own_tasks(engine.dialect, "other-1a2b3c")
    write(engine, plan_chores, other, KeepTimes(KEEP), NOW)
    [answer] = [found for found in write(engine, maintain, "files", NOW) if job(engine, found.id or "").task in other]
    assert take(engine) is not None  # Ours.
    assert state(engine, answer.id or "") is StateName.QUEUED


def test_a_chore_that_waits_already_is_the_answer(engine: Engine) -> None:
    first = start(engine, "retention")
    [again] = write(engine, maintain, "retention", NOW)
    assert (again.id, again.existing) == (first, True)


def test_one_chore_runs_at_a_time_whoever_does_it(engine: Engine) -> None:
    open_session(engine, "s2")
    first, second = start(engine, "retention"), start(engine, "events")
    assert taken(engine).job_id == first
    assert take(engine, session="s2") is None
    assert engine.query(why, second, NOW).closed
    lose(engine)
    assert taken(engine, session="s2", now=NOW).job_id == second


def test_a_chore_is_back_after_its_process_has_died(engine: Engine) -> None:
    chore = start(engine, "retention")
    taken(engine)
    lose(engine)
    assert state(engine, chore) in (StateName.SCHEDULED, StateName.QUEUED)


def test_a_chore_whose_claim_was_not_heard_of_does_not_keep_all_from_being_done(engine: Engine) -> None:
    chore = start(engine, "retention")
    unheard = taken(engine)
    again = taken(engine)
    assert (again.job_id, again.run_id != unheard.run_id) == (chore, True)
    assert engine.query(asked_of_chore, unheard.run_id, NOW) == "gone"


def test_a_worker_that_lost_an_answer_leaves_the_chores_of_its_process_alone(engine: Engine) -> None:
    chore = start(engine, "retention")
    taken(engine)
    assert write(engine, give_back, "s1", (), NOW) == []
    assert state(engine, chore) is StateName.RUNNING


def test_a_paused_queue_starts_no_chore(engine: Engine) -> None:
    start(engine, "retention")
    write(engine, pause, MAINTENANCE, None, NOW)
    assert take(engine) is None
    write(engine, resume, MAINTENANCE, NOW)
    assert take(engine) is not None


def test_a_chore_under_way_hears_what_is_asked_of_it(engine: Engine) -> None:
    start(engine, "retention")
    run = taken(engine)
    assert engine.query(asked_of_chore, run.run_id, NOW) is None
    write(engine, pause, MAINTENANCE, None, NOW)
    assert engine.query(asked_of_chore, run.run_id, NOW) == "yield"
    write(engine, cancel_job, run.job_id, NOW)
    assert engine.query(asked_of_chore, run.run_id, NOW) == "cancel"
    end(engine, run)
    assert engine.query(asked_of_chore, run.run_id, NOW) == "gone"


def test_why_knows_who_does_the_chores(engine: Engine) -> None:
    chore = start(engine, "retention")
    assert engine.query(why, chore, NOW).closed == []
    lose(engine)
    assert [gate.gate for gate in engine.query(why, chore, NOW).closed] == ["worker"]


def test_a_vacuum_that_is_due_waits_for_a_quiet_hour(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine.dialect is Dialect.POSTGRES:
        pytest.skip("a server looks after its files itself")
    monkeypatch.setattr(maintenance, "WORTH_BYTES", -1)
    monkeypatch.setattr(maintenance, "WORTH_SHARE", -1)
    assert plan(engine) == {Chore.VACUUM}
    assert take(engine) is None
    [planned] = [view.last for view in engine.query(list_chores) if view.chore is Chore.VACUUM]
    assert planned is not None
    assert (planned.wait_for_idle, planned.require_charging) == (True, True)
    by_hand = start(engine, "vacuum")
    assert start(engine, "vacuum") == by_hand
    assert taken(engine).job_id == by_hand


def test_a_server_is_asked_for_nothing_that_it_does_itself(engine: Engine) -> None:
    if engine.dialect is Dialect.SQLITE:
        pytest.skip("a file is looked after by us")
    with pytest.raises(InvalidInput, match="PostgreSQL looks after its files itself"):
        write(engine, maintain, "vacuum", NOW)


def test_an_unknown_chore_is_refused(engine: Engine) -> None:
    with pytest.raises(InvalidInput, match="chore 'laundry' is not valid: use one of 'retention'"):
        write(engine, maintain, "laundry", NOW)
    assert select(engine, "SELECT 1 FROM jobs") == []


def test_all_means_every_chore_but_the_vacuum(engine: Engine) -> None:
    plan(engine)
    found = {chore_of(job(engine, answer.id or "").task) for answer in write(engine, maintain, "all", NOW)}
    assert found == {chore_of(task) for task in tasks(engine)} - {Chore.VACUUM}


def test_a_chore_that_failed_is_an_alert(engine: Engine) -> None:
    put_one(engine, "told", wait_for_event="alert.maintenance")
    chore = start(engine, "retention")
    run = taken(engine)
    write(engine, settle_chore, report(run, FAILED), run.task, NOW)
    assert state(engine, chore) is StateName.SCHEDULED
    assert select(engine, "SELECT 1 FROM events") == []
    let_time_pass(engine, NOW + 10_000)
    run = taken(engine)
    write(engine, settle_chore, report(run, FAILED), run.task, NOW)
    assert state(engine, chore) is StateName.FAILED
    [event] = select(engine, "SELECT attributes FROM events WHERE name = 'alert.maintenance'")
    assert '"task":"holdfast.retention"' in event["attributes"]


def test_a_repeated_report_of_a_chore_that_failed_is_no_other_alert(engine: Engine) -> None:
    start(engine, "retention")
    run = taken(engine)
    for _ in range(2):
        settled = write(engine, settle_chore, report(run, FAILED_FOR_GOOD), run.task, NOW)
        assert (settled.state, settled.refused) == (StateName.FAILED, None)
    assert len(select(engine, "SELECT 1 FROM events WHERE name = 'alert.maintenance'")) == 1


def test_the_list_shows_when_a_chore_is_due_and_what_it_did(engine: Engine) -> None:
    plan(engine)
    start(engine, "retention")
    end(engine, taken(engine))
    [view] = [view for view in engine.query(list_chores) if view.chore is Chore.RETENTION]
    assert view.due_at == NOW + HOUR_MS
    assert view.last is not None
    assert view.last.state.name is StateName.DONE


def test_chores_that_are_done_are_kept_for_two_days(engine: Engine) -> None:
    plan(engine)
    done = start(engine, "analyze")
    end(engine, taken(engine))
    plan(engine, NOW + DAY_MS)
    assert state(engine, done) is StateName.DONE
    plan(engine, NOW + KEEP_MS + DAY_MS)
    assert select(engine, "SELECT 1 FROM jobs WHERE id = :id", id=done) == []


def test_places_that_nobody_looks_after_are_forgotten(engine: Engine) -> None:
    write(engine, plan_chores, own_tasks(engine.dialect, "gone-1a2b3c"), KeepTimes(KEEP), NOW)
    plan(engine, NOW + 60 * DAY_MS)
    known = {row["task"] for row in select(engine, "SELECT task FROM maintenance")}
    assert task_of(Chore.FILES, "gone-1a2b3c") not in known
    assert task_of(Chore.FILES, HERE) in known


def test_jobs_that_stand_too_close_get_room_and_keep_their_order(engine: Engine) -> None:
    for name in "abc":
        put_one(engine, name)
    execute(engine, "UPDATE jobs SET position = 100 + number - (SELECT min(number) FROM jobs)")
    [line] = engine.query(tight_lines)
    assert write(engine, loosen, line) == 3
    assert engine.query(tight_lines) == []
    assert claimed_ids(engine) == ["a", "b", "c"]


def test_places_that_have_come_very_far_begin_anew(engine: Engine) -> None:
    put_one(engine, "a")
    execute(engine, "UPDATE jobs SET position = :far", far=2**60)
    [line] = engine.query(tight_lines)
    write(engine, loosen, line)
    assert engine.query(tight_lines) == []


def test_a_line_with_room_is_left_alone(engine: Engine) -> None:
    put_one(engine, "a")
    put_one(engine, "b")
    assert engine.query(tight_lines) == []
