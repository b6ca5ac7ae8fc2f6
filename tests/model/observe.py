"""What can be seen from outside, in one shape for the store and for the model, so that the two can be compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple
from typing import Any

from holdfast.core.job import StateName as S
from holdfast.store.engine import Tx
from holdfast.store.scripts.clockwork import next_moment
from holdfast.store.scripts.doctor import broken_invariants
from holdfast.store.scripts.groups import view_group
from holdfast.store.scripts.look import counts
from holdfast.store.statements import Statement, pyformat
from tests.model import commands
from tests.model.model import Model
from tests.model.records import Job, Seen

Things = dict[str, dict[Any, Any]]


def statement(text: str) -> Statement:
    """A query of the test's own, in both dialects."""
    return Statement(text, text, pyformat(text))


JOBS = statement("SELECT * FROM jobs ORDER BY number")
QUEUED = statement("SELECT queue, id FROM jobs WHERE state = 'QUEUED' ORDER BY priority DESC, position, created_at, id")
RUNS = statement("SELECT * FROM job_runs")
WAITS = statement("SELECT job_id, key, value FROM job_conditions WHERE satisfied_at IS NULL")
SESSIONS = statement("SELECT id, status, stop_requested_at, last_heartbeat_at FROM sessions")
HELD = statement("SELECT id, scope, session_id, ttl_ms, expires_at, status, granted_at FROM direct_reservations")
SUBJECTS = statement("SELECT job_type, subject_key, generation FROM subjects")
QUEUES = statement("SELECT name, concurrency, paused_at FROM queues")
GROUPS = statement("SELECT id FROM job_groups")


def in_store(tx: Tx) -> tuple[Things, Seen]:
    """Everything in the store that the model speaks of, and what the store alone could choose."""
    jobs = tx.rows(JOBS)
    queues = tx.rows(QUEUES)
    ready: dict[str, list[str]] = {}
    for row in tx.rows(QUEUED):
        ready.setdefault(row["queue"], []).append(row["id"])
    waits: dict[str, set[tuple[str, str]]] = {}
    for row in tx.rows(WAITS):
        waits.setdefault(row["job_id"], set()).add((row["key"], row["value"]))
    things: Things = {
        "job": {row["id"]: _stored(row, waits) for row in jobs},
        "ready": ready,
        "run": {
            row["id"]: (row["job_id"], row["attempt"], row["session_id"], row["params_snapshot"], row["status"])
            for row in tx.rows(RUNS)
        },
        "session": {
            row["id"]: (row["last_heartbeat_at"], row["status"], row["stop_requested_at"] is not None)
            for row in tx.rows(SESSIONS)
        },
        "reservation": {row.pop("id"): tuple(row.values()) for row in tx.rows(HELD)},
        "subject": {(row["job_type"], row["subject_key"]): row["generation"] for row in tx.rows(SUBJECTS)},
        "limit": {row["name"]: row["concurrency"] for row in queues if row["concurrency"] is not None},
        "paused": {row["name"]: True for row in queues if row["paused_at"] is not None},
        "group": {row["id"]: view_group(tx, row["id"]).status for row in tx.rows(GROUPS)},
        "count": {(count.queue, count.state): count.jobs for count in counts(tx)},
        "clock": {"next": next_moment(tx)},
        "broken": {found.invariant: found.rows for found in broken_invariants(tx)},
    }
    return things, Seen(
        runs={row["id"]: row["run_id"] for row in jobs if row["run_id"]},
        links={row["retry_of"]: row["id"] for row in jobs if row["retry_of"]},
        times={row["id"]: row["scheduled_at"] for row in jobs},
    )


