"""Write settlements: a run, its job, and the retry that follows change together."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.job import Millis, StateName, follow
from holdfast.core.jobs.settle import POISON_CODE, Again, Continue, End, Outcome, SettleFacts, Settlement, Wait, settle
from holdfast.core.values.retry import Failure
from holdfast.store.engine import Tx
from holdfast.store.rows import OwnedRow, policy_of, tries_of
from holdfast.store.scripts.events import job_events
from holdfast.store.scripts.jobs import dead_letter_rows, endings
from holdfast.store.scripts.telling import log_lines
from holdfast.store.scripts.telling.log_lines import JobEnd
from holdfast.store.statements import Statement, sql
from holdfast.store.topics import DUE


class Decided(Struct, frozen=True):
    """A job whose run has ended, what was decided about it, and what is stored of its run."""

    job: OwnedRow
    settlement: Settlement
    duration_ms: int | None = None
    exit_code: int | None = None
    suspect: bool = False
    traceback: str | None = None
    artifacts: str | None = None
    log_path: str | None = None
    artifact_path: str | None = None


def decide(job: OwnedRow, outcome: Outcome, now: Millis) -> Settlement:
    """What core decides, given the facts in the row."""
    outdated = job.newest_generation is not None and (job.generation or 0) < job.newest_generation
    facts = SettleFacts(
        policy=policy_of(job),
        tries=tries_of(job),
        cancel_requested=job.stop_reason == "cancel",
        outdated=outdated,
        deadline=job.deadline,
        jitter=jitter_of(job.job_id, job.attempts),
        replaced=job.stop_reason == "superseded" and not outdated,
    )
    return settle(facts, outcome, now)


def jitter_of(job_id: str, attempt: int) -> float:
    """A number in [-1, 1] that spreads retries. It is the same on every machine."""
    digest = hashlib.blake2b(f"{job_id}/{attempt}".encode(), digest_size=4).digest()
    return int.from_bytes(digest) / (2**31 - 0.5) - 1


def write_settlements(tx: Tx, decided: Sequence[Decided], now: Millis) -> list[StateName]:
    """Close the runs and move the jobs. Return the new states of the jobs.

    The caller wakes the workers that these runs held back, after it has claimed for itself.
    """
    rows: dict[Statement, list[dict[str, Any]]] = defaultdict(list)
    ended: list[JobEnd] = []
    states = []
    for item in decided:
        rows[sql.close_run].append(_run_row(item, now))
        state = _plan(tx, item, now, rows, ended)
        states.append(state)
    for statement in (
        sql.close_run,
        sql.end_job,
        sql.insert_dead_letter,
        sql.send_job_back,
        sql.continue_job,
        sql.repoint_dependents,
    ):
        if rows[statement]:
            tx.run_many(statement, rows[statement])
    job_events.tell_runs(
        tx, [(item.job.job_id, item.job.open_run_id or "", item.settlement.status) for item in decided], now
    )
    if ended:
        endings.announce_ended(tx, ended, now)
    job_events.tell_parked(tx, [item.job.job_id for item in decided if _is_parked(item)], now)
    return states


def _is_parked(item: Decided) -> bool:
    then = item.settlement.then
    return isinstance(then, End) and then.error_code == POISON_CODE


def _run_row(item: Decided, now: Millis) -> dict[str, Any]:
    failure = item.settlement.failure
    then = item.settlement.then
    said = failure.message if failure else getattr(then, "reason", None)
    return {
        "run_id": item.job.open_run_id,
        "status": item.settlement.status,
        "now": now,
        "duration_ms": item.duration_ms,
        "exit_code": item.exit_code,
        "error_kind": failure and failure.kind,
        "error_code": failure and failure.code,
        "error": said,
        "traceback": item.traceback,
        "artifacts": item.artifacts,
        "log_path": item.log_path,
    }


def _plan(
    tx: Tx,
    item: Decided,
    now: Millis,
    rows: dict[Statement, list[dict[str, Any]]],
    ended: list[JobEnd],
) -> StateName:
    job, tries, then = item.job, item.settlement.tries, item.settlement.then
    state = follow(StateName.RUNNING, then.move)
    assert state is not None, f"no transition for {then}"
    row: dict[str, Any] = {
        "job_id": job.job_id,
        "run_id": job.open_run_id,
        "state": state,
        "now": now,
        "transient_tries": tries.transient,
        "infra_tries": tries.infra,
        "deaths": tries.deaths,
        "reason": then.reason,
        "is_suspect": int(item.suspect),
        "log_path": item.log_path,
        "artifact_path": item.artifact_path,
    }
    match then:
        case End(result=result, error_code=code):
            rows[sql.end_job].append(row | {"error_code": code, "result": result or _summary(item)})
            ended.append(_ended(job, state, then.reason, code))
            if state is StateName.FAILED:
                rows[sql.insert_dead_letter] += dead_letter_rows.letter_row(
                    job.job_id, job.queue, then, item.settlement.failure, now
                )
        case Wait(until=until):
            rows[sql.send_job_back].append(row | {"until": until})
            log_lines.say_sent_back(tx, job, until, then.reason)
            tx.changes.topics.add(DUE)
        case Again():
            rows[sql.send_job_back].append(row | {"until": None})
            log_lines.say_sent_back(tx, job, None, then.reason)
            tx.changes.ready.add(job.queue)
            tx.changes.topics.add(DUE)
        case Continue(until=until, error_code=code):
            new_id = tx.new_id()
            rows[sql.end_job].append(row | {"error_code": code, "result": _summary(item)})
            rows[sql.continue_job].append(row | {"new_id": new_id, "until": until, "reason": f"{code}: {then.reason}"})
            for key in (endings.after_key, endings.group_key):
                rows[sql.repoint_dependents].append({"old_key": key(job.job_id), "new_key": key(new_id)})
            tx.changes.topics.add(DUE)
            tx.changes.ended.add(job.job_id)
            log_lines.note_ended(tx, _ended(job, state, then.reason, code))
            tx.tally.count_enqueued(job.queue)
    return state


def _ended(job: OwnedRow, state: StateName, reason: str | None, code: str | None) -> JobEnd:
    newer = job.newest_generation if state is StateName.SUPERSEDED else None
    return JobEnd(job.job_id, state, job.queue, job.trace_id, reason, code, job.generation, newer)


def _summary(item: Decided) -> str | None:
    """A failure as clients read it."""
    failure: Failure | None = item.settlement.failure
    if failure is None:
        return None
    return msgspec.json.encode(
        {
            "status": "failed",
            "error_kind": failure.kind,
            "code": failure.code,
            "message": failure.message,
            "duration_ms": item.duration_ms,
            "attempt": item.job.attempts,
        }
    ).decode()
