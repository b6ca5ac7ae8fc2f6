"""Why a job of the model waits: every gate that holds it, by its name."""

from __future__ import annotations

from holdfast.core.job import StateName as S
from tests.model import breakers, tokens
from tests.model.fairness import may_start
from tests.model.model import Model
from tests.model.news import WEBHOOK_QUEUE
from tests.model.records import Job


def closed_gates(model: Model, job: Job, now: int) -> set[str]:
    """Nothing here says that it runs: for that, a worker has to come and ask."""
    workers = {name: one for name, one in model.sessions.items() if one.status == "running" and not one.orderly}
    nodes = {one.node for one in workers.values()} or set(model.machines)
    places = [machine for node, machine in model.machines.items() if node in nodes]
    idle = [machine for machine in places if machine.idle]
    powered = [machine for machine in (idle if job.ask.wait_for_idle and idle else places) if machine.charging]
    limit = model.limits.get(job.ask.queue)
    running = model.find(S.RUNNING)
    suiting = [name for name, one in workers.items() if one.node in model.machines and model.suits(job, one.node)]
    is_choosy = job.ask.wait_for_idle or job.ask.require_charging
    able = (suiting if is_choosy else []) or list(workers)
    suspects = [any(one.suspect for one in model.running_of(name)) for name in able]
    held = {
        "due": job.state is S.SCHEDULED and job.due is not None and job.due > now,
        "dependencies": bool(job.waits) or job.behind is not None,
        "event": job.unheard,
        "queue paused": job.ask.queue in model.paused,
        "reservation": any(one.status == "ACTIVE" and one.scope in ("*", job.ask.queue) for one in model.held.values()),
        "breaker": breakers.may_start(model, job.ask.queue, now) <= 0,
        "queue concurrency": limit is not None and sum(one.ask.queue == job.ask.queue for one in running) >= limit,
        "rate limit": may_start(model, job.ask.queue, now) <= 0,
        "idle": job.ask.wait_for_idle and not idle,
        "charging": job.ask.require_charging and not powered,
        "worker": not workers,
        "subject busy": job.subject is not None and any(one.subject == job.subject for one in running),
        "tokens": bool(job.ask.tokens and able)
        and not any(_has_room(model, job, workers[name].node, now) for name in able),
        "alone": (bool(suspects) and all(suspects)) or (job.suspect and all(model.running_of(name) for name in able)),
    }
    return {gate for gate, is_closed in held.items() if is_closed}


def _has_room(model: Model, job: Job, node: str, now: int) -> bool:
    # Nothing is kept from one that runs alone.
    kept = None if job.suspect else tokens.kept_on(model, node, now)
    return tokens.fits(job, tokens.in_use(model, node), None if kept is job else kept)


def could_run(model: Model, now: int) -> list[str]:
    """The jobs that nothing holds. While one of them has to run alone, the others may have to wait for that.

    A delivery may have to wait for others to the same receiver, which has its share of the slots.
    """
    if any(job.suspect for job in model.find(S.SCHEDULED, S.QUEUED, S.RUNNING)):
        return []
    waiting = [job for job in model.find(S.SCHEDULED, S.QUEUED) if not job.is_late(now) and not job.is_stale(now)]
    busy = {job.ask.tenant for job in model.find(S.RUNNING) if job.ask.queue == WEBHOOK_QUEUE}
    free = [job for job in waiting if job.ask.queue != WEBHOOK_QUEUE or job.ask.tenant not in busy]
    return [job.id for job in free if not closed_gates(model, job, now)]
