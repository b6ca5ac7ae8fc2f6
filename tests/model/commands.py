"""What people, the clock and the death of a process do to the model's jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import TERMINAL, WAITING
from holdfast.core.job import StateName as S
from holdfast.core.jobs.recovery import CRASH_CODE
from holdfast.core.jobs.requests import ClaimRequest, JobFilter, Report
from holdfast.core.jobs.settle import Broke, Outcome, Yielded
from holdfast.core.messages.jobs import BulkAction
from holdfast.core.values.group import Dependency, GroupMode, GroupStatus, Needs, OnFailure
from holdfast.core.values.retry import Failure, FailureKind
from tests.model import breakers, news, queue_limits
from tests.model.lanes import set_priority
from tests.model.model import Answer, Model
from tests.model.news import LIVE
from tests.model.records import Group, Job, Session
from tests.model.settling import finish, settle

# Sessions


def open_session(model: Model, session: str, node: str, now: int) -> None:
    model.sessions[session] = Session(now, node=node)


def beat(model: Model, session: str, now: int) -> bool:
    if model.sessions[session].status != "running":
        return False
    model.sessions[session].beat = now
    return True


def close_session(model: Model, session: str, status: str, now: int) -> bool:
    if model.sessions[session].status != "running" or model.running_of(session):
        return False
    model.sessions[session].status = status
    queue_limits.end_of_session(model, session, now)
    return True


def note_stop(model: Model, session: str) -> None:
    model.sessions[session].orderly |= model.sessions[session].status == "running"


def recover(model: Model, session: str, rebooted: bool, now: int, limit: int) -> tuple[int, bool]:
    gone = model.sessions[session]
    if gone.status != "running":
        return 0, False
    jobs = model.running_of(session)
    if gone.lost is None and not gone.orderly and not rebooted:
        breakers.note_crash(model, jobs, now)
    gone.lost = len(jobs) if gone.lost is None else gone.lost
    for job in jobs[:limit]:
        blame = not gone.orderly and not rebooted
        settle(model, job, _death(job, gone, rebooted), now, suspect=blame or job.suspect)
    if len(jobs) < limit:
        close_session(model, session, "unknown", now)
    return min(len(jobs), limit), len(jobs) >= limit


def _death(job: Job, gone: Session, rebooted: bool) -> Outcome:
    """Nobody pays for what he did not do; but with no infra budget nothing ever runs twice."""
    failure = Failure(FailureKind.INFRA, CRASH_CODE, "")
    if job.policy.infra == 0:
        return Broke(failure)
    if gone.orderly:
        return Yielded("")
    alone = gone.lost == 1 and not rebooted
    return Broke(failure, charge=alone, death=alone)


def exchange(
    model: Model, reports: Collection[Report], request: ClaimRequest, holds: Collection[str] | None, now: int
) -> tuple[list[str], set[str | None]]:
    """The jobs that are claimed, and the runs of the session that should stop."""
    finish(model, reports, now)
    if holds is not None:
        for job in model.running_of(request.session_id):
            if job.run not in holds:
                settle(model, job, Yielded(""), now, suspect=job.suspect)
    claimed = model.claim(request, now)
    return claimed, {job.run for job in model.running_of(request.session_id) if job.stop}


# The clock


def tick(model: Model, now: int, limit: int) -> bool:
    """Whether there may be more to do at the same moment."""
    late = [job for job in model.find(*WAITING) if job.is_late(now)]
    for job in sorted(late, key=lambda job: job.ask.deadline or 0)[:limit]:
        if job.state in WAITING:
            model.end(job, S.SKIPPED_DEADLINE, "deadline", now)
    waiting = [job for job in model.find(S.SCHEDULED) if not job.is_held]
    due = [job for job in waiting if job.due is not None and job.due <= now]
    for job in sorted(due, key=lambda job: job.due or 0)[:limit]:
        model.make_ready(job, job.free_since)
    reached = news.spread(model, now)
    stale = [job for job in model.find(S.QUEUED) if job.is_stale(now)]
    for job in sorted(stale, key=lambda job: job.expires or 0)[: limit + len(due[:limit]) + reached]:
        if job.state in WAITING:
            model.end(job, S.SKIPPED_TTL, "time to live", now)
    queue_limits.open_queues(model, now)
    breakers.half_open(model, now)
    queue_limits.end_due(model, now)
    return max(len(late), len(stale), len(due)) >= limit or reached


def next_moment(model: Model) -> int | None:
    moments = [job.due for job in model.find(S.SCHEDULED) if not job.is_held]
    moments += [job.ask.deadline for job in model.find(*WAITING)]
    moments += [job.expires for job in model.find(S.QUEUED)]
    moments += [held.expires for held in model.held.values() if held.status in ("ACTIVE", "WAITING")]
    moments += [queue.opens for queue in model.queues.values()]
    moments += [breaker.half_opens for breaker in model.breakers.values() if not breaker.half_open]
    moments += [0 for event in model.events.values() if event.spreads]
    return min((moment for moment in moments if moment is not None), default=None)


def forget_old(model: Model, before: int, limit: int) -> int:
    def is_old(job: Job) -> bool:
        links = [link for link in model.jobs.values() if link.retry_of == job.id]
        return job.ended is not None and job.ended < before and all(map(is_old, links))

    old = sorted(filter(is_old, model.jobs.values()), key=lambda job: (job.ended or 0, job.number))[:limit]
    for job in old:
        del model.jobs[job.id]
        model.letters.pop(job.id, None)
    model.runs = {run_id: run for run_id, run in model.runs.items() if run.job in model.jobs}
    if len(old) < limit:
        used = {job.ask.group_id for job in model.jobs.values()}
        model.groups = {name: kept for name, kept in model.groups.items() if name in used or kept.created >= before}
    model.deliveries = {name: sent for name, sent in model.deliveries.items() if sent.job in model.jobs}
    return len(old)


# Groups, cancelling, retrying


def create_group(model: Model, name: str, mode: GroupMode, on_failure: OnFailure, now: int) -> None:
    model.groups[name] = Group(mode, on_failure, now)


def cancel(model: Model, jobs: Iterable[Job], why: str, now: int) -> tuple[int, int, int]:
    """How many were cancelled, asked to stop, or had ended already."""
    counts = [0, 0, 0]
    for job in jobs:
        if job.state in WAITING:
            model.end(job, S.CANCELLED, why, now)
            counts[0] += 1
        elif job.state is S.RUNNING:
            job.stop = "cancel"
            counts[1] += 1
        else:
            counts[2] += 1
    return counts[0], counts[1], counts[2]


def cancel_job(model: Model, job_id: str, now: int) -> tuple[int, int, int]:
    return cancel(model, [model.last(job_id)], "cancelled on request", now)


def cancel_tag(model: Model, tag: str, now: int, limit: int) -> tuple[int, int, int]:
    jobs = [job for job in model.find(*LIVE) if job.ask.tag == tag and job.stop != "cancel"]
    return cancel(model, jobs[:limit], f"cancelled by tag {tag}", now)


def cancel_group(model: Model, name: str, now: int, limit: int) -> tuple[int, int, int]:
    if name not in model.groups:
        raise NotFound(name)
    jobs = [job for job in model.find(*LIVE) if job.ask.group_id == name and job.stop != "cancel"]
    jobs.sort(key=lambda job: (-(job.seq or 0), -job.number))
    return cancel(model, jobs[:limit], "group cancelled", now)


def retry(model: Model, job_id: str, new_id: str, now: int, priority: int | None = None) -> Answer:
    job = model.last(job_id)
    if job.ask.group_id is not None:
        if job.state not in TERMINAL:
            raise Conflict(job_id)
        if news.group_status(model, job.ask.group_id) is not GroupStatus.OPEN:
            model.groups[job.ask.group_id].reopened = True
    snapshots = [run.payload for run in model.runs.values() if run.job == job.id]
    ask = msgspec.structs.replace(
        job.ask,
        id=new_id,
        payload=(snapshots or [job.ask.payload])[-1],
        priority=job.ask.priority if priority is None else priority,
        generation=None,
        due=None,
        delay_ms=None,
        deadline=None,
        after=tuple(Dependency(parent, Needs.ENDED) for parent in _ended_parents(model, job)),
        idempotency_key=None,
        wait_for_event=None,
        event_attributes={},
        fire_time=None,
    )
    answer = model.enqueue([ask], now, guarded=False, again=job)[0]
    model.close_letter(job.id, answer[0])
    return answer


def _ended_parents(model: Model, job: Job) -> list[str]:
    """The last links of those that it came after, as far as they are known and have ended."""
    chain, parents = [job], list[str]()
    while chain[-1].retry_of in model.jobs:
        chain.append(model.jobs[chain[-1].retry_of or ""])
    for link in chain:
        known = [model.last(parent) for parent in link.parents if parent in model.jobs]
        parents += [parent.id for parent in known if parent.state in TERMINAL]
    return list(dict.fromkeys(parents))


def bulk(
    model: Model,
    action: BulkAction,
    wanted: JobFilter,
    now: int,
    limit: int,
    dry_run: bool,
    priority: int | None,
    ids: list[str],
) -> int:
    """How many jobs it concerns. A chain is retried once, for its last link, and the order of the jobs stays."""
    concerned = {BulkAction.CANCEL: LIVE, BulkAction.RETRY: TERMINAL, BulkAction.PRIORITY: WAITING}[action]
    continued = {job.retry_of for job in model.jobs.values()}
    fits = [
        job
        for job in model.find(*(concerned & set(wanted.states or S)))
        if wanted.queue in (None, job.ask.queue)
        and wanted.task in (None, job.ask.task)
        and wanted.tag in (None, job.ask.tag)
        and wanted.group_id in (None, job.ask.group_id)
    ][::-1][:limit]
    fits = [job for job in fits if job.id not in continued]
    ordered = sorted(fits, key=lambda job: job.rank) if action is BulkAction.PRIORITY else fits[::-1]
    for job in [] if dry_run else ordered:
        match action:
            case BulkAction.CANCEL:
                cancel_job(model, job.id, now)
            case BulkAction.RETRY:
                retry(model, job.id, ids.pop(0), now, priority)
            case BulkAction.PRIORITY:
                set_priority(model, job.id, priority or 0)
    return len(fits)
