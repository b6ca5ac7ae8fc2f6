"""Tasks by HTTP: what workers declared, and requests that name them."""

from __future__ import annotations

from typing import Any

from tests.api.caller import Caller, new_id

INDEX = {
    "name": "index",
    "options": {"queue": "code", "timeout_ms": 60_000, "subject": "file::{path}"},
    "arguments": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    },
    "source": "app:3",
    "doc": "Indexes a file.",
}


def begin(caller: Caller, *declared: dict[str, Any]) -> Any:
    session = {"id": new_id(), "kind": "worker", "node": "n", "boot_id": "b", "pid": 1, "lock_path": None}
    offer = {"worker_id": new_id(), "name": "w", "tasks": [one["name"] for one in declared], "queues": [], "slots": 1}
    return caller.post("/v1/sessions", {"session": session, "offer": {**offer, "declared": declared}})


def enqueue(caller: Caller, task: str, payload: Any, **more: Any) -> Any:
    return caller.post("/v1/jobs", {"jobs": [{"id": new_id(), "task": task, "payload": payload}], **more})


def test_they_are_listed_and_found(caller: Caller) -> None:
    assert caller.get("/v1/tasks").json == []
    assert begin(caller, INDEX).status == 201
    [task] = caller.get("/v1/tasks").json
    assert task == caller.get("/v1/tasks/index").json
    [version] = task["versions"]
    assert (task["name"], task["workers"], version["options"], version["arguments"]) == (
        "index",
        1,
        INDEX["options"],
        INDEX["arguments"],
    )
    missing = caller.get("/v1/tasks/indx")
    assert (missing.status, missing.code) == (404, "ERR_UNKNOWN_TASK")
    assert missing.detail == "there is no task 'indx' (did you mean 'index'?)"


def test_a_request_gets_what_it_leaves_open(caller: Caller) -> None:
    begin(caller, INDEX)
    [answer] = enqueue(caller, "index", {"path": "a.py"}).json
    job = caller.get(f"/v1/jobs/{answer['id']}").json
    assert (answer["known"], job["queue"], job["timeout_ms"], job["subject"]) == (True, "code", 60_000, "file::a.py")


def test_an_unknown_task_is_stored_unless_it_must_exist(caller: Caller) -> None:
    begin(caller, INDEX)
    [answer] = enqueue(caller, "indx", {}).json
    assert answer["known"] is False
    refused = enqueue(caller, "indx", {}, must_exist=True)
    assert (refused.status, refused.code) == (404, "ERR_UNKNOWN_TASK")
    template = {"id": new_id(), "name": "t", "task": "indx"}
    assert caller.post("/v1/templates", {"template": template, "must_exist": True}).code == "ERR_UNKNOWN_TASK"
    assert caller.post("/v1/templates", {"template": template}).json["known"] is False


def test_arguments_that_cannot_fit_are_refused(caller: Caller) -> None:
    begin(caller, INDEX)
    refused = enqueue(caller, "index", {"path": 7})
    assert (refused.status, refused.code) == (400, "ERR_INVALID_PAYLOAD")
    assert refused.detail == "the payload does not fit task 'index': argument 'path' takes string, not integer"


def test_a_declaration_that_is_none_is_refused(caller: Caller) -> None:
    assert begin(caller, {**INDEX, "arguments": {"required": 5}}).code == "ERR_INVALID_INPUT"
    assert begin(caller, {**INDEX, "options": {"queue": "no\nqueue"}}).code == "ERR_INVALID_INPUT"
    assert begin(caller, {**INDEX, "doc": "x" * 1_000}).code == "ERR_INVALID_INPUT"
    assert caller.get("/v1/tasks").json == []
