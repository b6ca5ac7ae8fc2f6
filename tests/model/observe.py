"""What can be seen from outside, in one shape for the store and for the model, so that the two can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple
from typing import Any

from msgspec import json

from holdfast.core.job import StateName as S
from holdfast.core.values.retry import RetryPolicy
from holdfast.store.engine import Tx
from holdfast.store.scripts.groups.groups import view_group
from holdfast.store.scripts.maintenance.clockwork import next_moment
from holdfast.store.scripts.maintenance.doctor import broken_invariants
from holdfast.store.scripts.reading.read_jobs import counts
from holdfast.store.statements import Statement, pyformat, statements
from tests.model import commands, news
from tests.model.model import Model
from tests.model.news import WEBHOOK_QUEUE
from tests.model.records import Delivery, Job, Queue, Schedule, Seen

Things = dict[str, dict[Any, Any]]


def statement(text: str) -> Statement:
    """A query of the test's own, in both dialects."""
    return Statement(text, text, pyformat(text))


def any_broken() -> Statement:
    """The names of the invariants that do not hold, in one query: each of its own would take most of a step."""
    invariants = statements("sql/invariants")
    found = [getattr(invariants, name) for name in invariants.names]

    def joined(texts: Iterable[str]) -> str:
        named = zip(invariants.names, texts, strict=True)
        return " UNION ALL ".join(f"SELECT '{name}' AS name WHERE EXISTS (\n{text}\n)" for name, text in named)

    return Statement("any_broken", joined(one.sqlite for one in found), joined(one.postgres for one in found))


JOBS = statement("SELECT * FROM jobs ORDER BY number")
QUEUED = statement(
    "SELECT queue, tenant, id FROM jobs WHERE state = 'QUEUED' ORDER BY priority DESC, position, created_at, id"
)
RUNS = statement("SELECT * FROM job_runs")
WAITS = statement("SELECT job_id, key, value FROM job_conditions WHERE satisfied_at IS NULL")
SESSIONS = statement("SELECT id, status, stop_requested_at, last_heartbeat_at FROM sessions")
HELD = statement(
    "SELECT id, scope, session_id, ttl_ms, expires_at, status, granted_at, reserved_at FROM direct_reservations"
)
SUBJECTS = statement("SELECT job_type, subject_key, generation FROM subjects")
QUEUES = statement("SELECT * FROM queues")
TENANTS = statement("SELECT queue, tenant, virtual_time, weight, active_until, starts FROM tenants")
CLOCKS = statement("SELECT queue, virtual_time FROM queue_clocks")
LETTERS = statement("SELECT job_id, kind, failed_at, closed_as, retried_as FROM dead_letters")
BREAKERS = statement(
    "SELECT queue, failures, failed_at, opened_at, half_opens_at, is_half_open = 1, probe FROM queue_breakers"
)
GROUPS = statement("SELECT id FROM job_groups")
EVENTS = statement("SELECT id, number, name, attributes, emitted_at, is_spreading FROM events")
CAME = statement("SELECT job_id, satisfied_by FROM job_conditions WHERE key = 'event' AND satisfied_by IS NOT NULL")
PATTERNS = statement("SELECT pattern, attributes FROM event_patterns WHERE owner = ''")
MACHINES = statement("SELECT node, is_idle, is_charging FROM machines")
WEBHOOKS = statement("SELECT id, patterns, is_enabled FROM webhooks")
DELIVERIES = statement("SELECT id, webhook_id, event_id, job_id FROM webhook_deliveries")
SCHEDULES = statement("SELECT * FROM schedules")
ANY_BROKEN = any_broken()
SKIPS = statement("SELECT schedule_id, reason, ticks, last_fire_time FROM schedule_skips")


