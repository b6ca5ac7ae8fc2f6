"""Who starts when, in the model: tenants take turns by weight, and a queue starts only so many within a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.model.records import Job, Tenant

if TYPE_CHECKING:
    from tests.model.model import Model

NOBODY = "default"
EVERYWHERE = ""
ACTIVE, FADING = 100, 540_000
RECENT, A_DAY = 30, 86_400_000
CLOCKS_DIFFER = 60_000


def arrive(model: Model, job: Job) -> None:
    """A queue has tenants once somebody else than the default tenant has had a ready job in it."""
    if job.ask.tenant != NOBODY:
        for name in (NOBODY, job.ask.tenant):
            general = model.tenants.get((EVERYWHERE, name), Tenant())
            model.tenants.setdefault((job.ask.queue, name), Tenant(weight=general.weight, active=general.active))


def weight(tenant: Tenant, now: int) -> float:
    if tenant.active is None:
        return tenant.weight
    raised = [
        max(0, to - tenant.weight) * min(1.0, max(0.0, (tenant.active + fading - now) / fading))
        for to, fading in ((ACTIVE, FADING), (RECENT, A_DAY))
    ]
    return tenant.weight + max(raised)


def whose_turn(model: Model, queue: str, names: set[str]) -> str | None:
    """Of these tenants, who is next."""
    clock = model.clocks.get(queue, 0.0)
    known = {name: model.tenants[queue, name] for name in names if (queue, name) in model.tenants}
    if known:
        return min(known, key=lambda name: (max(known[name].virtual, clock), known[name].virtual, name))
    return next(iter(names), None)


def have_turn(model: Model, queue: str, name: str, now: int) -> None:
    """A job of a tenant starts at its turn."""
    tenant = model.tenants.get((queue, name))
    if tenant is not None:
        start = max(tenant.virtual, model.clocks.get(queue, 0.0))
        tenant.virtual, tenant.starts = start + 1 / weight(tenant, now), tenant.starts + 1
        model.clocks[queue] = start


def pay(model: Model, job: Job, now: int) -> None:
    """A job starts before anybody has a turn; the clock of its queue stands still."""
    clock = model.clocks.get(job.ask.queue, 0.0)
    have_turn(model, job.ask.queue, job.ask.tenant, now)
    if (job.ask.queue, job.ask.tenant) in model.tenants:
        model.clocks[job.ask.queue] = clock


def set_weight(model: Model, name: str, weight: int, queue: str | None) -> None:
    model.tenants.setdefault((queue or EVERYWHERE, name), Tenant())
    for (place, known), tenant in model.tenants.items():
        if known == name and queue in (None, place):
            tenant.weight = weight


def note_activity(model: Model, name: str, now: int, lasting: int) -> int:
    model.tenants.setdefault((EVERYWHERE, name), Tenant())
    for (_, known), tenant in model.tenants.items():
        if known == name:
            tenant.active = now + lasting
    return now + lasting


# Rates


def look_at_rate(model: Model, queue: str, now: int) -> int:
    """How many more may start. Whoever finds that it is none sees to it that somebody is woken."""
    free = may_start(model, queue, now)
    if free <= 0:
        model.queues[queue].opens = _opens(model, queue, now)
    return free


def may_start(model: Model, queue: str, now: int) -> int:
    rate = model.queue(queue).rate
    return 1_000_000 if rate is None else max(0, rate[0] - len(_in_window(model, queue, now)))


def note_starts(model: Model, queue: str, count: int, now: int) -> None:
    rate = model.queue(queue).rate
    if rate is not None:
        moment = _moment(model, queue, now)
        model.started[queue] = (*_in_window(model, queue, now), *[moment] * count)
        if may_start(model, queue, now) <= 0:
            model.queues[queue].opens = _opens(model, queue, now)


def _believed(model: Model, queue: str, now: int) -> list[int]:
    """A start that is far ahead was noted by a wrong clock."""
    _, window = model.queue(queue).rate or (0, 0)
    return [moment for moment in model.started.get(queue, ()) if moment <= now + max(window, CLOCKS_DIFFER)]


def _moment(model: Model, queue: str, now: int) -> int:
    return max([now, *_believed(model, queue, now)])


def _in_window(model: Model, queue: str, now: int) -> list[int]:
    _, window = model.queue(queue).rate or (0, 0)
    since = _moment(model, queue, now) - window
    return [moment for moment in _believed(model, queue, now) if moment > since]


def _opens(model: Model, queue: str, now: int) -> int:
    """So many must leave the window that one more fits."""
    most, window = model.queue(queue).rate or (0, 0)
    starts = _in_window(model, queue, now)
    return starts[len(starts) - most] + window
