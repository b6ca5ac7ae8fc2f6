"""Queues that stop after failures of the machine, in the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holdfast.core.jobs.recovery import CRASH_CODE
from holdfast.core.jobs.settle import Broke, Outcome, Outdated, StoppedByCancel, Yielded
from holdfast.core.values.retry import FailureKind
from tests.model import news
from tests.model.records import Breaker, Job

if TYPE_CHECKING:
    from tests.model.model import Model

DAY = 86_400_000
CLOCKS_DIFFER = 60_000


def may_start(model: Model, queue: str, now: int) -> int:
    """As many as one likes; none while it is open or somebody probes; or one."""
    found = model.breakers.get(queue)
    if found is None or found.opened is None or found.half_opens is None:
        return 1_000_000
    probe = model.jobs.get(found.probe or "")
    is_over = found.half_opens <= now or found.opened > now + CLOCKS_DIFFER
    return int(is_over and (probe is None or probe.state != "RUNNING"))


def note_start(model: Model, job: Job, now: int) -> None:
    """Whoever starts while it is half-open probes."""
    found = model.breakers.get(job.ask.queue)
    if found is not None and found.opened is not None:
        found.probe = job.id
        if not found.half_open:
            found.half_open = True
            _tell(model, job.ask.queue, found, "half-open", now)


def note_end(model: Model, job: Job, outcome: Outcome, now: int) -> None:
    """A worker tells how a run ended."""
    match outcome:
        case Yielded() | StoppedByCancel() | Outdated():
            return
        case Broke(failure=failure) if failure.kind is FailureKind.INFRA:
            about = {"job_id": job.id, "task": job.ask.task, "code": failure.code}
            _fail(model, job.ask.queue, job.id, about, now)
        case _:
            found = model.breakers.get(job.ask.queue)
            if found is not None and (found.opened is None or found.probe == job.id):
                del model.breakers[job.ask.queue]
                if found.opened is not None:
                    _tell(model, job.ask.queue, found, "closed", now)


def note_crash(model: Model, jobs: Iterable[Job], now: int) -> None:
    """A process died with these: once for each queue."""
    by_queue: dict[str, list[str]] = {}
    for job in jobs:
        by_queue.setdefault(job.ask.queue, []).append(job.id)
    for queue, lost in sorted(by_queue.items()):
        found = model.breakers.get(queue)
        probe = found.probe if found is not None and found.probe in lost else None
        _fail(model, queue, probe, {"code": CRASH_CODE, "runs": str(len(lost))}, now)


def _fail(model: Model, queue: str, job_id: str | None, about: dict[str, str], now: int) -> None:
    if queue == news.WEBHOOK_QUEUE:
        return
    news.publish(model, "alert.infra", {"queue": queue} | about, now)
    most, span = model.queue(queue).breaker
    found = model.breakers.get(queue)
    opened = found is not None and found.opened is not None
    if not most or (opened and found is not None and (job_id is None or found.probe != job_id)):
        return
    others = model.breakers.items()
    model.breakers = {name: one for name, one in others if one.opened is not None or one.failed >= now - DAY}
    is_old = found is None or (not opened and abs(now - found.failed) > DAY)
    failures = 1 if is_old or found is None else found.failures + 1
    model.breakers[queue] = Breaker(failures, now)
    if failures >= most or opened:
        model.breakers[queue] = Breaker(failures, now, now, now + span)
        _tell(model, queue, model.breakers[queue], "open", now)


def half_open(model: Model, now: int) -> None:
    """The clock lets one job try."""
    for queue, found in sorted(model.breakers.items()):
        if found.opened is not None and found.half_opens is not None and not found.half_open:
            found.half_open = found.half_opens <= now or found.opened > now + CLOCKS_DIFFER
            if found.half_open:
                _tell(model, queue, found, "half-open", now)


def close(model: Model, queue: str, now: int) -> None:
    """Somebody says that all is well."""
    found = model.breakers.pop(queue, None)
    if found is not None and found.opened is not None:
        _tell(model, queue, found, "closed", now)


def _tell(model: Model, queue: str, found: Breaker, state: str, now: int) -> None:
    news.publish(model, "alert.breaker", {"queue": queue, "state": state, "failures": str(found.failures)}, now)
