"""Full queues in the model: who is refused, and who makes room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from holdfast.core.errors import QueueFull
from holdfast.core.job import WAITING
from holdfast.core.job import StateName as S
from holdfast.core.jobs.requests import NewJob
from holdfast.core.values.group import GroupMode
from tests.model.records import Job

if TYPE_CHECKING:
    from tests.model.model import Model


@dataclass(frozen=True)
class Met:
    """How many waited in a queue when the first of those came that are to be let in, and the newest job then."""

    before: int
    newest: int


def length(model: Model, queue: str) -> int:
    return sum(job.ask.queue == queue for job in model.find(*WAITING))


def refuse_early(model: Model, asked: Iterable[NewJob], now: int) -> None:
    """A flood is refused before anything else of it is looked at, as long as nobody of it can push another aside."""
    newcomers: Counter[str] = Counter()
    for ask in asked:
        group = model.groups.get(ask.group_id or "")
        is_parallel = group is not None and group.mode is GroupMode.PARALLEL
        if not ask.is_plain and not (is_parallel and structs.replace(ask, group_id=None).is_plain):
            return
        queue = ask.line[0]
        if ask.parent_job_id is None and (ask.deadline is None or ask.deadline > now):
            newcomers[queue] += 1
        settings = model.queue(queue)
        if settings.most is None or settings.sheds:
            continue
        if newcomers[queue] and length(model, queue) + newcomers[queue] > settings.most:
            raise QueueFull(queue, 1.0)


def let_in(model: Model, met: dict[str, Met], ids: Iterable[str | None], now: int) -> None:
    """All of those who came, or none: QueueFull."""
    came = [model.jobs[job_id] for job_id in ids if job_id is not None]
    for queue, found in met.items():
        settings = model.queue(queue)
        newcomers = [job for job in came if job.ask.queue == queue and job.arrived in WAITING]
        now_waiting = length(model, queue)
        if settings.most is None or not newcomers or now_waiting <= max(settings.most, found.before):
            continue
        needed = min(now_waiting - settings.most, len(newcomers))
        risers = sorted(job.ask.priority for job in newcomers)[-needed:]
        victims = candidates(model, queue, max(risers), needed, found.newest) if settings.sheds else []
        if len(victims) < needed or any(job.ask.priority >= riser for job, riser in zip(victims, risers, strict=True)):
            raise QueueFull(queue, 1.0)
        for job in victims:
            job.state = S.CANCELLED
        for job in victims:
            model.end(job, S.CANCELLED, "was full", now)


def candidates(model: Model, queue: str, below: int, needed: int, newest: int) -> list[Job]:
    """Those of low priority that never ran: of each line of ready ones its end, and of the others the newest."""
    able = [
        job
        for job in model.find(*WAITING)
        if job.ask.queue == queue and job.ask.priority < below and job.attempts == 0 and job.number <= newest
    ]
    lines: dict[tuple[str, bool, bool, int] | None, list[Job]] = {}
    for job in able:
        place = (job.ask.tenant, job.ask.wait_for_idle, job.ask.require_charging, job.ask.tokens.lanes)
        lines.setdefault(place if job.state is S.QUEUED else None, []).append(job)
    found: list[Job] = []
    for line, jobs in lines.items():
        if line is None:
            jobs.sort(key=lambda job: (job.ask.priority, -job.number))
        else:
            jobs.sort(key=lambda job: (job.ask.priority, -job.position, -job.created, _backwards(job.id)))
        found += jobs[:needed]
    return sorted(found, key=lambda job: (job.ask.priority, -job.number))[:needed]


def how_many_fit(model: Model, queue: str, priority: int, wanted: int, in_place_of: Iterable[Job]) -> int:
    """Of jobs of one priority that a schedule would make, once those have gone that make way."""
    settings = model.queue(queue)
    if settings.most is None:
        return wanted
    going = {job.id for job in in_place_of if job.ask.queue == queue and job.state in WAITING}
    room = max(0, settings.most - length(model, queue) + len(going))
    if room < wanted and settings.sheds:
        found = candidates(model, queue, priority, wanted - room + len(going), model.numbers)
        room += sum(job.id not in going for job in found)
    return min(room, wanted)


def _backwards(text: str) -> list[int]:
    return [-ord(letter) for letter in text]
