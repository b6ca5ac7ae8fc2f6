"""Events in the model: who waits for one, what becomes of it, and which ones jobs, groups and machines make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from holdfast.core.errors import Conflict, Reserved
from holdfast.core.job import WAITING
from holdfast.core.job import StateName as S
from holdfast.core.values.event import RESERVED_EVENTS
from holdfast.core.values.group import GroupStatus
from holdfast.core.values.retry import RetryPolicy
from tests.model.records import Ask, Delivery, Event, Job, Machine, Webhook

if TYPE_CHECKING:
    from tests.model.model import Model

WEBHOOK_QUEUE = "holdfast.webhooks"
WEBHOOK_TASK = "holdfast.webhook"
LIVE = WAITING | {S.RUNNING}


def is_meant(pattern: str, name: str) -> bool:
    """An exact name, or the beginning of one and a star."""
    return name == pattern or (pattern[-1:] == "*" and name.startswith(pattern[:-1]))


def fits(job: Job, event: Event) -> bool:
    """Whether this event is what a job waits for: name, every attribute, and it came after the job."""
    wanted = job.ask.event_attributes
    is_wanted = is_meant(job.ask.wait_for_event or "", event.name) and wanted.items() <= event.about.items()
    return job.unheard and job.number <= event.upto and is_wanted


def awaited(model: Model, event: Event) -> list[str]:
    """The jobs that wait for an event."""
    return [job.id for job in model.find(S.SCHEDULED) if fits(job, event)]


def is_heard(model: Model, name: str, about: Mapping[str, str]) -> bool:
    """Whether somebody listens: a job with such a wish was known lately, or a webhook is there."""
    jobs = any(is_meant(pattern, name) and names <= about.keys() for pattern, names in model.patterns)
    return jobs or bool(listeners(model, name))


def listeners(model: Model, name: str) -> list[str]:
    """The webhooks that are told of such an event."""
    return sorted(
        hook_id
        for hook_id, hook in model.webhooks.items()
        if hook.enabled and any(is_meant(pattern, name) for pattern in hook.patterns)
    )


def emit(model: Model, event_id: str, name: str, about: dict[str, str], now: int, repeated: bool) -> int:
    """Somebody says that something happened. How many jobs wait for it."""
    if name.startswith(RESERVED_EVENTS):
        raise Reserved(name)
    if event_id in model.events and not repeated:
        raise Conflict(event_id)
    if event_id not in model.events:
        model.events[event_id] = Event(
            name, about, now, model.numbers, is_heard(model, name, about), number_of(model, event_id)
        )
    return len(awaited(model, model.events[event_id]))


def publish(model: Model, name: str, about: dict[str, str], now: int) -> None:
    """What happens by itself is kept if somebody listens, or ought to. Which id it got, only the store knows."""
    heard = is_heard(model, name, about)
    if heard or name.startswith(("alert.", "pressure.")):
        found = sorted(
            event_id
            for event_id, (known, values) in model.seen.events.items()
            if known == name and about.items() <= values.items() and event_id not in model.events
        )
        event_id = found[0] if found else f"?{len(model.events)}"
        model.events[event_id] = Event(name, about, now, model.numbers, heard, number_of(model, event_id))


def number_of(model: Model, event_id: str) -> int:
    """The number that the store has given to an event."""
    return model.seen.numbers.get(event_id, 0)


def spread(model: Model, now: int) -> bool:
    """The oldest event that is under way reaches everybody who waits for it. Whether there was one."""
    under_way = sorted((event.number, event_id) for event_id, event in model.events.items() if event.spreads)
    if not under_way:
        return False
    event_id = under_way[0][1]
    event = model.events[event_id]
    for job in list(model.jobs.values()):
        if fits(job, event):
            job.unheard, job.came = False, event_id
            if job.state is S.SCHEDULED:
                model.meet(job, event.at, now)
    for hook_id in listeners(model, event.name):
        _deliver(model, hook_id, event_id, event, now)
    event.spreads = False
    return True


def _deliver(model: Model, hook_id: str, event_id: str, event: Event, now: int) -> None:
    delivery, job_id = model.seen.deliveries.get((hook_id, event_id), (f"?{hook_id}{event_id}", "?"))
    policy = RetryPolicy(retries=3, initial_ms=5_000, factor=3.0)
    payload = model.seen.payloads.get(job_id, "?")
    tenant = f"webhook::{hook_id}.example:80"
    job = Ask(id=job_id, task=WEBHOOK_TASK, queue=WEBHOOK_QUEUE, payload=payload, policy=policy, tenant=tenant)
    model.enqueue([job], now, guarded=False)
    is_run = event.name.startswith("job.run.") and "run_id" in event.about
    key = event.about["run_id"] if is_run else event_id
    model.deliveries[delivery] = Delivery(hook_id, event_id, event, key, job_id)


def forget(model: Model, before: int, limit: int) -> int:
    """Old events go, but none that is under way; and wishes that nobody has any more."""
    done = sorted((event.at, event.number, event_id) for event_id, event in model.events.items() if not event.spreads)
    old = [found for found in done if found[0] < before][:limit]
    for *_, event_id in old:
        del model.events[event_id]
    if len(old) < limit:
        wanted = {job.ask.wait_for_event for job in model.jobs.values() if job.unheard}
        model.patterns = {(pattern, names) for pattern, names in model.patterns if pattern in wanted}
    return len(old)


# What happens by itself


def tell_ended(model: Model, job: Job, now: int) -> None:
    """Nothing of the system's own is told, or it would feed itself."""
    if job.ask.queue != WEBHOOK_QUEUE:
        publish(model, f"job.{job.state.lower()}", _about(job), now)


