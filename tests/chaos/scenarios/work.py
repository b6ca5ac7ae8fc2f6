"""Jobs on their way: enqueue, claim, settle, recover, fire and tell."""

from __future__ import annotations

from msgspec import structs

from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.jobs.settle import Completed, Outcome, Snoozed, StoppedByCancel
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.messages.runs import Progress
from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.messages.webhooks import NewWebhook
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.values.group import GroupMode, OnFailure
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.groups.groups import create_group
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance.clockwork import tick
from holdfast.store.scripts.queues.queues import set_queue
from holdfast.store.scripts.queues.reserve import reserve
from holdfast.store.scripts.runs.exchange import exchange
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.runs.progress import note_start
from holdfast.store.scripts.schedules.firing import fire_due
from holdfast.store.scripts.schedules.schedules import put_schedule
from holdfast.store.scripts.schedules.templates import put_template
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.scripts.webhooks.webhooks import put_webhook
from tests.chaos.scenarios.shared import (
    AGAIN,
    BROKE,
    CHAIN,
    DOOMED,
    HOPELESS,
    KILLED,
    MINUTE,
    NOW,
    ONCE,
    SUBJECT,
    Scenario,
    after,
    begin,
    job,
    put,
    request,
    take,
)


def waiting_world(engine: Engine) -> dict[str, Claimed]:
    begin(engine, DOOMED)
    engine.submit(create_group, "row", None, GroupMode.SEQUENTIAL, OnFailure.STOP, NOW).result()
    put(
        engine, job("one"), job("two", priority=5), job("subject", subject=SUBJECT), job("follower", after=after("one"))
    )
    put(engine, job("first", group_id="row"), job("second", group_id="row"))
    return {}


def running_world(engine: Engine) -> dict[str, Claimed]:
    waiting_world(engine)
    put(
        engine,
        job("again", policy=AGAIN),
        job("chain", policy=CHAIN),
        job("hopeless"),
        job("nap"),
        job("once", policy=ONCE),
    )
    put(engine, job("after-chain", after=after("chain")), job("after-hopeless", after=after("hopeless")))
    put(engine, job("unwanted"), job("kept"))
    runs = take(engine, DOOMED)
    engine.submit(cancel_job, "unwanted", NOW).result()
    put(engine, job("newer", subject=SUBJECT, stop_older=True))
    engine.submit(reserve, NewReservation("reservation", "other", "somebody", DOOMED, 60_000, 0), NOW).result()
    return runs


ENDS: dict[str, Outcome] = {
    "one": Completed('"fine"'),
    "first": Completed("1"),
    "again": BROKE,
    "chain": BROKE,
    "hopeless": HOPELESS,
    "nap": Snoozed(60_000),
    "unwanted": StoppedByCancel(),
    "subject": BROKE,
}


def reports(runs: dict[str, Claimed]) -> list[Report]:
    """How the runs ended, as their worker tells it."""
    return [Report(runs[name].run_id, name, outcome, 5) for name, outcome in ENDS.items()]


def act_enqueue(engine: Engine, runs: dict[str, Claimed]) -> None:
    jobs = (
        job("plain"),
        job("newest", subject=SUBJECT),
        job("late-follower", after=after("follower"), group_id="row"),
        job("later", delay_ms=1_000),
    )
    engine.submit(enqueue, jobs, NOW, repeated=True).result()


def act_claim(engine: Engine, runs: dict[str, Claimed]) -> None:
    take(engine, DOOMED)


