"""What the ticks of schedules do: each makes one job, or is counted with the reason."""

from __future__ import annotations

import json

import pytest

from holdfast.core.job import StateName
from holdfast.core.jobs.settle import Outcome, Outdated, Yielded
from holdfast.core.messages.schedules import Skips
from holdfast.core.schedules.schedule import MOST_AT_ONCE, Misfire, Overlap, jitter
from holdfast.core.tasks.task import ScheduleOptions, TemplateOptions
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.maintenance.retention import forget_old
from holdfast.store.scripts.schedules.firing import BATCH, Fired, next_fire, run_schedule_now
from holdfast.store.scripts.schedules.schedules import pause_schedule, resume_schedule
from holdfast.store.statements import sql
from tests.store.acts import (
    FAILED,
    NOW,
    claim_one,
    claim_some,
    end,
    execute,
    let_time_pass,
    reason,
    select,
    state,
    write,
)
from tests.store.schedule_acts import FIRST, MINUTE, YEAR, find, fire, hear, heard, jobs, put, skips, template, ticks


def test_a_tick_makes_one_job_of_the_template_with_the_overrides_laid_over(engine: Engine) -> None:
    template(engine, queue="low", payload='{"a":1,"b":{"c":1}}', options=TemplateOptions(priority=5, tag="x"))
    put(engine, payload='{"b":2}', options=ScheduleOptions(queue="high", tag="y"), jitter_ms=10_000)
    assert fire(engine, FIRST - 1).jobs == 0
    assert engine.query(next_fire, NOW) == FIRST
    assert fire(engine, FIRST) == Fired(1, 0, (), more=False)
    assert fire(engine, FIRST).jobs == 0
    [made] = jobs(engine)
    assert (made["queue"], made["priority"], made["user_tag"], made["template_id"]) == ("high", 5, "y", "t-clean")
    assert json.loads(made["payload"]) == {"a": 1, "b": 2}
    assert (made["fire_time"], made["scheduled_at"]) == (FIRST, FIRST + jitter("s-nightly", FIRST, 10_000))
    assert json.loads(made["trigger"]) == {
        "kind": "schedule",
        "schedule_id": "s-nightly",
        "schedule": "nightly",
        "fire_time": FIRST,
    }
    shown = find(engine)
    assert (shown.fires, shown.last_triggered_at, shown.next_fire) == (1, FIRST, FIRST + MINUTE)


def test_the_delay_of_a_template_counts_from_the_tick(engine: Engine) -> None:
    template(engine, options=TemplateOptions(delay_ms=7_000))
    put(engine)
    fire(engine, FIRST + 2_000)
    assert [row["scheduled_at"] for row in jobs(engine)] == [FIRST + 7_000]


@pytest.mark.parametrize(
    ("misfire", "fired", "skipped"),
    [
        (Misfire.SKIP, [], {"missed": 4}),
        (Misfire.LATEST, [3], {"missed": 3}),
        (Misfire.ALL, [0, 1, 2, 3], {}),
    ],
)
def test_ticks_that_nobody_was_there_for_are_treated_as_the_schedule_says(
    engine: Engine, misfire: Misfire, fired: list[int], skipped: dict[str, int]
) -> None:
    put(engine, misfire=misfire, overlap=Overlap.ALLOW)
    fire(engine, FIRST + 3 * MINUTE + 5_001)
    assert (ticks(engine), skips(engine)) == (fired, skipped)
    assert find(engine).next_fire == FIRST + 4 * MINUTE


def test_a_job_of_a_missed_tick_is_enqueued_now_and_lives_from_now_on(engine: Engine) -> None:
    template(engine, options=TemplateOptions(ttl_ms=MINUTE))
    put(engine)
    fire(engine, FIRST + 10 * MINUTE + 5)
    [made] = jobs(engine)
    assert (made["fire_time"], made["queued_at"]) == (FIRST + 10 * MINUTE, FIRST + 10 * MINUTE + 5)
    assert let_time_pass(engine, FIRST + 11 * MINUTE).expired == 0


