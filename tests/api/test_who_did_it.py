"""Whatever a user of the daemon makes says which user it was."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import pytest

from holdfast.core.jobs.trigger import words
from holdfast.store.scripts.events.events import publish
from holdfast.wire.calls import CALLS
from tests.api.caller import Caller, new_id
from tests.api.running import RunningApi
from tests.api.test_access import add, as_user
from tests.api.test_dead_letters import fail_some
from tests.api.test_schedules import put

WRITES = {"insert_job", "insert_event"}
# A machine that is pressed, be it by a simulation, starts a chore of the daemon's own.
NOT_BY_CALLERS = {"simulate"}


def test_every_call_that_makes_jobs_or_events_takes_the_trigger_of_its_caller() -> None:
    makers = [call for call in CALLS if not call.is_for_workers and _writes(call.function)]
    assert {call.name for call in makers} >= {"enqueue", "emit", "retry_job", "bulk", "send_test", "maintain"}
    silent = {call.name for call in makers if not call.takes_trigger and not call.takes_jobs}
    assert silent == NOT_BY_CALLERS


def test_jobs_that_are_made_anew_name_the_user(api: RunningApi, caller: Caller) -> None:
    user = as_user(api, add(caller, "ci", "admin"))
    group = new_id()
    caller.post("/v1/groups", {"group_id": group, "name": None, "mode": "parallel", "on_failure": "stop"})
    old = [caller.enqueue(), caller.enqueue(tag="many"), caller.enqueue(group_id=group)]
    caller.post("/v1/jobs/bulk", {"action": "cancel", "wanted": {}})
    made = [user.post(f"/v1/jobs/{old[0]}/retry").json["id"]]
    user.post("/v1/jobs/bulk", {"action": "retry", "wanted": {"tag": "many"}})
    made += [newest(caller)]
    made += [again["id"] for again in user.post(f"/v1/groups/{group}/retry").json]
    for before, after in zip(old, made, strict=True):
        trigger = trigger_of(caller, after)
        assert json.loads(trigger) == {"kind": "retry", "job_id": before, "user": "ci", "origin": "127.0.0.1"}
        assert words(trigger) == f"retry of job {before}, by ci from 127.0.0.1"


def test_dead_letters_that_are_retried_name_the_user(api: RunningApi, caller: Caller) -> None:
    user = as_user(api, add(caller, "ci", "operate"))
    fingerprint = fail_some(caller, "line 1")
    assert user.post(f"/v1/dead-letters/{fingerprint}/retry").json["jobs"] == 1
    assert said_who(caller, newest(caller)) == "retry ci"
    caller.post(f"/v1/jobs/{newest(caller)}/cancel")
    fail_some(caller, "line 2")
    failed = newest(caller)
    assert user.post(f"/v1/jobs/{failed}/retry").status == 201
    assert json.loads(caller.get(f"/v1/jobs/{failed}/letter").json["closed_by"])["user"] == "ci"


def test_a_schedule_that_is_run_by_hand_names_the_user(api: RunningApi, caller: Caller) -> None:
    user = as_user(api, add(caller, "ci", "operate"))
    put(caller)
    job_id = new_id()
    assert user.post("/v1/schedules/nightly/run", {"id": job_id}).status == 201
    assert words(trigger_of(caller, job_id)) == "schedule nightly, run by hand, by ci from 127.0.0.1"


def test_deliveries_that_are_asked_for_name_the_user(api: RunningApi, caller: Caller) -> None:
    user = as_user(api, add(caller, "ci", "admin"))
    webhook = {"id": new_id(), "name": "w", "url": "https://93.184.215.14/", "patterns": ["deploy"]}
    reply = caller.post("/v1/webhooks", {"webhook": webhook})
    assert reply.status == 201, reply.body
    tested = user.post("/v1/webhooks/w/test").json
    assert said_who(caller, tested["job_id"]) == "webhook ci"
    caller.post(f"/v1/jobs/{tested['job_id']}/cancel")
    [again] = user.post("/v1/webhooks/w/redeliver", {"delivery_id": tested["id"]}).json
    assert said_who(caller, again["job_id"]) == "retry ci"


def test_chores_and_jobs_that_measure_name_the_user(api: RunningApi, caller: Caller) -> None:
    user = as_user(api, add(caller, "ci", "admin"))
    [chore] = user.post("/v1/maintenance/retention").json
    [measured] = user.post("/v1/bench/jobs", {"ids": [new_id()]}).json
    assert [said_who(caller, made["id"]) for made in (chore, measured)] == ["call ci", "call ci"]


def test_nobody_can_say_that_somebody_else_asked_for_a_retry(api: RunningApi, caller: Caller) -> None:
    user = as_user(api, add(caller, "ci", "operate"))
    job_id = caller.enqueue()
    forged = {"kind": "schedule", "user": "ada", "origin": "10.0.0.1", "program": "cron", "job_id": "7", "more": "x"}
    again = user.post(f"/v1/jobs/{job_id}/retry", {"trigger": json.dumps(forged)}).json["id"]
    made = json.loads(trigger_of(caller, again))
    assert made == {"kind": "retry", "job_id": job_id, "user": "ci", "origin": "127.0.0.1", "program": "cron"}
    assert user.post(f"/v1/jobs/{job_id}/retry", {"trigger": "{"}).code == "ERR_INVALID_INPUT"


def test_the_log_names_the_user_of_a_bulk_action(
    api: RunningApi, caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    user = as_user(api, add(caller, "ci", "operate"))
    with caplog.at_level(logging.INFO, "holdfast.api"):
        user.post("/v1/jobs/bulk", {"action": "cancel", "wanted": {}})
        user.enqueue()
    assert [record.getMessage() for record in caplog.records] == ["user ci called bulk"]


def newest(caller: Caller) -> str:
    return str(caller.get("/v1/jobs?limit=1").json["jobs"][0]["id"])


def trigger_of(caller: Caller, job_id: str) -> str:
    return str(caller.get(f"/v1/jobs/{job_id}").json["trigger"])


def said_who(caller: Caller, job_id: str) -> str:
    about = json.loads(trigger_of(caller, job_id))
    return f"{about['kind']} {about['user']}"


def _writes(script: Callable[..., Any]) -> bool:
    """Whether anything that the script may call writes a job or an event that is not the system's own."""
    seen, rest = {publish}, [script]
    while rest:
        function = inspect.unwrap(rest.pop())
        if function in seen:
            continue
        seen.add(function)
        names = set(_names(function.__code__))
        if names & WRITES:
            return True
        for found in map(function.__globals__.get, names):
            # What is named with its module stands there.
            named = map(vars(found).get, names) if inspect.ismodule(found) else [found]
            rest += [one for item in named for one in _functions(item)]
    return False


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _functions(found: Any) -> list[Any]:
    if not getattr(found, "__module__", "").startswith("holdfast.store.scripts"):
        return []
    if inspect.isfunction(found):
        return [found]
    return [item for item in vars(found).values() if inspect.isfunction(item)] if inspect.isclass(found) else []
