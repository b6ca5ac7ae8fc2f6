"""Finish: a run is settled once, by its holder, together with its job."""

from __future__ import annotations

import json

import pytest

from holdfast.core.job import Cancelled as CancelledState
from holdfast.core.job import Done, Failed, Queued, Scheduled, SkippedDeadline, State, StateName, Superseded
from holdfast.core.jobs.requests import Report
from holdfast.core.jobs.run import RunStatus
from holdfast.core.jobs.settle import (
    Broke,
    Completed,
    Outcome,
    Outdated,
    Overdue,
    Skipped,
    Snoozed,
    StoppedByCancel,
    Yielded,
)
from holdfast.core.values.retry import Failure, FailureKind, RetryMode, RetryPolicy
from holdfast.store.engine import Engine
from holdfast.store.scripts.runs.finish import finish
from tests.store.acts import (
    DONE,
    FAILED,
    FAILED_FOR_GOOD,
    NOW,
    claim_one,
    claim_some,
    dump,
    end,
    job,
    new_job,
    put,
    put_and_end,
    put_one,
    report,
    row,
    runs,
    state,
    write,
)

FAILED_SUMMARY = (
    '{"status":"failed","error_kind":"permanent","code":"ERR_TEST","message":"it never works",'
    '"duration_ms":5,"attempt":1}'
)

OUTCOMES: list[tuple[Outcome, RunStatus, State]] = [
    (Completed('{"n":1}'), RunStatus.COMPLETED, Done(NOW + 5, '{"n":1}')),
    (Skipped("nothing to do"), RunStatus.SKIPPED, Done(NOW + 5, None, "skipped: nothing to do")),
    (Snoozed(1000), RunStatus.YIELDED, Scheduled(NOW + 1005, "snoozed")),
    (Yielded("make room"), RunStatus.YIELDED, Queued(NOW + 5)),
    (FAILED_FOR_GOOD, RunStatus.FAILED, Failed(NOW + 5, "ERR_TEST", "it never works", FAILED_SUMMARY)),
    (StoppedByCancel(), RunStatus.CANCELLED, CancelledState(NOW + 5, "cancelled while running")),
    (Outdated(), RunStatus.CANCELLED, Superseded(NOW + 5, "a newer generation came while it ran")),
    (Overdue(), RunStatus.FAILED, SkippedDeadline(NOW + 5, "stopped at its deadline")),
]


@pytest.mark.parametrize(("outcome", "status", "after"), OUTCOMES, ids=lambda value: type(value).__name__)
def test_run_and_job_are_settled_together(engine: Engine, outcome: Outcome, status: RunStatus, after: State) -> None:
    put_one(engine, "a")
    settled = end(engine, claim_one(engine), outcome, NOW + 5)
    assert (settled.state, settled.refused) == (after.name, None)
    assert job(engine, "a").state == after
    [run] = runs(engine, "a")
    assert (run.status, run.finished_at, run.duration_ms) == (status, NOW + 5, 5)


@pytest.mark.parametrize(("outcome", "status", "after"), OUTCOMES, ids=lambda value: type(value).__name__)
def test_the_same_result_again_succeeds_and_changes_nothing(
    engine: Engine, outcome: Outcome, status: RunStatus, after: State
) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    first = end(engine, run, outcome, NOW + 5)
    before = dump(engine)
    assert end(engine, run, outcome, NOW + 99) == first
    assert dump(engine) == before


LATE: list[tuple[Outcome, Outcome]] = [
    (Completed("1"), Completed("2")),
    (Completed("1"), StoppedByCancel()),
    (Completed("1"), FAILED),
    (Skipped("no"), Completed("1")),
    (FAILED_FOR_GOOD, Completed("1")),
    (FAILED_FOR_GOOD, FAILED),
    (StoppedByCancel(), Completed("1")),
    (Yielded("room"), Completed("1")),
    (Yielded("room"), FAILED),
    (Overdue(), FAILED),
]


@pytest.mark.parametrize(("first", "late"), LATE, ids=lambda value: type(value).__name__)
def test_any_other_result_comes_too_late(engine: Engine, first: Outcome, late: Outcome) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    settled = end(engine, run, first)
    before = dump(engine)
    refused = end(engine, run, late, NOW + 1)
    assert refused.state is settled.state
    assert refused.refused is not None
    assert "too late" in refused.refused
    assert dump(engine) == before


def test_a_late_result_leaves_the_next_run_alone(engine: Engine) -> None:
    put_one(engine, "a")
    old = claim_one(engine)
    end(engine, old, Yielded("room"))
    new = claim_one(engine)
    assert end(engine, old, DONE).refused is not None
    assert state(engine, "a") is StateName.RUNNING
    assert end(engine, new, DONE).refused is None


