"""What becomes of the model's jobs when their runs end: the table of outcomes, and the one way back to waiting."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from holdfast.core.job import StateName as S
from holdfast.core.jobs.requests import Report
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
from holdfast.core.values.retry import FailureKind, RetryMode
from tests.model import breakers, news
from tests.model.model import Model
from tests.model.records import Job, Letter


def finish(model: Model, reports: Iterable[Report], now: int) -> list[tuple[S | None, bool]]:
    """For each report the state of its job, and whether it was refused."""
    asked = list(reports)
    if min(len({one.run_id for one in asked}), len({one.job_id for one in asked})) < len(asked):
        return [answer for report in asked for answer in finish(model, [report], now)]
    fresh = [report for report in asked if report.run_id in model.runs and model.runs[report.run_id].status is None]
    answers = [_finish(model, report, now) for report in asked]
    for report in fresh:
        breakers.note_end(model, model.jobs[model.runs[report.run_id].job], report.outcome, now)
    return answers


def _finish(model: Model, report: Report, now: int) -> tuple[S | None, bool]:
    run = model.runs.get(report.run_id)
    if run is None:
        return None, True
    job = model.jobs[run.job]
    if run.status is not None:
        return job.state, run.said != said(report.outcome)
    settle(model, job, report.outcome, now)
    return job.state, False


def settle(model: Model, job: Job, outcome: Outcome, now: int, suspect: bool = False) -> None:
    run = model.runs[job.run or ""]
    run.said = said(outcome)
    run.status = run.said[0]
    job.suspect = suspect
    run_id = job.run or ""
    _follow(model, job, outcome, now)
    news.tell_run(model, job, run_id, run.status, now)


def _follow(model: Model, job: Job, outcome: Outcome, now: int) -> None:
    match outcome:
        case Completed():
            model.end(job, S.DONE, "", now)
        case Skipped():
            model.end(job, S.DONE, "skipped", now)
        case StoppedByCancel():
            model.end(job, S.CANCELLED, "cancelled", now)
        case Outdated():
            model.end(job, S.SUPERSEDED, "a newer tick" if _is_replaced(model, job) else "newer generation", now)
        case Overdue():
            model.end(job, S.SKIPPED_DEADLINE, "deadline", now)
        case Snoozed(delay_ms=delay):
            _wait_again(model, job, now + delay, now)
        case Yielded() | Broke(charge=False):
            _wait_again(model, job, None, now)
        case Broke():
            _fail(model, job, outcome, now)


def _wait_again(model: Model, job: Job, due: int | None, now: int, chain: bool = False) -> None:
    if job.stop == "cancel":
        model.end(job, S.CANCELLED, "cancelled on request", now)
    elif _is_outdated(model, job):
        model.end(job, S.SUPERSEDED, "newer generation", now)
    elif _is_replaced(model, job):
        model.end(job, S.SUPERSEDED, "a newer tick", now)
    elif job.is_late(now):
        model.end(job, S.SKIPPED_DEADLINE, "deadline", now)
    elif chain:
        _continue(model, job, due, now)
    else:
        job.run = job.session = job.stop = None
        job.state, job.due = S.SCHEDULED, due
        if due is None:
            model.start_if_free(job, now)


def _is_outdated(model: Model, job: Job) -> bool:
    return job.subject is not None and (job.generation or 0) < model.newest[job.subject]


def _is_replaced(model: Model, job: Job) -> bool:
    """Whether a newer tick of its schedule asked it to stop."""
    return job.stop == "superseded" and not _is_outdated(model, job)


def _fail(model: Model, job: Job, broke: Broke, now: int) -> None:
    policy, kind = job.policy, broke.failure.kind
    job.transient += kind is FailureKind.TRANSIENT
    job.infra += kind is FailureKind.INFRA
    job.deaths += broke.death
    used, budget = (job.infra, policy.infra) if kind is FailureKind.INFRA else (job.transient, policy.retries)
    if kind is FailureKind.PERMANENT or used > budget:
        _fail_for_good(model, job, kind, broke.failure.message, now)
    elif kind is FailureKind.INFRA and job.deaths >= 3:
        _fail_for_good(model, job, kind, "parked", now)
    else:
        chain = policy.mode is RetryMode.CHAIN
        _wait_again(model, job, _retry_time(model, job, used, now, chain), now, chain)


def _fail_for_good(model: Model, job: Job, kind: FailureKind, why: str, now: int) -> None:
    """What is of the system's own leaves no letter."""
    if job.ask.queue != news.WEBHOOK_QUEUE:
        model.letters[job.id] = Letter(str(kind), now)
    model.end(job, S.FAILED, why, now)
    if why == "parked":
        news.tell_parked(model, job, now)


def _retry_time(model: Model, job: Job, used: int, now: int, chain: bool) -> int:
    """When the store will retry, if that is within a tenth of what the policy says; -1 if not."""
    policy = job.policy
    due = model.seen.times.get(model.seen.links.get(job.id, "?") if chain else job.id) or 0
    backoff = min(policy.initial_ms * policy.factor ** (used - 1), policy.cap_ms)
    least, most = backoff * 0.9 - 1, min(backoff * 1.1 + 1, policy.cap_ms)
    return due if now + least <= due <= now + most else -1


def _continue(model: Model, job: Job, due: int | None, now: int) -> None:
    """The next link of a chain; whoever waited for the old one waits for it."""
    link = replace(job, id=model.seen.links.get(job.id, "?"), created=now, retry_of=job.id, due=due, queued=None)
    link.waits, link.parents, link.run, link.session, link.stop, link.state = {}, {}, None, None, None, S.SCHEDULED
    link.is_retried, link.met, link.came, link.ask = False, 0, None, structs.replace(job.ask, wait_for_event=None)
    job.state, job.ended, job.run, job.session, job.stop = S.FAILED, now, None, None, None
    model.add(link)
    for other in model.jobs.values():
        other.behind = link.id if other.behind == job.id else other.behind
        if job.id in other.waits:
            other.waits[link.id] = other.waits.pop(job.id)
            other.parents[link.id] = other.parents.pop(job.id)


def said(outcome: Outcome) -> tuple[str, ...]:
    """What of an outcome must be the same for a repeated report to be the same result."""
    match outcome:
        case Completed(result=result):
            return ("COMPLETED", result)
        case Skipped():
            return ("SKIPPED",)
        case Snoozed() | Yielded():
            return ("YIELDED",)
        case StoppedByCancel() | Outdated():
            return ("CANCELLED",)
        case Overdue():
            return ("FAILED", "ERR_DEADLINE", "stopped at its deadline")
        case Broke(failure=failure):
            return ("FAILED", failure.code, failure.message)
