"""The order of the model's waiting jobs, and how people change it."""

from __future__ import annotations

import msgspec

from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.core.job import WAITING
from holdfast.core.job import StateName as S
from tests.model.model import GAP, Model
from tests.model.records import Job


def _waiting(model: Model, job_id: str) -> Job:
    if job_id not in model.jobs:
        raise NotFound(job_id)
    if model.jobs[job_id].state not in WAITING:
        raise Conflict(job_id)
    return model.jobs[job_id]


def _prioritise(job: Job, priority: int, position: int) -> None:
    job.ask, job.position, job.passed = msgspec.structs.replace(job.ask, priority=priority), position, None


def move_to_top(model: Model, job_id: str) -> None:
    job = _waiting(model, job_id)
    lane = model.in_line(job.line)
    job.position, job.passed = lane[0].position - GAP if lane else GAP, None


def move_to_bottom(model: Model, job_id: str) -> None:
    job = _waiting(model, job_id)
    job.position, job.passed = model.end_of(job.line), None


def set_priority(model: Model, job_id: str, priority: int) -> None:
    job = _waiting(model, job_id)
    if job.ask.priority != priority:
        _prioritise(job, priority, model.end_of((job.ask.queue, job.ask.tenant, priority)))


def edit_payload(model: Model, job_id: str, payload: str) -> None:
    job = _waiting(model, job_id)
    job.ask = msgspec.structs.replace(job.ask, payload=payload)


def move_beside(model: Model, job_id: str, other_id: str, before: bool) -> None:
    job, other = _waiting(model, job_id), _waiting(model, other_id)
    if job is other or job.line[:2] != other.line[:2]:
        raise InvalidInput(job_id)
    place = _gap(model, other, before)
    if place is None:
        renormalise(model, *other.line)
        place = _gap(model, other, before)
    assert place is not None
    _prioritise(job, other.ask.priority, place)


def _gap(model: Model, other: Job, before: bool) -> int | None:
    """A place between a job and the next ready one on that side, or None where there is none."""
    lane = [job for job in model.in_line(other.line) if job is not other]
    side = [job for job in lane if (job.rank < other.rank) == before]
    if not side:
        return other.position - GAP if before else other.position + GAP
    neighbour = side[-1] if before else side[0]
    place = (neighbour.position + other.position) // 2
    return place if min(neighbour.position, other.position) < place < max(neighbour.position, other.position) else None


def renormalise(model: Model, queue: str, tenant: str, priority: int) -> None:
    lane = [job for job in model.find(*WAITING, S.RUNNING) if job.line == (queue, tenant, priority)]
    for place, job in enumerate(sorted(lane, key=lambda job: job.rank), 1):
        job.position = place * GAP
