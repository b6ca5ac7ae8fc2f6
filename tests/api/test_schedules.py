"""Schedules and cron expressions over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.caller import Caller, new_id


def put(caller: Caller, **fields: Any) -> Any:
    """A schedule and its template."""
    caller.post("/v1/templates", {"template": {"id": new_id(), "name": "clean", "task": "t", "payload": {"a": 1}}})
    schedule = {"id": new_id(), "name": "nightly", "template": "clean", "cron": "30 2 * * *"} | fields
    return caller.post("/v1/schedules", {"schedule": schedule})


def test_a_schedule_lives_by_its_name(caller: Caller) -> None:
    stored = put(caller, timezone="Europe/Berlin", payload={"b": 2}, options={"queue": "mail"}, misfire="all")
    assert (stored.status, stored.json["words"]) == (201, "At 02:30 every day, Europe/Berlin time")
    assert (stored.json["payload"], stored.json["options"]) == ('{"b": 2}', {"queue": "mail"})
    assert caller.get("/v1/schedules/nightly").json == stored.json
    assert caller.get(f"/v1/schedules/{stored.json['id']}").json == stored.json
    assert caller.get("/v1/schedules").json == [stored.json]
    assert put(caller).code == "ERR_CONFLICT"
    assert caller.send("DELETE", "/v1/schedules/nightly", None, {}).json is True
    assert caller.get("/v1/schedules/nightly").code == "ERR_NOT_FOUND"


def test_a_schedule_is_changed_paused_resumed_and_run(caller: Caller) -> None:
    put(caller, payload={"b": 2})
    for payload in ({"b": 3}, '{"b": 3}'):
        changed = caller.put("/v1/schedules/nightly", {"changes": {"cron": "0 7 * * 1-5", "payload": payload}}).json
        assert (changed["cron"], json.loads(changed["payload"])) == ("0 7 * * 1-5", {"b": 3})
    paused = caller.post("/v1/schedules/nightly/pause", {"reason": "holidays"}).json
    assert (paused["enabled"], paused["disabled_reason"]) == (False, "holidays")
    made = caller.post("/v1/schedules/nightly/run", {"id": new_id()})
    assert (made.status, made.json["state"]) == (201, "QUEUED")
    assert json.loads(caller.get("/v1/jobs/1").json["payload"]) == {"a": 1, "b": 3}
    assert caller.post("/v1/schedules/nightly/resume").json["enabled"] is True


def test_a_schedule_narrows_the_event_of_its_template(caller: Caller) -> None:
    waits = {"id": new_id(), "name": "waits", "task": "t", "options": {"wait_for_event": "git:*"}}
    caller.post("/v1/templates", {"template": waits})
    main, other = ({"event_attributes": {"branch": name}} for name in ("main", "other"))
    assert put(caller, template="waits", options=main).status == 201
    assert caller.put("/v1/schedules/nightly", {"changes": {"options": other}}).json["options"] == other
    caller.post("/v1/schedules/nightly/run", {"id": new_id()})
    [waiting] = caller.get("/v1/jobs/1/conditions").json
    assert (waiting["event"], waiting["attributes"]) == ("git:*", {"branch": "other"})
    refused = put(caller, name="daily", options=main)
    said = "event_attributes {'branch': 'main'} means nothing without wait_for_event: give that as well"
    assert (refused.status, refused.detail) == (400, said)


def test_no_name_of_a_schedule_is_taken_by_the_paths(caller: Caller) -> None:
    for name in ("declare", "with-template", "preview"):
        assert put(caller, name=name).status == 201
        assert caller.get(f"/v1/schedules/{name}").json["name"] == name


def test_a_preview_says_what_an_expression_means(caller: Caller) -> None:
    put(caller)
    shown = caller.get("/v1/cron/preview?expression=30%202%20*%20*%20*&timezone=Asia/Seoul&count=3").json
    assert (shown["words"], len(shown["fires"])) == ("At 02:30 every day, Asia/Seoul time", 3)
    assert len(caller.get("/v1/schedules/nightly/preview?count=2").json["fires"]) == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"id": "1"}, "best a UUIDv7"),
        ({"name": "rm -rf"}, "is not valid: use 1 to 200 letters"),
        ({"cron": "61 * * * *"}, "its minute does not fit; use 0 to 59"),
        ({"cron": "\u0000"}, "1 to 200 characters without control characters"),
        ({"cron": "0 0 30 2 *"}, "never comes in month 2"),
        ({"timezone": "Mars"}, "there is no time zone 'Mars'"),
        ({"misfire": "never"}, "schedule.misfire 'never' is not valid: use one of 'skip', 'latest', 'all'"),
        ({"jitter_ms": -1}, "use 0 s to 1 day, in milliseconds"),
        ({"payload": [1]}, "the payload is not a JSON object"),
        ({"options": {"due": 5}}, "Object contains unknown field `due`"),
        ({"origin": "space"}, "schedule.origin 'space' is not valid: use one of"),
    ],
)
def test_what_does_not_fit_is_refused(caller: Caller, fields: dict[str, Any], said: str) -> None:
    refused = put(caller, **fields)
    assert refused.status in (400, 422)
    assert said in refused.detail
    assert caller.get("/v1/schedules").json == []


@pytest.mark.parametrize("payload", ["", "[1]", "{", 5, [1], {"a": {}} | {"b": "\udcff"}])
def test_a_payload_that_does_not_fit_changes_nothing(caller: Caller, payload: Any) -> None:
    put(caller)
    assert caller.put("/v1/schedules/nightly", {"changes": {"payload": payload}}).status in (400, 422)
    assert caller.get("/v1/schedules/nightly").json["payload"] == "{}"