def in_store(tx: Tx) -> tuple[Things, Seen]:
    """Everything in the store that the model speaks of, and what the store alone could choose."""
    jobs = tx.rows(JOBS)
    queues = tx.rows(QUEUES)
    ready: dict[tuple[str, str], list[str]] = {}
    for row in tx.rows(QUEUED):
        ready.setdefault((row["queue"], row["tenant"]), []).append(row["id"])
    waits: dict[str, set[tuple[str, str]]] = {}
    for row in tx.rows(WAITS):
        waits.setdefault(row["job_id"], set()).add((row["key"], row["value"]))
    events = {row["id"]: row | {"about": json.decode(row["attributes"])} for row in tx.rows(EVENTS)}
    payloads = {row["id"]: row["payload"] for row in jobs if row["queue"] == WEBHOOK_QUEUE}
    deliveries = tx.rows(DELIVERIES)
    skips: dict[str, dict[str, tuple[int, int]]] = {}
    for row in tx.rows(SKIPS):
        skips.setdefault(row["schedule_id"], {})[row["reason"]] = (row["ticks"], row["last_fire_time"])
    things: Things = {
        "job": {row["id"]: _stored(row, waits) for row in jobs},
        "ready": ready,
        "run": {
            row["id"]: (row["job_id"], row["attempt"], row["session_id"], row["params_snapshot"], row["status"])
            for row in tx.rows(RUNS)
        },
        "session": {
            row["id"]: (row["last_heartbeat_at"], row["status"], row["stop_requested_at"] is not None)
            for row in tx.rows(SESSIONS)
        },
        "reservation": {row.pop("id"): tuple(row.values()) for row in tx.rows(HELD)},
        "subject": {(row["job_type"], row["subject_key"]): row["generation"] for row in tx.rows(SUBJECTS)},
        "limit": {row["name"]: row["concurrency"] for row in queues if row["concurrency"] is not None},
        "paused": {row["name"]: True for row in queues if row["paused_at"] is not None},
        "settings": {row["name"]: found for row in queues if (found := _set_up(row)) != NOTHING_SET},
        "tenant": {(row["queue"], row["tenant"]): _sharing(row) for row in tx.rows(TENANTS)},
        "turns": {row["queue"]: round(row["virtual_time"], 9) for row in tx.rows(CLOCKS)},
        "breaker": {row.pop("queue"): tuple(row.values()) for row in tx.rows(BREAKERS)},
        "letter": {row.pop("job_id"): tuple(row.values()) for row in tx.rows(LETTERS)},
        "group": {row["id"]: view_group(tx, row["id"]).status for row in tx.rows(GROUPS)},
        "count": {(count.queue, count.state): count.jobs for count in counts(tx)},
        "clock": {"next": next_moment(tx)},
        "event": {
            event_id: (row["name"], row["about"], row["emitted_at"], bool(row["is_spreading"]))
            for event_id, row in events.items()
        },
        "came": {row["job_id"]: row["satisfied_by"] for row in tx.rows(CAME)},
        "pattern": {(row["pattern"], frozenset(json.decode(row["attributes"]))): True for row in tx.rows(PATTERNS)},
        "machine": {row["node"]: (bool(row["is_idle"]), bool(row["is_charging"])) for row in tx.rows(MACHINES)},
        "webhook": {
            row["id"]: (tuple(json.decode(row["patterns"])), bool(row["is_enabled"])) for row in tx.rows(WEBHOOKS)
        },
        "delivery": {
            row["id"]: (row["webhook_id"], row["event_id"], row["job_id"], _sent(payloads[row["job_id"]]))
            for row in deliveries
        },
        "schedule": {row["id"]: _timed(row, skips.get(row["id"], {})) for row in tx.rows(SCHEDULES)},
        "broken": {found.invariant: found.rows for found in broken_invariants(tx)} if tx.rows(ANY_BROKEN) else {},
    }
    return things, Seen(
        runs={row["id"]: row["run_id"] for row in jobs if row["run_id"]},
        links={row["retry_of"]: row["id"] for row in jobs if row["retry_of"]},
        times={row["id"]: row["scheduled_at"] for row in jobs},
        ticks={(row["schedule_id"], row["fire_time"]): row["id"] for row in jobs if row["retry_of"] is None},
        events={event_id: (row["name"], row["about"]) for event_id, row in events.items()},
        numbers={event_id: row["number"] for event_id, row in events.items()},
        deliveries={(row["webhook_id"], row["event_id"]): (row["id"], row["job_id"]) for row in deliveries},
        payloads=payloads,
    )


NOTHING_SET = (None, None, "reject", None, None, (5, 30_000))


def _set_up(row: dict[str, Any]) -> tuple[Any, ...]:
    rate = None if row["rate_limit"] is None else (row["rate_limit"], row["rate_window_ms"])
    retry = None if row["retry"] is None else json.decode(row["retry"], type=RetryPolicy)
    breaker = (row["breaker"], row["breaker_for_ms"])
    return (rate, row["max_length"], row["overflow"], retry, row["opens_at"], breaker)


def _sharing(row: dict[str, Any]) -> tuple[Any, ...]:
    """Whether a tenant waits for a turn is not told: the store may find out late that it has nothing left."""
    return (round(row["virtual_time"], 9), row["weight"], row["active_until"], row["starts"])


