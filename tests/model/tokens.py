"""Tokens in the model: what the machines have, who is passed, for whom room is kept, and who therefore starts."""

from __future__ import annotations

from math import ceil, inf
from typing import TYPE_CHECKING

from msgspec import structs

from holdfast.core.job import StateName as S
from holdfast.core.jobs.requests import ClaimRequest
from holdfast.core.rules.tokens import Tokens
from tests.model import breakers, fairness
from tests.model.news import WEBHOOK_QUEUE
from tests.model.records import Job

if TYPE_CHECKING:
    from tests.model.model import Model

HAS = Tokens(cpu=3, gpu=1, io=1)  # every machine
PATIENCE = 30_000
RECEIVERS = 8  # each may have this part of the slots for deliveries


def in_use(model: Model, node: str, *, without: str | None = None) -> list[int]:
    """What runs on a machine take, of each kind; those of one session may be left out."""
    here = [job for job in model.find(S.RUNNING) if model.sessions[job.session or ""].node == node]
    return _sums([job.ask.tokens for job in here if job.session != without])


def fits(job: Job, used: list[int], kept: Job | None = None) -> bool:
    """Whether a machine on which so much is used has room for it, beside what is kept for another one."""
    keeps = (0, 0, 0) if kept is None else structs.astuple(kept.ask.tokens)
    room = [max(0, has - taken - keep) for has, taken, keep in zip(structs.astuple(HAS), used, keeps, strict=True)]
    return all(needs <= free for needs, free in zip(structs.astuple(job.ask.tokens), room, strict=True))


def overdue(model: Model, node: str, now: int) -> list[Job]:
    """Those that others have passed for long enough, which could run there."""
    late = [job for job in model.find(S.QUEUED) if job.passed is not None and now - job.passed >= PATIENCE]
    able = [job for job in late if model.suits(job, node) and model.may_run(job, now)]
    return sorted(able, key=lambda job: (job.passed or 0, job.number))


def is_awaited(model: Model, job: Job, node: str, now: int) -> bool:
    """Whether somebody there would start it; here every worker offers everything."""
    living = [one for one in model.sessions.values() if one.status == "running" and not one.orderly]
    queue = job.ask.queue
    reserved = any(held.status == "ACTIVE" and held.scope in ("*", queue) for held in model.held.values())
    is_held = reserved or queue in model.paused or breakers.may_start(model, queue, now) <= 0
    return any(one.node == node for one in living) and not is_held


def kept_on(model: Model, node: str, now: int) -> Job | None:
    """Whom room is kept for."""
    return next((job for job in overdue(model, node, now) if is_awaited(model, job, node, now)), None)


def share_out(
    model: Model, request: ClaimRequest, node: str, able: list[Job], free: dict[str, int], now: int
) -> tuple[list[Job], Job | None]:
    """Who starts, in order, and for whom room is kept."""
    used = in_use(model, node)
    left = dict(free)
    looked_at = {job.id for job in model.find(S.QUEUED) if _is_looked_at(model, job, node, used)}
    are_wanted = any(
        model.jobs[job_id].ask.queue in left and left[model.jobs[job_id].ask.queue] > 0 for job_id in looked_at
    )
    taken: list[Job] = []
    kept: Job | None = None
    for job in overdue(model, node, now) if are_wanted else ():
        mine = job in able and left[job.ask.queue] > 0 and len(taken) < request.slots
        if mine and fits(job, used):
            fairness.pay(model, job, now)
            taken.append(job)
            left[job.ask.queue] -= 1
            used = _sums([job.ask.tokens], used)
        elif is_awaited(model, job, node, now):
            kept = job
            break
    for queue in left:
        line = [job for job in able if job.ask.queue == queue and job not in taken]
        line = [job for job in line if not job.ask.tokens or (job.id in looked_at and fits(job, [0, 0, 0]))]
        out: set[str] = set()
        started = [job.ask.tenant for job in model.running_of(request.session_id) if job.ask.queue == queue]
        each = ceil((len(started) + left[queue]) / RECEIVERS) if queue == WEBHOOK_QUEUE else inf
        while left[queue] > 0 and len(taken) < request.slots:
            out |= {name for name in started if started.count(name) >= each}
            name = fairness.whose_turn(model, queue, {job.ask.tenant for job in line} - out)
            if name is None:
                break
            own = [job for job in line if job.ask.tenant == name]
            note_passed(None if fits(own[0], used, kept) else own[0], now)
            head = next((job for job in own if fits(job, used, kept)), None)
            if head is None:
                out.add(name)
                continue
            fairness.have_turn(model, queue, name, now)
            taken.append(head)
            started.append(name)
            line.remove(head)
            left[queue] -= 1
            used = _sums([head.ask.tokens], used)
    return taken, kept


def note_passed(job: Job | None, now: int) -> None:
    """There was no room for it at its turn; a moment that is still to come is one of a wrong clock."""
    if job is not None and (job.passed is None or job.passed > now):
        job.passed = now


def _is_looked_at(model: Model, job: Job, node: str, used: list[int]) -> bool:
    """Whether its lane is: the machine is what it waits for, and of what it takes not every kind is used up."""
    counts = zip(structs.astuple(job.ask.tokens), structs.astuple(HAS), used, strict=True)
    return model.suits(job, node) and any(needs and has > taken for needs, has, taken in counts)


def _sums(tokens: list[Tokens], used: list[int] | None = None) -> list[int]:
    rows = [structs.astuple(one) for one in tokens] + ([] if used is None else [tuple(used)])
    return [sum(column) for column in zip(*rows, strict=True)] if rows else [0, 0, 0]
