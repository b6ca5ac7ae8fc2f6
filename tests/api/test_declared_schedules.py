"""Schedules with a template of their own over HTTP: made in one step, or declared by somebody's code."""

from __future__ import annotations

from typing import Any

from tests.api.caller import Caller, new_id


def wish(name: str, **more: Any) -> dict[str, Any]:
    template = {"id": new_id(), "name": name, "task": "report", "payload": {"a": 1}, "options": {"tag": "night"}}
    return {
        "template": template,
        "schedule": {"id": new_id(), "name": name, "template": name, "cron": "0 2 * * *"} | more,
    }


def test_a_schedule_is_made_with_its_template_and_deleted_with_it(caller: Caller) -> None:
    made = caller.post("/v1/scheduled-tasks", wish("nightly"))
    assert (made.status, made.json["template"], made.json["words"]) == (201, "nightly", "At 02:00 every day, UTC")
    assert caller.post("/v1/scheduled-tasks", wish("nightly")).status == 409
    job = caller.post("/v1/schedules/nightly/run", {"id": new_id()}).json["id"]
    assert caller.get(f"/v1/jobs?schedule_id={made.json['id']}").json["jobs"][0]["id"] == job
    assert caller.send("DELETE", "/v1/schedules/nightly", None, {}).json is True
    assert caller.get("/v1/templates").json == []


def test_code_declares_its_schedules_and_one_that_cannot_be_is_told(caller: Caller) -> None:
    owned = {"owner": "shop.tasks"}
    asked = {"declared": [wish("good", **owned), wish("bad", cron="0 25 * * *", **owned)], "owners": ["shop.tasks"]}
    told = caller.post("/v1/declared-schedules", asked).json
    assert (told["stored"], told["disabled"]) == (["good"], [])
    assert "its hour does not fit" in told["troubles"][0]
    told = caller.post("/v1/declared-schedules", {"declared": [], "owners": ["shop.tasks"]}).json
    assert (told["stored"], told["disabled"], told["troubles"]) == ([], ["good"], [])
    assert caller.get("/v1/schedules/good").json["disabled_reason"] == "the code no longer asks for it"


def test_a_template_is_changed_in_parts(caller: Caller) -> None:
    caller.post("/v1/templates", {"template": wish("nightly")["template"]})
    changed = caller.put("/v1/templates/nightly", {"changes": {"payload": {"b": 2}, "queue": "late"}}).json
    assert (changed["payload"], changed["queue"], changed["task"]) == ('{"b":2}', "late", "report")
    assert changed["options"] == {"tag": "night"}
    for bad in ("[]", "\x00", '{"a": "\x00"}'):
        refused = caller.put("/v1/templates/nightly", {"changes": {"payload": bad}})
        assert (refused.status, refused.code) == (400, "ERR_INVALID_PAYLOAD")