def act_finish(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(finish, reports(runs), NOW + 1).result()


def act_exchange(engine: Engine, runs: dict[str, Claimed]) -> None:
    kept = runs["kept"]
    notes = [Progress(kept.job_id, kept.run_id, 0.5, "half way")]
    # What is not listed ("two", "once") never arrived at the worker.
    holds = [runs[name].run_id for name in (*ENDS, "kept")]
    engine.submit(exchange, reports(runs), notes, request(DOOMED), holds, NOW + 1).result()


def act_start(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(note_start, runs["kept"].run_id, DOOMED, 4711, 99, "/log").result()


def lonely_world(engine: Engine) -> dict[str, Claimed]:
    begin(engine, DOOMED)
    put(engine, job("chain", policy=CHAIN), job("after-chain", after=after("chain")))
    return take(engine, DOOMED)


def act_recover(engine: Engine, runs: dict[str, Claimed]) -> None:
    while engine.submit(recover, DOOMED, False, NOW + 2, limit=4).result().more:
        pass


def schedule(engine: Engine, name: str, overlap: Overlap, misfire: Misfire, template: str = "clean") -> None:
    """Every minute."""
    wanted = NewSchedule(
        id=f"s-{name}", name=name, template=template, cron="* * * * *", overlap=overlap, misfire=misfire
    )
    engine.submit(put_schedule, wanted, NOW).result()


def scheduled_world(engine: Engine) -> dict[str, Claimed]:
    begin(engine, DOOMED)
    for name in ("clean", "odd"):
        engine.submit(put_template, NewTemplate(id=f"t-{name}", name=name, task="work"), NOW).result()
    schedule(engine, "each", Overlap.ALLOW, Misfire.ALL)
    schedule(engine, "newest", Overlap.SUPERSEDE, Misfire.LATEST)
    schedule(engine, "alone", Overlap.SKIP, Misfire.ALL)
    schedule(engine, "broken", Overlap.ALLOW, Misfire.ALL, "odd")
    engine.submit(fire_due, NOW + MINUTE).result()
    runs = take(engine, DOOMED, NOW + MINUTE)
    engine.submit(put_template, NewTemplate(id="t-odd", name="odd", task="work", payload="[]"), NOW).result()
    return runs


def act_fire(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(fire_due, NOW + 4 * MINUTE).result()


def listening_world(engine: Engine) -> dict[str, Claimed]:
    waiting_world(engine)
    for name in ("hook", "other-hook"):
        wanted = NewWebhook(id=name, url=f"http://{name}.example", patterns=("siege:*",), secret="a-secret-of-ours")
        engine.submit(put_webhook, wanted, NOW).result()
    put(
        engine,
        job("listener", wait_for_event="siege:*"),
        job("picky", wait_for_event="siege:go", event_attributes={"branch": "main"}, after=after("one")),
        job("teller", wait_for_event="job.done", event_attributes={"job_id": "one"}),
    )
    return take(engine, DOOMED)


def spreading_world(engine: Engine) -> dict[str, Claimed]:
    runs = listening_world(engine)
    engine.submit(emit, "event", "siege:go", {"branch": "main"}, NOW).result()
    return runs


def act_emit(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(emit, "event", "siege:go", {"branch": "main"}, NOW, repeated=True).result()


def act_spread(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(tick, NOW).result()


def act_finish_heard(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(finish, [Report(runs["one"].run_id, "one", Completed("1"), 5)], NOW + 1).result()


def probing_world(engine: Engine) -> dict[str, Claimed]:
    """The breaker has opened, and one job is to show whether all is well again."""
    begin(engine, DOOMED)
    engine.submit(set_queue, "default", QueueChanges(breaker=1, breaker_for_ms=1)).result()
    wanted = NewWebhook(id="hook", url="http://hook.example", patterns=("alert.*",), secret="a-secret-of-ours")
    engine.submit(put_webhook, wanted, NOW).result()
    put(engine, job("one"), job("two"), job("three"))
    runs = {run.job_id: run for run in engine.submit(claim, structs.replace(request(DOOMED), slots=1), NOW).result()}
    engine.submit(finish, [Report(runs["one"].run_id, "one", KILLED, 5)], NOW).result()
    return take(engine, DOOMED, NOW + 1)


def act_fail_probe(engine: Engine, runs: dict[str, Claimed]) -> None:
    engine.submit(finish, [Report(runs["two"].run_id, "two", KILLED, 5)], NOW + 1).result()


WORK: dict[str, Scenario] = {
    "fail probe": Scenario(probing_world, act_fail_probe),
    "emit": Scenario(listening_world, act_emit),
    "spread": Scenario(spreading_world, act_spread),
    "finish heard": Scenario(listening_world, act_finish_heard),
    "fire": Scenario(scheduled_world, act_fire),
    "enqueue": Scenario(waiting_world, act_enqueue),
    "claim": Scenario(waiting_world, act_claim),
    "finish": Scenario(running_world, act_finish),
    # What it never heard of it gives back, so the one who asks again gets other runs.
    "exchange": Scenario(running_world, act_exchange, can_repeat=False),
    "start": Scenario(running_world, act_start),
    "recover": Scenario(running_world, act_recover, commits=3),
    "recover one": Scenario(lonely_world, act_recover),
}