def test_a_late_result_beside_the_true_one_is_still_refused(engine: Engine) -> None:
    put_one(engine, "a")
    old = claim_one(engine)
    end(engine, old, Yielded("room"))
    new = claim_one(engine)
    late, true = write(engine, finish, [report(old, DONE), report(new, DONE)], NOW)
    assert late.refused is not None
    assert true.refused is None


def test_a_report_sent_twice_in_one_call_is_accepted_twice(engine: Engine) -> None:
    put_one(engine, "a")
    put_one(engine, "b")
    one, two = claim_some(engine)
    reports = [report(one, DONE), report(one, DONE), report(two, FAILED), report(two, FAILED)]
    answers = write(engine, finish, reports, NOW)
    assert [answer.refused for answer in answers] == [None] * 4
    assert len(runs(engine, "b")) == 1


def test_a_result_for_an_unknown_run_is_refused(engine: Engine) -> None:
    [settled] = write(engine, finish, [Report("nowhere", "nobody", DONE, 1)], NOW)
    assert (settled.state, settled.job_id) == (None, None)
    assert settled.refused == "there is no run nowhere"


def test_a_result_with_the_wrong_job_changes_only_the_job_of_its_run(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"))
    one, _two = claim_some(engine)
    [settled] = write(engine, finish, [Report(one.run_id, "b", DONE, 1)], NOW)
    assert settled.job_id == "a"
    assert (state(engine, "a"), state(engine, "b")) == (StateName.DONE, StateName.RUNNING)


def test_many_results_are_answered_in_their_order(engine: Engine) -> None:
    put(engine, *(new_job(name) for name in "abcd"))
    a, b, c, d = claim_some(engine)
    reports = [report(d, FAILED), report(a, DONE), report(c, Yielded("room")), report(b, DONE)]
    answers = write(engine, finish, reports, NOW)
    assert [(answer.job_id, answer.state) for answer in answers] == [
        ("d", StateName.FAILED),
        ("a", StateName.DONE),
        ("c", StateName.QUEUED),
        ("b", StateName.DONE),
    ]


def test_the_run_keeps_why_it_failed(engine: Engine) -> None:
    put_one(engine, "a")
    run = claim_one(engine)
    failure = Broke(Failure(FailureKind.PERMANENT, "ERR_DATA", "bad line 7"))
    write(engine, finish, [Report(run.run_id, "a", failure, 12, 65, "Traceback …")], NOW)
    [stored] = runs(engine, "a")
    assert (stored.error_kind, stored.error_code, stored.error) == ("permanent", "ERR_DATA", "bad line 7")
    assert (stored.exit_code, stored.duration_ms, stored.traceback) == (65, 12, "Traceback …")


def test_a_failed_job_tells_clients_code_message_and_attempt(engine: Engine) -> None:
    put_and_end(engine, "a", FAILED)
    summary = json.loads(row(engine, "a").result_summary or "")
    assert summary == {
        "status": "failed",
        "error_kind": "transient",
        "code": "ERR_TEST",
        "message": "it broke",
        "duration_ms": 5,
        "attempt": 1,
    }


def test_a_finished_job_belongs_to_nobody(engine: Engine) -> None:
    put_and_end(engine, "a", DONE)
    stored = row(engine, "a")
    assert (stored.run_id, stored.session_id, stored.worker_id, stored.finished_at) == (None, None, None, NOW)


def test_a_run_that_completes_is_done_whatever_was_requested_meanwhile(engine: Engine) -> None:
    put_one(engine, "a", subject="s", deadline=NOW + 10)
    run = claim_one(engine)
    put_one(engine, "b", subject="s", stop_older=True)
    assert end(engine, run, DONE, NOW + 20).state is StateName.DONE


def test_a_yielded_job_keeps_its_place(engine: Engine) -> None:
    put(engine, new_job("a"), new_job("b"))
    end(engine, claim_one(engine), Yielded("room"))
    assert claim_one(engine).job_id == "a"


@pytest.mark.parametrize("mode", list(RetryMode))
def test_no_settlement_but_a_failure_uses_up_a_try(engine: Engine, mode: RetryMode) -> None:
    put_one(engine, "a", policy=RetryPolicy(retries=3, mode=mode))
    for outcome in (Yielded("room"), Yielded("again")):
        end(engine, claim_one(engine), outcome)
    stored = row(engine, "a")
    assert (stored.attempts, stored.transient_tries, stored.infra_tries) == (2, 0, 0)
