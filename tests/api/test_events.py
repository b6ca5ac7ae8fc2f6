"""Events and conditions over HTTP."""

from __future__ import annotations

import json
import os
import pwd
from typing import Any

import pytest

from holdfast.store.scripts.maintenance.clockwork import tick
from tests.api.acts import work_once
from tests.api.caller import Caller, new_id, on_tcp
from tests.api.running import RunningApi


def emit(caller: Caller, name: str, **more: Any) -> Any:
    """Tell an event; what came back."""
    said = caller.post("/v1/events", {"id": new_id(), "name": name} | more)
    assert said.status == 201, said.body
    return said.json


def test_an_event_is_told_found_and_listed(caller: Caller) -> None:
    told = emit(caller, "git:commit", attributes={"branch": "main"}, data=[1, {"a": None}])
    assert (told["name"], told["attributes"], told["waiting"]) == ("git:commit", {"branch": "main"}, 0)
    assert emit(caller, "hello")["number"] > told["number"]
    assert caller.get(f"/v1/events/{told['id']}").json["event"]["data"] == told["data"] == [1, {"a": None}]
    assert [view["event"]["name"] for view in caller.get("/v1/events").json["events"]] == ["hello", "git:commit"]
    assert [view["event"]["id"] for view in caller.get("/v1/events?name=git:*").json["events"]] == [told["id"]]
    page = caller.get("/v1/events?limit=1").json
    assert [view["event"]["id"] for view in caller.get(f"/v1/events?cursor={page['cursor']}").json["events"]] == [
        told["id"]
    ]
    assert caller.get(f"/v1/events/{new_id()}").code == "ERR_NOT_FOUND"
    assert caller.get(f"/v1/events?cursor={new_id()}").code == "ERR_NOT_FOUND"


def test_a_repeat_is_the_same_event_and_another_with_its_id_is_a_conflict(caller: Caller) -> None:
    event = {"id": new_id(), "name": "go"}
    first = caller.post("/v1/events", event)
    assert caller.post("/v1/events", event).status == 409
    assert caller.post("/v1/events", event | {"repeated": True}).json == first.json
    assert len(caller.get("/v1/events").json["events"]) == 1


def test_a_job_waits_for_all_its_conditions(api: RunningApi, caller: Caller) -> None:
    caller.enqueue()
    after = [{"job_id": 1, "needs": "ended"}]
    caller.enqueue(after=after, wait_for_event="git:*", event_attributes={"branch": "main"}, require_charging=True)
    assert emit(caller, "git:push", attributes={"branch": "other"})["waiting"] == 0
    told = emit(caller, "git:push", attributes={"branch": "main"})
    assert told["waiting"] == 1
    api.engine.submit(tick, 10**13).result()
    api.engine.submit(tick, 10**13).result()
    found = {one["kind"]: one for one in caller.get("/v1/jobs/2/conditions").json}
    assert (found["event"]["event_id"], found["event"]["event_name"]) == (told["id"], "git:push")
    assert [kind for kind in found if found[kind]["is_met"]] == ["event"]
    work_once(api)
    assert caller.get("/v1/jobs/2").json["state"]["name"] == "QUEUED"
    [gate] = [gate for gate in caller.get("/v1/jobs/2/why").json["gates"] if gate["gate"] == "charging"]
    assert gate["gate_is"] == "closed"


def test_a_template_has_conditions_and_one_job_may_have_others(caller: Caller) -> None:
    options = {"wait_for_event": "git:*", "event_attributes": {"branch": "main"}, "wait_for_idle": True}
    caller.post("/v1/templates", {"template": {"id": new_id(), "name": "index", "task": "t", "options": options}})
    for overrides in ({}, {"wait_for_event": "tick"}, {"event_attributes": {"branch": "other"}}):
        made = caller.post("/v1/templates/index/jobs", {"id": new_id(), "overrides": overrides})
        assert made.json["state"] == "SCHEDULED"
    found = [caller.get(f"/v1/jobs/{number}/conditions").json for number in (1, 2, 3)]
    events = [(event["event"], event["attributes"]) for event, idle in found if idle["kind"] == "idle"]
    assert events == [("git:*", {"branch": "main"}), ("tick", {}), ("git:*", {"branch": "other"})]


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/v1/events", {"name": "two words"}, "name 'two words' is not valid"),
        ("/v1/events", {"name": "git:*"}, "name 'git:*' is not valid"),
        ("/v1/events", {"name": "go", "attributes": {"a b": "c"}}, "attributes {'a b': 'c'} is not valid"),
        ("/v1/events", {"name": "go", "attributes": {"a": "x" * 1001}}, "at most 1000 characters"),
        ("/v1/events", {"name": "go", "attributes": {str(n): "x" for n in range(33)}}, "at most 32"),
        ("/v1/events", {"name": "go", "attributes": {"a": "\x00"}}, "is not valid"),
        ("/v1/events", {"name": "go", "attributes": ["a"]}, "attributes ['a'] is not valid: use at most 32 names"),
        ("/v1/events", {"name": "go", "trigger": "no JSON"}, "the trigger is not JSON"),
        (
            "/v1/templates/index/jobs",
            {"overrides": {"event_attributes": {"a": "b"}}},
            "event_attributes {'a': 'b'} means nothing without wait_for_event",
        ),
        ("/v1/templates/index/jobs", {"overrides": {"wait_for_event": "*a"}}, "wait_for_event '*a' is not valid"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(caller: Caller, path: str, body: dict[str, Any], said: str) -> None:
    caller.post("/v1/templates", {"template": {"id": new_id(), "name": "index", "task": "t"}})
    refused = caller.post(path, {"id": new_id()} | body)
    assert (refused.status, said in refused.detail) == (400, True), refused.detail


@pytest.mark.parametrize(
    "job",
    [
        {"event_attributes": {"a": "b"}},
        {"wait_for_event": "x" * 201},
        {"wait_for_event": "*x"},
        {"wait_for_event": ""},
        {"wait_for_idle": 1},
        {"template_id": "x"},
        {"schedule_id": "x"},
        {"fire_time": 5},
    ],
    ids=str,
)
def test_a_job_with_such_conditions_is_refused(caller: Caller, job: dict[str, Any]) -> None:
    refused = caller.post("/v1/jobs", {"jobs": [{"id": new_id(), "task": "t"} | job]})
    assert (refused.status, refused.code) == (400, "ERR_INVALID_INPUT")
    assert caller.get("/v1/jobs").json["jobs"] == []


def test_who_says_no_trigger_is_the_trigger(api: RunningApi, caller: Caller) -> None:
    caller.post("/v1/templates", {"template": {"id": new_id(), "name": "index", "task": "t"}})
    caller.post("/v1/templates/index/jobs", {"id": new_id()})
    caller.enqueue()
    given = caller.enqueue(trigger='{"kind":"mine"}')
    told = [caller.get(f"/v1/jobs/{number}").json["trigger"] for number in (1, 2)] + [emit(caller, "go")["trigger"]]
    assert [json.loads(one) for one in told] == [{"kind": "call", "by": pwd.getpwuid(os.getuid()).pw_name}] * 3
    assert caller.get(f"/v1/jobs/{given}").json["trigger"] == '{"kind":"mine"}'
    afar = on_tcp(api)
    assert json.loads(emit(afar, "go")["trigger"]) == {"kind": "call", "origin": "127.0.0.1"}
    afar.close()