def test_after_a_year_the_newest_hundred_fire_and_all_others_are_counted(engine: Engine) -> None:
    put(engine, cron="* * * * * *", misfire=Misfire.ALL, overlap=Overlap.ALLOW)
    assert fire(engine, NOW + YEAR) == Fired(MOST_AT_ONCE, YEAR // 1_000 - MOST_AT_ONCE, (), more=False)
    assert [row["fire_time"] for row in jobs(engine)][-1] == NOW + YEAR
    assert find(engine).next_fire == NOW + YEAR + 1_000


def test_a_tick_is_skipped_while_an_earlier_job_runs_or_is_tried_again(engine: Engine) -> None:
    template(engine, options=TemplateOptions(policy=RetryPolicy(retries=1, mode=RetryMode.CHAIN)))
    put(engine)
    fire(engine, FIRST)
    run = claim_one(engine, now=FIRST)
    fire(engine, FIRST + MINUTE)
    end(engine, run, FAILED, FIRST + MINUTE)
    # The first link has failed; the last one is yet to run.
    fire(engine, FIRST + 2 * MINUTE)
    assert (ticks(engine), skips(engine)) == ([0, 0], {"overlap": 2})
    write(engine, cancel_job, run.job_id, FIRST + 2 * MINUTE)
    fire(engine, FIRST + 3 * MINUTE)
    assert ticks(engine) == [0, 0, 3]


def test_a_tick_takes_the_place_of_earlier_jobs_where_it_may(engine: Engine) -> None:
    put(engine, overlap=Overlap.SUPERSEDE)
    fire(engine, FIRST)
    run = claim_one(engine, now=FIRST)
    fire(engine, FIRST + MINUTE)
    fire(engine, FIRST + 2 * MINUTE)
    first, second, third = [row["id"] for row in jobs(engine)]
    assert [state(engine, name) for name in (first, second, third)] == ["RUNNING", "SUPERSEDED", "SCHEDULED"]
    assert select(engine, "SELECT stop_reason FROM jobs WHERE state = 'RUNNING'") == [{"stop_reason": "superseded"}]
    end(engine, run, now=FIRST + 2 * MINUTE)
    assert state(engine, third) is StateName.QUEUED
    fire(engine, FIRST + 5 * MINUTE)
    assert state(engine, third) is StateName.SUPERSEDED


@pytest.mark.parametrize("outcome", [Outdated(), FAILED, Yielded("stop")])
def test_a_running_job_that_a_newer_tick_replaced_says_so(engine: Engine, outcome: Outcome) -> None:
    template(engine, options=TemplateOptions(policy=RetryPolicy(retries=3)))
    put(engine, overlap=Overlap.SUPERSEDE)
    fire(engine, FIRST)
    run = claim_one(engine, now=FIRST)
    fire(engine, FIRST + MINUTE)
    end(engine, run, outcome, FIRST + MINUTE)
    assert state(engine, run.job_id) is StateName.SUPERSEDED
    assert reason(engine, run.job_id) == "a newer tick of its schedule came"
    assert ticks(engine) == [0, 1]


def test_jobs_may_run_beside_each_other_where_that_is_allowed(engine: Engine) -> None:
    put(engine, overlap=Overlap.ALLOW)
    for minute in range(3):
        fire(engine, FIRST + minute * MINUTE)
    assert len(claim_some(engine, now=FIRST + 3 * MINUTE)) == 3


def test_nothing_fires_while_it_is_paused_and_nothing_is_missed(engine: Engine) -> None:
    put(engine, misfire=Misfire.ALL, overlap=Overlap.ALLOW)
    fire(engine, FIRST)
    paused = write(engine, pause_schedule, "nightly", FIRST + 1, "holidays")
    assert (paused.enabled, paused.disabled_reason, paused.next_fire) == (False, "holidays", None)
    assert write(engine, pause_schedule, "nightly", FIRST + 2) == paused
    assert fire(engine, FIRST + 3 * MINUTE).jobs == 0
    resumed = write(engine, resume_schedule, "nightly", FIRST + 3 * MINUTE + 1)
    assert (resumed.enabled, resumed.disabled_reason, resumed.next_fire) == (True, None, FIRST + 4 * MINUTE)
    fire(engine, FIRST + 4 * MINUTE)
    assert (ticks(engine), skips(engine)) == ([0, 4], {})


def test_a_clock_that_is_set_back_repeats_no_tick(engine: Engine) -> None:
    put(engine, misfire=Misfire.ALL, overlap=Overlap.ALLOW)
    fire(engine, FIRST + 2 * MINUTE)
    for now in (FIRST, FIRST + MINUTE, FIRST + 2 * MINUTE, FIRST + 3 * MINUTE):
        fire(engine, now)
    assert ticks(engine) == [0, 1, 2, 3]


def test_a_schedule_that_a_wrong_clock_brought_far_ahead_begins_anew_with_an_alert(engine: Engine) -> None:
    put(engine, cron="0 0 * * *", overlap=Overlap.ALLOW)
    hear(engine, "alert.schedule_clock")
    day = 86_400_000
    midnight = NOW // day * day + day
    fire(engine, midnight + 2 * day)
    assert find(engine).settled_until == midnight + 2 * day
    # The clock is right again.
    assert engine.query(next_fire, NOW) == 0
    [said] = fire(engine, NOW).troubles
    assert said.startswith("schedule 'nightly' was far ahead of the clock")
    assert [name for name, _ in heard(engine)] == ["alert.schedule_clock"]
    for days in range(4):
        fire(engine, midnight + days * day)
    assert [(row["fire_time"] - midnight) // day for row in jobs(engine)] == [2, 0, 1, 3]
    assert skips(engine)["fired before"] == 1


def test_a_clock_that_begins_in_1970_repeats_no_tick_whose_job_is_forgotten(engine: Engine) -> None:
    day = 86_400_000
    put(engine, cron="0 0 1 * *")
    first = find(engine).next_fire or 0
    fire(engine, first)
    end(engine, claim_one(engine, now=first), now=first)
    write(engine, forget_old, first + day)
    fire(engine, 5_000)
    fire(engine, first + 10 * day)
    assert (find(engine).fires, skips(engine)["fired before"]) == (1, 1)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE schedules SET timezone = 'Gone/Away' WHERE name = 'broken'", "no time zone 'Gone/Away'"),
        ("UPDATE schedules SET cron_expression = 'x' WHERE name = 'broken'", "has one field"),
        ("UPDATE schedules SET param_overrides = '[' WHERE name = 'broken'", "it could not fire"),
        ("UPDATE job_templates SET payload = '[1]' WHERE name = 'odd'", "it could not fire"),
        ("UPDATE job_templates SET options = '{\"priority\":\"x\"}' WHERE name = 'odd'", "it could not fire"),
        ("UPDATE job_templates SET archived_at = 1 WHERE name = 'odd'", "template 'odd' is archived"),
    ],
)
def test_one_broken_schedule_is_disabled_and_the_others_fire(engine: Engine, damage: str, said: str) -> None:
    template(engine)
    template(engine, "odd")
    put(engine, "broken", template="odd")
    put(engine)
    execute(engine, damage)
    fired = fire(engine, FIRST)
    assert (fired.jobs, len(fired.troubles)) == (1, 1)
    [shown] = select(engine, "SELECT enabled, disabled_reason FROM schedules WHERE name = 'broken'")
    assert shown["enabled"] == 0
    assert said in shown["disabled_reason"]
    assert ticks(engine) == [0]
    assert fire(engine, FIRST + MINUTE).troubles == ()


