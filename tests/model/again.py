"""A group once more, in the model: whoever ended without being done is made anew, in the same order."""

from __future__ import annotations

from msgspec import structs

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import TERMINAL
from holdfast.core.job import StateName as S
from holdfast.core.values.group import GroupMode, GroupStatus, Needs
from tests.model.model import GAP, Model
from tests.model.news import group_status
from tests.model.records import Job


def retry_group(model: Model, name: str, now: int, rest: bool = False) -> list[tuple[str, S]]:
    if name not in model.groups:
        raise NotFound(name)
    in_order = model.groups[name].mode is GroupMode.SEQUENTIAL
    if in_order and not rest and group_status(model, name) is GroupStatus.OPEN:
        raise Conflict(name)
    continued = {job.retry_of for job in model.jobs.values()}
    members = [job for job in model.jobs.values() if job.ask.group_id == name and job.id not in continued]
    places: dict[tuple[str, str, int], int] = {}
    made: list[Job] = []
    for member in sorted(members, key=lambda job: _root(model, job).number):
        if rest and not _was_stopped(model, member):
            continue
        if member.state in TERMINAL - {S.DONE, S.SUPERSEDED} and _is_newest(model, member):
            if not made and group_status(model, name) is not GroupStatus.OPEN:
                model.groups[name].reopened = True
            job = _anew(model, member, now)
            if in_order:
                model.line_up(job)
            line = job.line
            job.position = places[line] = places[line] + GAP if line in places else model.end_of(line)
            model.add(job)
            model.start_if_free(job, now)
            model.close_letter(member.id, job.id)
            made.append(job)
    return [(job.id, job.state) for job in made]


def _was_stopped(model: Model, job: Job) -> bool:
    """Whether the end of another member cancelled it."""
    blamed = model.jobs.get(job.blamed or "")
    return job.state is S.CANCELLED and blamed is not None and blamed.ask.group_id == job.ask.group_id


def _root(model: Model, job: Job) -> Job:
    """The first link of its chain that is still known."""
    return _root(model, model.jobs[job.retry_of]) if job.retry_of in model.jobs else job


def _is_newest(model: Model, job: Job) -> bool:
    return job.subject is None or model.newest[job.subject] == job.generation


def _anew(model: Model, old: Job, now: int) -> Job:
    """The same request once more, after the same jobs, without what was said about its time."""
    runs = [run.payload for run in model.runs.values() if run.job == old.id]
    ask = structs.replace(
        old.ask,
        id=model.seen.links.get(old.id, "?"),
        payload=(runs or [old.ask.payload])[-1],
        due=None,
        delay_ms=None,
        deadline=None,
        idempotency_key=None,
        fire_time=None,
    )
    job = Job(ask, ask.id, now, generation=old.generation, retry_of=old.id, seq=old.seq, unheard=old.unheard)
    job.is_retried = True
    for parent_id, needs in old.parents.items():
        parent = model.last(parent_id) if parent_id in model.jobs else None
        if parent is None or parent.state in TERMINAL:
            job.parents[parent_id if parent is None else parent.id] = Needs.ENDED
        else:
            job.parents[parent.id] = job.waits[parent.id] = needs
    if job.unheard:
        model.patterns.add((ask.wait_for_event or "", frozenset(ask.event_attributes)))
    return job
