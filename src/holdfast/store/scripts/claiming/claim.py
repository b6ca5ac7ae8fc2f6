"""Hand ready jobs to a session. The state, the run and its owner change in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from msgspec import structs

from holdfast.core.errors import NotHolder
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import Claimed, ClaimRequest
from holdfast.core.rules.tokens import KINDS
from holdfast.core.values.variables import from_column
from holdfast.store.engine import Tx
from holdfast.store.option_columns import TOLD, OptionReader
from holdfast.store.scripts.access import session_holders
from holdfast.store.scripts.claiming import fair_line, rate_starts, token_choice
from holdfast.store.scripts.claiming.choose import ClaimChoice, choose
from holdfast.store.scripts.claiming.fair_line import Candidate
from holdfast.store.scripts.machines import pressure
from holdfast.store.scripts.queues import breakers
from holdfast.store.scripts.telling import log_lines
from holdfast.store.scripts.telling.wake_ups import wake_held_back, wake_ready
from holdfast.store.statements import sql

MOST_BYTES = 16 << 20
_LISTED: Any = Claimed.__base__  # What it lists by hand is quicker to make.
OTHERS_TOLD = tuple(option for option in TOLD if option.wire not in _LISTED.__struct_fields__)
_OTHER_OPTIONS = OptionReader(OTHERS_TOLD)


def claim(tx: Tx, request: ClaimRequest, now: Millis) -> list[Claimed]:
    """At most `request.slots` jobs, each with a run of its own. The run id is the fencing token.

    An answer has at most 16 MiB of payloads, and at least one job. A worker that has free slots then is told to ask
    again at once. Only a caller that knows the secret of the session gets jobs.
    """
    return claim_held(tx, request, session_holders.hash_of(request.secret), now)


def claim_held(tx: Tx, request: ClaimRequest, secret_hash: str | None, now: Millis) -> list[Claimed]:
    """The same, given what is stored of the secret."""
    choice = choose(tx, request, now)
    if choice.jobs and choice.secret_hash != secret_hash:
        raise NotHolder(f"session {request.session_id} was opened with another secret; only its worker claims for it")
    while (fitting := _fitting(choice.jobs)) < len(choice.jobs):
        tx.changes.ready.update(job.queue for job in choice.jobs[fitting:])
        # Chosen anew, because turns and tokens depend on how many start.
        choice = choose(tx, structs.replace(request, slots=fitting), now)
    for queue, opens_at in choice.free.openings.items():
        rate_starts.tell_opening(tx, queue, opens_at)
    claimed = _start_runs(tx, choice.jobs, request, now) if choice.jobs else []
    if claimed:
        _note_limits(tx, choice, request, now)
        _wake_others(tx, choice)
    for picked in choice.picks:
        fair_line.charge(tx, picked)
        fair_line.let_rest(tx, picked)
    if choice.passed or choice.kept is not None:
        token_choice.note_passed(tx, choice.passed, choice.kept, now)
    for kind in KINDS if choice.taken else ():
        tx.tally.count_tokens(kind, getattr(choice.taken, kind))
    return claimed


def _fitting(jobs: Sequence[Candidate]) -> int:
    """How many of these jobs, in this order, fit into one answer. The first always does."""
    sizes = accumulate(job.size for job in jobs)
    return max(sum(size <= MOST_BYTES for size in sizes), min(len(jobs), 1))


def _start_runs(tx: Tx, jobs: Sequence[Candidate], request: ClaimRequest, now: Millis) -> list[Claimed]:
    """Store that these jobs run, in the session of the request."""
    documents = [_documents(tx, job) if job.payload is None else (job.payload, job.env_vars) for job in jobs]
    claimed = [
        Claimed(
            run_id=tx.new_id(),
            job_id=job.id,
            number=job.number,
            task=job.job_type,
            queue=job.queue,
            payload=payload,
            attempt=job.attempts + 1,
            started_at=now,
            subject=job.subject_key,
            generation=job.generation,
            timeout_ms=job.timeout_ms,
            deadline=job.deadline,
            checkpoint=job.checkpoint,
            tag=job.user_tag,
            trace_id=job.trace_id,
            queued_at=job.queued_at,
            env=None if env_vars is None else from_column(env_vars),
            execution=job.execution_mode.lower(),
        )
        for job, (payload, env_vars) in zip(jobs, documents, strict=True)
    ]
    if OTHERS_TOLD:
        claimed = [structs.replace(run, **_OTHER_OPTIONS.read(job)) for run, job in zip(claimed, jobs, strict=True)]
    owner = {"session_id": request.session_id, "worker_id": request.worker_id, "now": now}
    tx.run_many(sql.claim_job, [owner | {"number": run.number, "run_id": run.run_id} for run in claimed])
    tx.run_many(
        sql.insert_run,
        [
            owner
            | {
                "run_id": run.run_id,
                "job_id": run.job_id,
                "attempt": run.attempt,
                "payload": run.payload,
                "trace_id": run.trace_id,
                "template_id": job.template_id,
            }
            for run, job in zip(claimed, jobs, strict=True)
        ],
    )
    log_lines.say_claimed(tx, claimed, request.worker_id)
    return claimed


def _documents(tx: Tx, job: Candidate) -> tuple[str, str | None]:
    """The payload and the variables of a job, if one of them is long. Those are read only now."""
    [found] = tx.rows(sql.documents_of_job, number=job.number)
    return found["payload"], found["env_vars"]


def _note_limits(tx: Tx, choice: ClaimChoice, request: ClaimRequest, now: Millis) -> None:
    """Store what gates look at: the starts of rates, the probes of breakers, and the next pull."""
    wait = 0
    for picked in choice.picks:
        if not picked.jobs:
            continue
        queue = choice.free.find(picked.queue)
        if queue.allowance is not None:
            rate_starts.note_starts(tx, queue.allowance, len(picked.jobs), now)
        if queue.facts.state.opened_at is not None:
            for job in picked.jobs:
                breakers.note_probe(tx, picked.queue, job.id, now)
        wait = max(wait, queue.facts.pull_wait_ms)
    if wait:
        pressure.note_pull(tx, request.session_id, now + wait)


def _wake_others(tx: Tx, choice: ClaimChoice) -> None:
    """A job has started, or may not start now. Wake the workers that were held back for it."""
    if choice.kept_for is not None or choice.had_waited:
        wake_ready(tx)
    elif choice.taken or any(choice.free.find(one.queue).is_limited for one in choice.picks if one.jobs):
        wake_held_back(tx)