def test_few_schedules_at_a_time_are_fired_if_so_wished(engine: Engine) -> None:
    for number in range(3):
        put(engine, f"s{number}")
    assert [fire(engine, FIRST, limit=2) for _ in range(3)] == [
        Fired(2, 0, (), more=True),
        Fired(1, 0, (), more=False),
        Fired(0, 0, (), more=False),
    ]


def test_after_a_long_absence_of_many_schedules_no_transaction_is_long(engine: Engine) -> None:
    count = BATCH + 2
    for number in range(count):
        put(engine, f"s{number}", cron="* * * * * */30")
    fired = [fire(engine, NOW + YEAR) for _ in range(3)]
    assert [(item.jobs, item.more) for item in fired] == [(count - 2, True), (2, False), (0, False)]


def test_whoever_waits_hears_what_fired_and_what_did_not(engine: Engine) -> None:
    put(engine)
    hear(engine, "schedule.*")
    fire(engine, FIRST)
    fire(engine, FIRST + MINUTE)
    [made] = jobs(engine)
    about = {"schedule": "nightly", "schedule_id": "s-nightly"}
    assert heard(engine) == [
        ("schedule.fired", about | {"job_id": made["id"], "fire_time": str(FIRST)}),
        ("schedule.skipped", about | {"reason": "overlap", "ticks": "1", "last_fire_time": str(FIRST + MINUTE)}),
    ]


def test_a_skip_is_told_with_the_newest_tick(engine: Engine) -> None:
    put(engine)
    fire(engine, FIRST + 2 * MINUTE)
    assert find(engine).skips == [Skips("missed", 2, FIRST + MINUTE)]


def test_a_job_that_somebody_asked_for_counts_as_an_earlier_one(engine: Engine) -> None:
    put(engine)
    write(engine, run_schedule_now, "nightly", "j1", NOW)
    fire(engine, FIRST)
    assert (len(jobs(engine)), skips(engine)) == (1, {"overlap": 1})


def test_whoever_comes_second_settles_nothing(engine: Engine) -> None:
    put(engine)
    seen = find(engine).settled_until
    fire(engine, FIRST)
    late = {"id": "s-nightly", "settled_until": FIRST, "next_trigger_at": FIRST, "fires": 1, "now": FIRST}
    assert write(engine, lambda tx: tx.run(sql.settle_ticks, seen=seen, **late)) == 0
    write(engine, pause_schedule, "nightly", FIRST)
    assert write(engine, lambda tx: tx.run(sql.settle_ticks, seen=FIRST, **late)) == 0
    assert find(engine).fires == 1
