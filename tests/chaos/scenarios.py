"""Small worlds for kills between statements: what is stored before, and the calls during which a process dies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct, structs

from holdfast.core.group import GroupMode, OnFailure
from holdfast.core.queue import QueueChanges
from holdfast.core.requests import Claimed, ClaimRequest, Dependency, NewJob, QueueSlots, Report
from holdfast.core.retry import Failure, FailureKind, RetryMode, RetryPolicy
from holdfast.core.schedule import Misfire, Overlap
from holdfast.core.settle import Broke, Cancelled, Completed, Outcome, Snoozed
from holdfast.core.webhook import WEBHOOK, WEBHOOK_QUEUE
from holdfast.store.engine import Engine
from holdfast.store.scripts.cancel import cancel_job
from holdfast.store.scripts.claim import claim
from holdfast.store.scripts.clockwork import tick
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.events import emit
from holdfast.store.scripts.exchange import exchange
from holdfast.store.scripts.finish import finish
from holdfast.store.scripts.firing import fire_due
from holdfast.store.scripts.groups import create_group
from holdfast.store.scripts.progress import Progress, note_start
from holdfast.store.scripts.queues import set_queue
from holdfast.store.scripts.recover import recover
from holdfast.store.scripts.reserve import NewReservation, reserve
from holdfast.store.scripts.schedule_rows import NewSchedule
from holdfast.store.scripts.schedules import put_schedule
from holdfast.store.scripts.sessions import NewSession, close_session, open_session
from holdfast.store.scripts.templates import NewTemplate, put_template
from holdfast.store.scripts.webhook_rows import NewWebhook
from holdfast.store.scripts.webhooks import put_webhook

NOW = 1_700_000_000_000
DAY = 86_400_000
MINUTE = 60_000
DOOMED = "doomed"
SUBJECT = "editor::repo::file"

AGAIN = RetryPolicy(retries=1)
CHAIN = RetryPolicy(retries=1, mode=RetryMode.CHAIN)
ONCE = RetryPolicy(infra=0)
BROKE = Broke(Failure(FailureKind.TRANSIENT, "ERR_TEST", "it broke"))
KILLED = Broke(Failure(FailureKind.INFRA, "SIGNAL_9", "it was killed"))
HOPELESS = Broke(Failure(FailureKind.PERMANENT, "ERR_TEST", "it never works"))

QUEUES = (QueueSlots("default", 50), QueueSlots(WEBHOOK_QUEUE, 50))

Act: TypeAlias = Callable[[Engine, dict[str, Claimed]], None]


class Scenario(Struct, frozen=True):
    """`prepare` stores a world and claims in it for the doomed session; `act`, with so many `commits`, is cut short."""

    prepare: Callable[[Engine], dict[str, Claimed]]
    act: Act
    commits: int = 1


def job(job_id: str, **options: Any) -> NewJob:
    """A request for a job of the one task there is."""
    return NewJob(**{"id": job_id, "task": "work"} | options)


def after(job_id: str) -> tuple[Dependency, ...]:
    """Waits for that job."""
    return (Dependency(job_id),)


def put(engine: Engine, *jobs: NewJob) -> None:
    """Enqueue in one transaction."""
    engine.submit(enqueue, jobs, NOW).result()


def request(session: str) -> ClaimRequest:
    """A session asks for all there is."""
    return ClaimRequest(session_id=session, slots=50, queues=QUEUES, tasks=("work", WEBHOOK))


def begin(engine: Engine, session: str) -> None:
    """A session without a lock file, on a machine of its own."""
    engine.submit(open_session, NewSession(session, "embedded", "node", "boot", 1, None), None, NOW).result()


def take(engine: Engine, session: str, now: int = NOW) -> dict[str, Claimed]:
    """Claim all there is; the runs by their jobs."""
    return {run.job_id: run for run in engine.submit(claim, request(session), now).result()}


def work_off(engine: Engine, session: str, now: int) -> None:
    """Another session completes whatever is left, however long it has to wait; what it waits for comes true."""
    begin(engine, session)
    engine.submit(emit, f"end-{session}", "siege:go", {"branch": "main"}, now).result()
    idle = False
    while not idle:
        now += DAY
        while engine.submit(tick, now).result().more:
            pass
        runs = take(engine, session, now).values()
        engine.submit(finish, [Report(run.run_id, run.job_id, Completed("1"), 5) for run in runs], now).result()
        idle = not runs
    engine.submit(close_session, session, "success", now).result()


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
    "unwanted": Cancelled(),
    "subject": BROKE,
}


def reports(runs: dict[str, Claimed]) -> list[Report]:
    """How the runs ended, as their worker tells it."""
    return [Report(runs[name].run_id, name, outcome, 5) for name, outcome in ENDS.items()]


def act_enqueue(engine: Engine, runs: dict[str, Claimed]) -> None:
    put(
        engine,
        job("plain"),
        job("newest", subject=SUBJECT),
        job("late-follower", after=after("follower"), group_id="row"),
        job("later", delay_ms=1_000),
    )


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
    engine.submit(emit, "event", "siege:go", {"branch": "main"}, NOW).result()


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


SCENARIOS: dict[str, Scenario] = {
    "fail probe": Scenario(probing_world, act_fail_probe),
    "emit": Scenario(listening_world, act_emit),
    "spread": Scenario(spreading_world, act_spread),
    "finish heard": Scenario(listening_world, act_finish_heard),
    "fire": Scenario(scheduled_world, act_fire),
    "enqueue": Scenario(waiting_world, act_enqueue),
    "claim": Scenario(waiting_world, act_claim),
    "finish": Scenario(running_world, act_finish),
    "exchange": Scenario(running_world, act_exchange),
    "start": Scenario(running_world, act_start),
    "recover": Scenario(running_world, act_recover, commits=3),
    "recover one": Scenario(lonely_world, act_recover),
}