def _sent(payload: str) -> dict[str, Any]:
    """What a delivery says, without what only the store could choose."""
    said: dict[str, Any] = json.decode(payload)
    return {name: value for name, value in said.items() if name != "delivery_id"}


def _timed(row: dict[str, Any], skips: dict[str, tuple[int, int]]) -> tuple[Any, ...]:
    settled = row["created_at"] if row["last_fire_time"] is None else row["last_fire_time"]
    return (
        (row["name"], row["template_id"], row["cron_expression"], row["misfire"], row["overlap"], row["jitter_ms"]),
        (bool(row["enabled"]), row["disabled_reason"], settled, row["next_trigger_at"]),
        (row["fires"], row["last_triggered_at"], skips),
    )


def _stored(row: dict[str, Any], waits: dict[str, set[tuple[str, str]]]) -> dict[str, Any]:
    live = row["finished_at"] is None
    return {
        "state": row["state"],
        "lane": (row["queue"], row["tenant"], row["priority"], row["position"]),
        "task": row["job_type"],
        "payload": row["payload"],
        "bounds": (row["ttl_ms"], row["deadline"]),
        "labels": (row["user_tag"], row["idempotency_key"]),
        "policy": (row["retry_mode"], row["max_retries"], row["max_infra"], row["backoff_initial_ms"]),
        "subject": (row["subject_key"], row["generation"]),
        "at": (row["created_at"], row["finished_at"]),
        "due": row["scheduled_at"] if row["state"] == S.SCHEDULED else None,
        "queued": row["queued_at"] if row["state"] == S.QUEUED else None,
        "tries": (row["attempts"], row["transient_tries"], row["infra_tries"], row["deaths"]),
        "suspect": bool(row["is_suspect"]) if live else None,
        "owner": (row["run_id"], row["session_id"], row["stop_reason"]),
        "links": (row["retry_of"], row["group_id"], row["group_seq"]),
        "wishes": (bool(row["wait_for_idle"]), bool(row["require_charging"]), row["wait_for_event"]),
        "tokens": (row["cpu"], row["gpu"], row["io"], bool(row["has_aged"])),
        "passed": row["tokens_since"] if row["state"] == S.QUEUED else None,
        "tick": (row["template_id"], row["schedule_id"], row["fire_time"]),
        "waits": waits.get(row["id"], set()) if live else None,
        "parked": row["error_code"] == "ERR_POISON",
        "reason": row["reason"],
    }


def in_model(model: Model) -> Things:
    """The same of the model."""
    ready: dict[tuple[str, str], list[str]] = {}
    for job in sorted(model.find(S.QUEUED), key=lambda job: job.rank):
        ready.setdefault(job.line[:2], []).append(job.id)
    return {
        "job": {job.id: _modelled(job) for job in model.jobs.values()},
        "ready": ready,
        "run": {
            run_id: (run.job, run.attempt, run.session, run.payload, run.status) for run_id, run in model.runs.items()
        },
        "session": {name: astuple(session)[:3] for name, session in model.sessions.items()},
        "reservation": {name: astuple(held) for name, held in model.held.items()},
        "subject": dict(model.newest),
        "limit": {queue: limit for queue, limit in model.limits.items() if limit is not None},
        "paused": dict.fromkeys(model.paused, True),
        "settings": {
            name: found for name, queue in model.queues.items() if (found := _modelled_queue(queue)) != NOTHING_SET
        },
        "tenant": {place: (round(tenant.virtual, 9), *astuple(tenant)[1:]) for place, tenant in model.tenants.items()},
        "turns": {queue: round(clock, 9) for queue, clock in model.clocks.items()},
        "breaker": {queue: astuple(breaker) for queue, breaker in model.breakers.items()},
        "letter": {job_id: astuple(letter) for job_id, letter in model.letters.items()},
        "group": {name: news.group_status(model, name) for name in model.groups},
        "count": dict(Counter((job.ask.queue, str(job.state)) for job in model.jobs.values())),
        "clock": {"next": commands.next_moment(model)},
        "event": {name: (*astuple(event)[:3], event.spreads) for name, event in model.events.items()},
        "came": {job.id: job.came for job in model.jobs.values() if job.came},
        "pattern": dict.fromkeys(model.patterns, True),
        "machine": {node: astuple(machine) for node, machine in model.machines.items()},
        "webhook": {name: astuple(webhook) for name, webhook in model.webhooks.items()},
        "delivery": {name: _modelled_delivery(sent) for name, sent in model.deliveries.items()},
        "schedule": {name: _modelled_schedule(schedule) for name, schedule in model.schedules.items()},
        "broken": {},
    }


