"""Settle runs. A report is accepted once. Its repeat is harmless, and one for a run that is not open is refused."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.core.job import JobId, Millis, StateName
from holdfast.core.jobs.requests import Report, Settled
from holdfast.core.jobs.run import RunStatus
from holdfast.core.jobs.settle import Completed, Outcome, Settlement
from holdfast.store.engine import Tx
from holdfast.store.rows import HeldRow, OwnedRow
from holdfast.store.scripts.access import session_holders
from holdfast.store.scripts.events import job_events
from holdfast.store.scripts.jobs import endings
from holdfast.store.scripts.queues import breakers
from holdfast.store.scripts.runs import settling
from holdfast.store.scripts.runs.settling import Decided
from holdfast.store.scripts.telling.log_lines import JobEnd
from holdfast.store.scripts.telling.wake_ups import wake_after_runs, wake_ready
from holdfast.store.statements import sql


def finish(tx: Tx, reports: Sequence[Report], now: Millis, secret: str | None = None) -> list[Settled]:
    """Settle run and job together, and write the retry, for every report. The answers have the same order.

    `secret` is that of the session that holds the runs. A report without it is refused.
    """
    return finish_held(tx, reports, session_holders.hash_of(secret), now)


def finish_held(tx: Tx, reports: Sequence[Report], secret_hash: str | None, now: Millis) -> list[Settled]:
    """The same, given what is stored of the secret."""
    ids = msgspec.json.encode([report.job_id for report in reports]).decode()
    # The session claims nothing in this call. It may be empty now for a job that runs alone, or for others after that.
    is_about_one_alone = tx.value(sql.any_alone, ids=ids)
    answers = settle_reports(tx, reports, secret_hash, now)
    wake_after_runs(tx, ended_by(answers))
    if is_about_one_alone:
        wake_ready(tx)
    return answers


def ended_by(answers: Sequence[Settled]) -> list[JobId]:
    """The jobs whose runs these reports have ended."""
    return [answer.job_id for answer in answers if answer.refused is None and answer.job_id is not None]


def settle_reports(tx: Tx, reports: Sequence[Report], secret_hash: str | None, now: Millis) -> list[Settled]:
    """The same, but the caller wakes the workers that these runs held back."""
    runs, jobs = {report.run_id for report in reports}, {report.job_id for report in reports}
    if min(len(runs), len(jobs)) < len(reports):
        # A run or a job is named twice. The first report counts, and the second is judged after it.
        return [settled for report in reports for settled in settle_reports(tx, [report], secret_hash, now)]
    completed = [report for report in reports if isinstance(report.outcome, Completed)]
    done = _complete(tx, completed, secret_hash, now)
    rest = [report for report in reports if report.run_id not in done]
    answers, decided = _settle(tx, rest, secret_hash, now)
    jobs_of = {item.job.run_id: item.job.job_id for item in decided}
    ended = [report for report in reports if report.run_id in done or report.run_id in jobs_of]
    breakers.note_reports(tx, [(report, jobs_of.get(report.run_id, report.job_id)) for report in ended], now)
    return [(done | answers)[report.run_id] for report in reports]


def _complete(tx: Tx, reports: Sequence[Report], secret_hash: str | None, now: Millis) -> dict[str, Settled]:
    """Settle completed runs without reading them first. The WHERE clauses check that the run is open, and theirs."""
    if not reports:
        return {}
    job_rows = [
        {
            "job_id": report.job_id,
            "run_id": report.run_id,
            "result": report.outcome.result,
            "now": now,
            "secret_hash": secret_hash,
            "log_path": report.log_path,
            "artifact_path": report.artifact_path,
        }
        for report in reports
        if isinstance(report.outcome, Completed)
    ]
    moved = {run_id: (queue, trace_id) for run_id, queue, trace_id in tx.rows_many(sql.complete_job, job_rows)}
    accepted = {report.run_id: report for report in reports if report.run_id in moved}
    tx.run_many(
        sql.close_completed_run,
        [
            {
                "run_id": report.run_id,
                "job_id": report.job_id,
                "duration_ms": report.duration_ms,
                "exit_code": report.exit_code,
                "now": now,
                "artifacts": report.artifacts,
                "log_path": report.log_path,
            }
            for report in accepted.values()
        ],
    )
    job_events.tell_runs(tx, [(report.job_id, report.run_id, RunStatus.COMPLETED) for report in accepted.values()], now)
    ended = [JobEnd(report.job_id, StateName.DONE, *moved[run_id]) for run_id, report in accepted.items()]
    endings.announce_ended(tx, ended, now)
    return {run_id: Settled(run_id, report.job_id, StateName.DONE) for run_id, report in accepted.items()}


def _settle(
    tx: Tx, reports: Sequence[Report], secret_hash: str | None, now: Millis
) -> tuple[dict[str, Settled], list[Decided]]:
    answers: dict[str, Settled] = {}
    decided: list[Decided] = []
    for report in reports:
        job = tx.one(sql.job_of_run, HeldRow, run_id=report.run_id)
        if job is None:
            refused = f"there is no run {report.run_id}"
            answers[report.run_id] = Settled(report.run_id, None, None, refused)
        elif job.secret_hash != secret_hash:
            answers[report.run_id] = Settled(report.run_id, None, None, session_holders.not_held(report.run_id))
        elif job.run_status is not None or job.open_run_id != job.run_id:
            answers[report.run_id] = _again(job, report, now)
        elif all(item.job.job_id != job.job_id for item in decided):
            settlement = settling.decide(job, report.outcome, now)
            decided.append(
                Decided(
                    job,
                    settlement,
                    report.duration_ms,
                    report.exit_code,
                    traceback=report.traceback,
                    artifacts=report.artifacts,
                    log_path=report.log_path,
                    artifact_path=report.artifact_path,
                )
            )
    states = settling.write_settlements(tx, decided, now)
    for item, state in zip(decided, states, strict=True):
        assert item.job.run_id is not None
        answers[item.job.run_id] = Settled(item.job.run_id, item.job.job_id, state)
    return answers, decided


def _again(job: OwnedRow, report: Report, now: Millis) -> Settled:
    """The answer to a report for a closed run. The same result again is fine, another one comes too late."""
    said = settling.decide(job, report.outcome, now)
    state = StateName(job.state)
    if job.run_status == said.status and _same_failure(job, said) and _same_result(job, report.outcome):
        return Settled(report.run_id, job.job_id, state)
    refused = f"run {report.run_id} was already closed as {job.run_status}; this result comes too late"
    return Settled(report.run_id, job.job_id, state, refused)


def _same_failure(job: OwnedRow, said: Settlement) -> bool:
    return said.failure is None or (said.failure.code, said.failure.message) == (
        job.run_error_code,
        job.run_error,
    )


def _same_result(job: OwnedRow, outcome: Outcome) -> bool:
    return not isinstance(outcome, Completed) or outcome.result == job.result_summary