def tell_run(model: Model, job: Job, run_id: str, status: str, now: int) -> None:
    if job.ask.queue != WEBHOOK_QUEUE:
        about = _about(job) | {"run_id": run_id, "status": status.lower()}
        publish(model, f"job.run.{status.lower()}", about, now)


def tell_parked(model: Model, job: Job, now: int) -> None:
    if job.ask.queue != WEBHOOK_QUEUE:
        publish(model, "alert.poison", _about(job), now)


def tell_groups(model: Model, jobs: Iterable[Job], now: int) -> None:
    """A group is told of when nobody in it goes on any more."""
    for name in dict.fromkeys(job.ask.group_id for job in jobs):
        if name is not None and group_status(model, name) is not GroupStatus.OPEN:
            states = last_states(model, name)
            about = {
                "group_id": name,
                "status": str(group_status(model, name)),
                "mode": str(model.groups[name].mode),
                "jobs": str(len(states)),
                "done": str(states.count(S.DONE)),
            }
            about |= {"again": "true"} if model.groups[name].reopened else {}
            publish(model, f"group.{about['status'].lower()}", about, now)


def last_states(model: Model, group: str) -> list[S]:
    """How the members of a group stand, each by its last link."""
    continued = {job.retry_of for job in model.jobs.values()}
    return [job.state for job in model.jobs.values() if job.ask.group_id == group and job.id not in continued]


def group_status(model: Model, group: str) -> GroupStatus:
    states = set(last_states(model, group))
    if states & LIVE:
        return GroupStatus.OPEN
    if states <= {S.DONE}:
        return GroupStatus.COMPLETED
    return GroupStatus.CANCELLED if S.CANCELLED in states and S.DONE not in states else GroupStatus.PARTIAL


def _about(job: Job) -> dict[str, str]:
    known = {
        "job_id": job.id,
        "task": job.ask.task,
        "queue": job.ask.queue,
        "state": str(job.state),
        "attempt": str(job.attempts),
        "tag": job.ask.tag,
        "subject": job.ask.subject,
        "group_id": job.ask.group_id,
        "schedule_id": job.ask.schedule_id,
    }
    return {name: value for name, value in known.items() if value}


# Machines and webhooks


def note_machine(model: Model, node: str, idle: bool, charging: bool, now: int) -> bool:
    before = model.machines.get(node)
    model.machines[node] = Machine(idle, charging)
    if before is None or before.idle != idle:
        publish(model, "machine.idle" if idle else "machine.busy", {"node": node}, now)
    if before is None or before.charging != charging:
        publish(model, "machine.charging" if charging else "machine.discharging", {"node": node}, now)
    return True


def put_webhook(model: Model, hook_id: str, patterns: tuple[str, ...]) -> None:
    model.webhooks[hook_id] = Webhook(patterns)


def delete_webhook(model: Model, hook_id: str, now: int) -> None:
    """What is on its way to it is cancelled, and what was sent is forgotten."""
    del model.webhooks[hook_id]
    sent = {name: delivery for name, delivery in model.deliveries.items() if delivery.webhook == hook_id}
    for name, delivery in sent.items():
        job = model.jobs[delivery.job]
        if job.state in WAITING:
            model.end(job, S.CANCELLED, "was deleted", now)
        elif job.state is S.RUNNING:
            job.stop = "cancel"
        del model.deliveries[name]
