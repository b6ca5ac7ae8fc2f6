"""Who pays when a process dies with runs in it: nobody for what he did not do. Suspects run alone, so guilt shows."""

from __future__ import annotations

import pytest

from holdfast.core.job import JobId, StateName
from holdfast.core.jobs.recovery import CRASH_CODE
from holdfast.core.jobs.run import RunStatus
from holdfast.core.jobs.settle import POISON_CODE, Yielded
from holdfast.core.values.retry import RetryMode, RetryPolicy
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.claiming.choose import SUSPECT_PATIENCE_MS
from holdfast.store.scripts.queues import queues
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.sessions.recover import recover
from tests.store.acts import (
    NOW,
    QUEUE,
    SESSION,
    claim_one,
    claim_some,
    claimed_ids,
    dump,
    end,
    last,
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
    states,
    write,
)

LATER = NOW + 10_000_000


def charged(engine: Engine, job_id: JobId) -> tuple[int, int, int]:
    """Tries used up: transient, infra, and the deaths among them."""
    stored = row(engine, job_id)
    return stored.transient_tries, stored.infra_tries, stored.deaths


def is_suspect(engine: Engine, job_id: JobId) -> bool:
    return bool(select(engine, "SELECT is_suspect FROM jobs WHERE id = :id", id=job_id)[0]["is_suspect"])


def run_in_new_session(engine: Engine, name: str, now: int) -> None:
    """The next life of the process takes what is ready."""
    open_session(engine, name, now)
    let_time_pass(engine, now)
    assert claim_some(engine, session=name, now=now)


def test_a_death_alone_counts_against_the_job(engine: Engine) -> None:
    put_one(engine, "a")
    claim_one(engine)
    lose(engine)
    assert charged(engine, "a") == (0, 1, 1)
    assert is_suspect(engine, "a")


def test_a_death_in_company_counts_against_nobody(engine: Engine) -> None:
    put(engine, *(new_job(name) for name in "abc"))
    claim_some(engine)
    lose(engine)
    assert states(engine, "a", "b", "c") == [StateName.QUEUED] * 3
    assert [charged(engine, name) for name in "abc"] == [(0, 0, 0)] * 3
    assert all(is_suspect(engine, name) for name in "abc")
    assert [run.status for run in runs(engine, "a")] == [RunStatus.FAILED]


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_reboot_counts_against_nobody_and_makes_no_suspect(engine: Engine, jobs: int) -> None:
    put(engine, *(new_job(f"j{n}") for n in range(jobs)))
    claim_some(engine)
    lose(engine, rebooted=True)
    assert state(engine, "j0") is StateName.QUEUED
    assert charged(engine, "j0") == (0, 0, 0)
    assert not is_suspect(engine, "j0")


@pytest.mark.parametrize("rebooted", [False, True])
def test_an_orderly_stop_that_was_cut_short_yields_its_runs(engine: Engine, rebooted: bool) -> None:
    put_one(engine, "a")
    claim_one(engine)
    write(engine, sessions.note_stop_request, SESSION, NOW)
    lose(engine, rebooted=rebooted)
    assert state(engine, "a") is StateName.QUEUED
    assert [run.status for run in runs(engine, "a")] == [RunStatus.YIELDED]
    assert charged(engine, "a") == (0, 0, 0)
    assert not is_suspect(engine, "a")


@pytest.mark.parametrize("company", [0, 2])
@pytest.mark.parametrize("rebooted", [False, True])
def test_a_job_that_must_never_run_twice_ends_failed(engine: Engine, company: int, rebooted: bool) -> None:
    put(engine, new_job("a", policy=RetryPolicy(retries=5, infra=0)), *(new_job(f"b{n}") for n in range(company)))
    claim_some(engine)
    lose(engine, rebooted=rebooted)
    assert state(engine, "a") is StateName.FAILED
    assert row(engine, "a").error_code == CRASH_CODE


@pytest.mark.parametrize("mode", list(RetryMode))
def test_a_job_is_parked_after_three_deaths_alone(engine: Engine, mode: RetryMode) -> None:
    put_one(engine, "a", policy=RetryPolicy(mode=mode))
    claim_one(engine)
    lose(engine)
    for life, moment in ((2, LATER), (3, 2 * LATER)):
        assert last(engine, "a").state.name is StateName.SCHEDULED
        run_in_new_session(engine, f"life{life}", moment)
        lose(engine, f"life{life}", moment)
    pill = row(engine, last(engine, "a").id)
    assert (pill.state, pill.error_code, pill.deaths) == ("FAILED", POISON_CODE, 3)
    assert pill.reason is not None
    assert pill.reason.startswith("parked: its process died with it 3 times")
    assert len(runs(engine, "a")) == 3


