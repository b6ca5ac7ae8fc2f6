"""What people and programs set: schedules and their templates, webhooks, queues and tenants."""

from __future__ import annotations

from holdfast.core.gates.crowding import CrowdingRules
from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.messages.schedules import DeclaredSchedule, NewSchedule, Origin
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.messages.webhooks import NewWebhook, WebhookChanges
from holdfast.core.settings.queue_changes import QueueChanges, QueueSetting
from holdfast.core.tasks.task import TemplateOptions
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.maintenance.clockwork import tick
from holdfast.store.scripts.queues.crowding import note_crowded
from holdfast.store.scripts.queues.queues import resume, set_limit, set_queue
from holdfast.store.scripts.queues.tenants import clear_weight, note_activity, set_weight
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.schedules.declaring import declare_schedules, schedule_task
from holdfast.store.scripts.schedules.firing import give_up, run_schedule_now
from holdfast.store.scripts.schedules.schedules import delete_schedule
from holdfast.store.scripts.schedules.templates import archive_template, enqueue_from_template, put_template
from holdfast.store.scripts.webhooks.deliveries import redeliver, send_test
from holdfast.store.scripts.webhooks.webhooks import (
    delete_webhook,
    edit_webhook,
    note_gone,
    pause_webhook,
    put_webhook,
    resume_webhook,
)
from tests.chaos.scenarios.shared import DAY, DOOMED, HOPELESS, NOW, SUBJECT, Scenario, begin, job, put, take
from tests.chaos.scenarios.work import probing_world, scheduled_world
from tests.store.acts import write

LATER = NOW + 2
APP = "app"


def template(name: str) -> NewTemplate:
    """A template of the one task there is, whose jobs have a subject and a tenant."""
    return NewTemplate(id=f"t-{name}", name=name, task="work", options=TemplateOptions(subject=SUBJECT, tenant="team"))


def schedule(name: str, owner: str | None = None) -> NewSchedule:
    """Every minute; by hand, or as the code of a program declares it."""
    origin = Origin.API if owner is None else Origin.CODE
    return NewSchedule(id=f"s-{name}", name=name, template=name, cron="* * * * *", origin=origin, owner=owner)


def declared(*names: str) -> list[DeclaredSchedule]:
    """Schedules of a program."""
    return [DeclaredSchedule(template=template(name), schedule=schedule(name, APP)) for name in names]


def ruled_world(engine: Engine) -> dict[str, Claimed]:
    """Schedules of people and of a program, some with a template of their own."""
    runs = scheduled_world(engine)
    write(engine, schedule_task, template("old"), schedule("old"), NOW)
    write(engine, declare_schedules, declared("kept", "dropped"), [APP], NOW)
    wanted = NewWebhook(id="hook", url="http://hook.example", patterns=("schedule.*",), secret="a-secret-of-ours")
    write(engine, put_webhook, wanted, NOW)
    return runs


def act_schedules(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, schedule_task, template("new"), schedule("new"), LATER, repeated=True)
    write(engine, run_schedule_now, "each", "by-hand", LATER, repeated=True)
    write(engine, delete_schedule, "old", LATER, repeated=True)


def act_declare(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, declare_schedules, declared("kept", "brought"), [APP], LATER)


def act_give_up(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, give_up, "s-broken", "its jobs cannot be stored", LATER)


def act_templates(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, put_template, template("new"), LATER)
    write(engine, enqueue_from_template, "new", "by-hand", LATER, repeated=True)


def act_archive(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, archive_template, "t-clean", LATER)


def delivering_world(engine: Engine) -> dict[str, Claimed]:
    """Of three webhooks one has a delivery that failed for good, and one that is under way."""
    begin(engine, DOOMED)
    for name in ("hook", "other-hook", "third-hook"):
        url = f"http://{name}.example"
        wanted = NewWebhook(id=name, name=name, url=url, patterns=("siege:*",), secret="a-secret-of-ours")
        write(engine, put_webhook, wanted, NOW)
    failed = deliver(engine, "event").values()
    write(engine, finish, [Report(run.run_id, run.job_id, HOPELESS, 5) for run in failed], NOW)
    return deliver(engine, "another-event")


def deliver(engine: Engine, event: str) -> dict[str, Claimed]:
    """Begin to tell all of them."""
    write(engine, emit, event, "siege:go", {}, NOW)
    write(engine, tick, NOW)
    return take(engine, DOOMED)


def act_webhooks(engine: Engine, runs: dict[str, Claimed]) -> None:
    new = NewWebhook(
        id="new", name="new", url="http://new.example", patterns=("job.*",), secret="another-secret-of-ours"
    )
    write(engine, put_webhook, new, LATER, repeated=True)
    write(engine, edit_webhook, "new", WebhookChanges(patterns=("group.*", "siege:*")), LATER)
    write(engine, pause_webhook, "other-hook", LATER)
    write(engine, resume_webhook, "other-hook", LATER)
    write(engine, delete_webhook, "third-hook", LATER)


def act_send(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, redeliver, "hook", LATER)
    write(engine, send_test, "hook", LATER)
    for run in sorted(runs.values(), key=lambda run: run.payload):
        write(engine, note_gone, run.run_id, LATER)


def tripped_world(engine: Engine) -> dict[str, Claimed]:
    """A queue whose breaker has opened, with a rate and jobs of two tenants."""
    runs = probing_world(engine)
    write(engine, set_queue, "default", QueueChanges(rate_limit=100, rate_window_ms=DAY))
    put(engine, job("ours", tenant="ours"), job("theirs", tenant="theirs"))
    write(engine, set_weight, "theirs", 30)
    return runs


def act_note_crowded(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, note_crowded, CrowdingRules(), NOW + DAY)


def act_queues(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, resume, "default", LATER)
    write(engine, set_limit, "default", 40)
    write(engine, set_queue, "default", QueueChanges(clear=(QueueSetting.RATE, QueueSetting.BREAKER)))


def act_tenants(engine: Engine, runs: dict[str, Claimed]) -> None:
    write(engine, set_weight, "ours", 30)
    write(engine, note_activity, "ours", LATER)
    write(engine, clear_weight, "theirs")


SETTINGS: dict[str, Scenario] = {
    "schedules": Scenario(ruled_world, act_schedules, commits=3),
    "declare": Scenario(ruled_world, act_declare),
    "give up": Scenario(ruled_world, act_give_up),
    "templates": Scenario(ruled_world, act_templates, commits=2),
    "archive": Scenario(ruled_world, act_archive),
    # What was deleted is not found again.
    "webhooks": Scenario(delivering_world, act_webhooks, commits=5, can_repeat=False),
    # Each time it sends another one.
    "send": Scenario(delivering_world, act_send, commits=5, can_repeat=False),
    "note crowded": Scenario(tripped_world, act_note_crowded),
    "queues": Scenario(tripped_world, act_queues, commits=3),
    "tenants": Scenario(tripped_world, act_tenants, commits=3),
}