def _modelled(job: Job) -> dict[str, Any]:
    live = job.ended is None
    policy = job.policy
    waits = {(f"after:{parent}", str(needs)) for parent, needs in job.waits.items()}
    waits |= {(f"group:{job.behind}", "group")} if job.behind else set()
    waits |= _unheard(job) if job.unheard else set()
    return {
        "state": job.state,
        "lane": (*job.line, job.position),
        "task": job.ask.task,
        "payload": job.ask.payload,
        "bounds": (job.ask.ttl_ms, job.ask.deadline),
        "labels": (job.ask.tag, job.ask.idempotency_key),
        "policy": (policy.mode, policy.retries, policy.infra, policy.initial_ms),
        "subject": (job.ask.subject, job.generation),
        "at": (job.created, job.ended),
        "due": job.due if job.state is S.SCHEDULED else None,
        "queued": job.queued if job.state is S.QUEUED else None,
        "tries": (job.attempts, job.transient, job.infra, job.deaths),
        "suspect": job.suspect if live else None,
        "owner": (job.run, job.session, job.stop),
        "links": (job.retry_of, job.ask.group_id, job.seq),
        "wishes": (job.ask.wait_for_idle, job.ask.require_charging, job.ask.wait_for_event),
        "tokens": (job.ask.tokens.cpu, job.ask.tokens.gpu, job.ask.tokens.io, job.aged),
        "passed": job.passed if job.state is S.QUEUED else None,
        "tick": (job.ask.template_id, job.ask.schedule_id, job.ask.fire_time),
        "waits": waits if live else None,
        "parked": job.why == "parked",
        "reason": job.why,
    }


def _modelled_queue(queue: Queue) -> tuple[Any, ...]:
    return (queue.rate, queue.most, "shed" if queue.sheds else "reject", queue.retry, queue.opens, queue.breaker)


def _unheard(job: Job) -> set[tuple[str, str]]:
    """One condition for the event, whose value holds all that it must be, and one for each attribute."""
    wanted = job.ask.event_attributes
    text = ",".join(f'"{name}":"{value}"' for name, value in sorted(wanted.items()))
    event = f"{job.ask.wait_for_event}?{{{text}}}" if wanted else job.ask.wait_for_event or ""
    return {("event", event), *((f"event.{name}", value) for name, value in wanted.items())}


def _modelled_delivery(sent: Delivery) -> tuple[Any, ...]:
    said = {
        "webhook_id": sent.webhook,
        "event_id": sent.event_id,
        "event_name": sent.event.name,
        "emitted_at": sent.event.at,
        "attributes": sent.event.about,
        "key": sent.key,
    }
    return (sent.webhook, sent.event_id, sent.job, said)


def _modelled_schedule(schedule: Schedule) -> tuple[Any, ...]:
    ask = schedule.ask
    return (
        (ask.name, ask.template, ask.cron, ask.misfire, ask.overlap, ask.jitter_ms),
        (schedule.enabled, schedule.reason, schedule.settled, schedule.next),
        (schedule.fires, schedule.fired, schedule.skips),
    )


def differences(store: Things, model: Things) -> list[str]:
    """Every place where the two disagree."""
    found = []
    for kind in store:
        for key in store[kind].keys() | model[kind].keys():
            left, right = store[kind].get(key), model[kind].get(key)
            if kind == "job" and left and right:
                found += [
                    f"job {key} {name}: store {left[name]!r}, model {right[name]!r}"
                    for name in left
                    if not _agrees(name, left[name], right[name])
                ]
            elif not _same(kind, left, right):
                found.append(f"{kind} {key}: store {left!r}, model {right!r}")
    return sorted(found)


def _same(kind: str, left: Any, right: Any) -> bool:
    """Of what an event says about a job the model knows a part."""
    if kind == "event" and left and right:
        return bool(right[1].items() <= left[1].items()) and left[:1] + left[2:] == right[:1] + right[2:]
    if kind == "delivery" and left and right:
        known = right[3]["attributes"]
        masked = left[3] | {"attributes": {name: left[3]["attributes"].get(name) for name in known}}
        return bool(left[:3] == right[:3] and masked == right[3])
    return bool(left == right)


def _agrees(name: str, left: Any, right: Any) -> bool:
    """Of a reason the model knows a few words, or nothing."""
    return right in (left or "") if name == "reason" else bool(left == right)