def _stored(row: dict[str, Any], waits: dict[str, set[tuple[str, str]]]) -> dict[str, Any]:
    live = row["finished_at"] is None
    return {
        "state": row["state"],
        "lane": (row["queue"], row["priority"], row["position"]),
        "task": row["job_type"],
        "payload": row["payload"],
        "bounds": (row["ttl_ms"], row["deadline"]),
        "labels": (row["user_tag"], row["idempotency_key"]),
        "policy": (row["retry_mode"], row["max_retries"], row["max_infra"], row["backoff_initial_ms"]),
        "subject": (row["subject_key"], row["generation"]),
        "at": (row["created_at"], row["finished_at"]),
        "due": row["scheduled_at"] if row["state"] == S.SCHEDULED else None,
        "queued": row["queued_at"] if row["state"] == S.QUEUED else None,
        "tries": (row["attempts"], row["transient_tries"], row["infra_tries"], row["deaths"]),
        "suspect": bool(row["is_suspect"]) if live else None,
        "owner": (row["run_id"], row["session_id"], row["stop_reason"]),
        "links": (row["retry_of"], row["group_id"], row["group_seq"]),
        "waits": waits.get(row["id"], set()) if live else None,
        "parked": row["error_code"] == "ERR_POISON",
        "reason": row["reason"],
    }


def in_model(model: Model) -> Things:
    """The same of the model."""
    queues = {job.ask.queue for job in model.find(S.QUEUED)}
    return {
        "job": {job.id: _modelled(job) for job in model.jobs.values()},
        "ready": {queue: [job.id for job in model.ready(queue)] for queue in queues},
        "run": {
            run_id: (run.job, run.attempt, run.session, run.payload, run.status) for run_id, run in model.runs.items()
        },
        "session": {name: astuple(session)[:3] for name, session in model.sessions.items()},
        "reservation": {name: astuple(held) for name, held in model.held.items()},
        "subject": dict(model.newest),
        "limit": {queue: limit for queue, limit in model.limits.items() if limit is not None},
        "paused": dict.fromkeys(model.paused, True),
        "group": {name: commands.group_status(model, name) for name in model.groups},
        "count": dict(Counter((job.ask.queue, str(job.state)) for job in model.jobs.values())),
        "clock": {"next": commands.next_moment(model)},
        "broken": {},
    }


def _modelled(job: Job) -> dict[str, Any]:
    live = job.ended is None
    policy = job.ask.policy
    waits = {(f"after:{parent}", str(needs)) for parent, needs in job.waits.items()}
    return {
        "state": job.state,
        "lane": (job.ask.queue, job.ask.priority, job.position),
        "task": job.ask.task,
        "payload": job.ask.payload,
        "bounds": (job.ask.ttl_ms, job.ask.deadline),
        "labels": (job.ask.tag, job.ask.idempotency_key),
        "policy": (policy.mode, policy.retries, policy.infra, policy.initial_ms),
        "subject": (job.ask.subject, job.generation),
        "at": (job.created, job.ended),
        "due": job.due if job.state is S.SCHEDULED else None,
        "queued": job.queued if job.state is S.QUEUED else None,
        "tries": (job.attempts, job.transient, job.infra, job.deaths),
        "suspect": job.suspect if live else None,
        "owner": (job.run, job.session, job.stop),
        "links": (job.retry_of, job.ask.group_id, job.seq),
        "waits": waits | ({(f"group:{job.behind}", "group")} if job.behind else set()) if live else None,
        "parked": job.why == "parked",
        "reason": job.why,
    }


def differences(store: Things, model: Things) -> list[str]:
    """Every place where the two disagree."""
    found = []
    for kind in store:
        for key in store[kind].keys() | model[kind].keys():
            left, right = store[kind].get(key), model[kind].get(key)
            if kind == "job" and left and right:
                found += [
                    f"job {key} {name}: store {left[name]!r}, model {right[name]!r}"
                    for name in left
                    if not _agrees(name, left[name], right[name])
                ]
            elif left != right:
                found.append(f"{kind} {key}: store {left!r}, model {right!r}")
    return sorted(found)


def _agrees(name: str, left: Any, right: Any) -> bool:
    """Of a reason the model knows a few words, or nothing."""
    return right in (left or "") if name == "reason" else bool(left == right)