def test_a_small_infra_budget_ends_the_job_before_it_is_parked(engine: Engine) -> None:
    put_one(engine, "a", policy=RetryPolicy(infra=1))
    claim_one(engine)
    lose(engine)
    run_in_new_session(engine, "life2", LATER)
    lose(engine, "life2", LATER)
    assert (state(engine, "a"), row(engine, "a").error_code) == (StateName.FAILED, CRASH_CODE)


def two_suspects(engine: Engine) -> None:
    """Jobs `a` and `b` died together."""
    put(engine, new_job("a"), new_job("b"))
    claim_some(engine)
    lose(engine)


def test_a_suspect_runs_alone_and_before_others(engine: Engine) -> None:
    two_suspects(engine)
    put(engine, new_job("innocent", priority=9))
    open_session(engine, "s2")
    [run] = claim_some(engine, session="s2")
    assert run.job_id == "a"


def test_nothing_starts_beside_a_suspect(engine: Engine) -> None:
    two_suspects(engine)
    put(engine, new_job("innocent"))
    open_session(engine, "s2")
    run = claim_one(engine, session="s2")
    assert claim_some(engine, session="s2") == []
    end(engine, run)
    assert claimed_ids(engine, session="s2") == ["b"]


def test_a_suspect_holds_no_other_session_back(engine: Engine) -> None:
    two_suspects(engine)
    put(engine, new_job("innocent"))
    shares = [claimed_ids(engine, session=open_session(engine, name)) for name in ("s2", "s3", "s4")]
    assert shares == [["a"], ["b"], ["innocent"]]


def test_a_busy_session_lets_others_pass_for_a_while_and_then_runs_empty_for_the_suspect(engine: Engine) -> None:
    put_one(engine, "j0")
    open_session(engine, "s2")
    busy = claim_one(engine, session="s2")
    two_suspects(engine)
    put(engine, new_job("j1"), new_job("j2"))
    assert claimed_ids(engine, 1, session="s2", now=NOW + SUSPECT_PATIENCE_MS) == ["j1"]
    assert claim_some(engine, session="s2", now=NOW + SUSPECT_PATIENCE_MS + 1) == []
    end(engine, busy)
    assert claim_some(engine, session="s2", now=NOW + SUSPECT_PATIENCE_MS + 1) == []


def test_a_suspect_that_lived_through_its_run_is_none_any_more(engine: Engine) -> None:
    two_suspects(engine)
    open_session(engine, "s2")
    end(engine, claim_one(engine, session="s2"), Yielded("room"))
    assert (is_suspect(engine, "a"), is_suspect(engine, "b")) == (False, True)


def test_a_suspect_that_this_worker_cannot_run_holds_nobody_back(engine: Engine) -> None:
    put(engine, new_job("a", task="other"), new_job("b", queue="elsewhere"))
    claim_some(engine, tasks=("other", "t"), queues=("default", "elsewhere"))
    lose(engine)
    put(engine, new_job("c"), new_job("d"))
    assert claimed_ids(engine, session=open_session(engine, "s2")) == ["c", "d"]


# Recovery is done in batches, and may be interrupted between them.


def test_a_recovery_in_batches_judges_the_same(engine: Engine) -> None:
    put(engine, *(new_job(f"j{n}") for n in range(5)))
    claim_some(engine)
    answers = [write(engine, recover, SESSION, False, NOW, limit=2) for _ in range(3)]
    assert [(answer.settled, answer.more) for answer in answers] == [(2, True), (2, True), (1, False)]
    assert [charged(engine, f"j{n}") for n in range(5)] == [(0, 0, 0)] * 5
    assert all(run.error == "its process died with 5 runs in it" for n in range(5) for run in runs(engine, f"j{n}"))


def test_the_last_batch_ends_the_session_and_not_before(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"))
    claim_some(engine)
    assert write(engine, recover, SESSION, False, NOW, limit=2).more
    assert select(engine, "SELECT status FROM sessions") == [{"status": "running"}]
    assert not write(engine, recover, SESSION, False, NOW, limit=2).more
    assert select(engine, "SELECT status FROM sessions") == [{"status": "unknown"}]


def test_a_recovery_that_is_undone_leaves_no_trace(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"))
    claim_some(engine)
    before = dump(engine)

    def recover_and_die(tx: Tx) -> None:
        recover(tx, SESSION, False, NOW)
        raise KeyError("killed")

    with pytest.raises(KeyError):
        write(engine, recover_and_die)
    assert dump(engine) == before


def test_suspects_of_a_paused_queue_do_not_hide_those_of_another(engine: Engine) -> None:
    put(engine, *[new_job(f"paused{number:03}", queue="paused") for number in range(100)], new_job("open"))
    claim_some(engine, 101, queues=("paused", QUEUE))
    lose(engine)
    write(engine, queues.pause, "paused", None, NOW)
    open_session(engine, "s2")
    assert claimed_ids(engine, session="s2", queues=("paused", QUEUE)) == ["open"]
