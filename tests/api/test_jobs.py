"""Jobs over HTTP: stored once, named by id or number, described by problems when something does not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.acts import looks_write_nothing
from tests.api.caller import Caller, new_id, new_job
from tests.api.running import RunningApi


def payload_of(caller: Caller, job_id: str) -> Any:
    return json.loads(caller.get(f"/v1/jobs/{job_id}").json["payload"])


@pytest.mark.parametrize("payload", [{"a": [1, 2.5, "ä"]}, '{"a": [1, 2.5, "ä"]}'], ids=["object", "text"])
def test_a_payload_is_an_object_or_the_text_of_one(caller: Caller, payload: Any) -> None:
    assert payload_of(caller, caller.enqueue(payload=payload)) == {"a": [1, 2.5, "ä"]}


def test_a_job_without_a_payload_has_an_empty_one(caller: Caller) -> None:
    assert payload_of(caller, caller.enqueue()) == {}


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ([1], "the payload is not a JSON object: give the task's arguments by name"),
        ("[1]", "the payload is not a JSON object: give the task's arguments by name"),
        (7, "the payload is not a JSON object: give the task's arguments by name"),
        (None, "the payload is not a JSON object: give the task's arguments by name"),
        ("{", "the payload is not JSON: Input data was truncated"),
        ("", "the payload is not JSON: Input data was truncated"),
    ],
)
def test_a_payload_that_is_no_object_is_refused(caller: Caller, payload: Any, said: str) -> None:
    reply = caller.post("/v1/jobs", {"jobs": [new_job(payload=payload)]})
    assert (reply.status, reply.code, reply.detail) == (400, "ERR_INVALID_PAYLOAD", said)


@pytest.mark.parametrize("raw", [b'{"x":"\xff"}', b'{"x":1e999}', b'{"x":' + b"1" * 5_000 + b"}", b'{"x":"\x00"}'])
def test_a_payload_that_no_worker_could_read_is_refused(caller: Caller, raw: bytes) -> None:
    body = b'{"jobs":[{"id":"' + new_id().encode() + b'","task":"t","payload":' + raw + b"}]}"
    assert caller.post("/v1/jobs", body).status == 400


def test_an_id_that_is_taken_is_a_conflict(caller: Caller) -> None:
    job = new_job()
    assert caller.post("/v1/jobs", {"jobs": [job]}).status == 201
    reply = caller.post("/v1/jobs", {"jobs": [new_job(), job]})
    assert (reply.status, reply.code) == (409, "ERR_CONFLICT")
    assert job["id"] in reply.detail
    assert len(caller.get("/v1/jobs").json["jobs"]) == 1


def test_one_id_for_two_jobs_is_a_conflict(caller: Caller) -> None:
    job = new_job()
    reply = caller.post("/v1/jobs", {"jobs": [job, job]})
    assert (reply.status, reply.detail) == (409, f"two of the jobs have the id {job['id']}; make one for each")


def test_a_repeat_gets_the_same_answer_and_stores_nothing(caller: Caller) -> None:
    body = {"jobs": [new_job(), new_job(subject="a::b::c")]}
    first = caller.post("/v1/jobs", body)
    again = caller.post("/v1/jobs", body | {"repeated": True})
    assert (again.status, again.json) == (201, first.json)
    assert len(caller.get("/v1/jobs").json["jobs"]) == 2


def test_a_job_is_named_by_its_number_everywhere(caller: Caller) -> None:
    first, second = caller.enqueue(), caller.enqueue()
    for path in ("", "/last", "/runs", "/why", "/artifacts", "/log"):
        assert caller.get(f"/v1/jobs/2{path}").json == caller.get(f"/v1/jobs/{second}{path}").json
    assert caller.post("/v1/jobs/2/move-before", {"other_id": 1}).status == 200
    assert caller.post("/v1/jobs/2/move-after", {"other_id": "1"}).status == 200
    third = caller.enqueue(after=[{"job_id": 1}, {"job_id": second, "needs": "ended"}])
    [gate] = [gate for gate in caller.get("/v1/jobs/3/why").json["gates"] if gate["gate"] == "dependencies"]
    assert first in gate["now"]
    assert second in gate["now"]
    assert caller.post("/v1/jobs/3/cancel").json == {"cancelled": 1, "requested": 0, "ended": 0}
    assert caller.get(f"/v1/jobs/{third}").json["state"]["name"] == "CANCELLED"


@pytest.mark.parametrize("ref", ["4711", "nowhere", "9" * 30])
def test_a_job_that_is_not_there_is_not_found(caller: Caller, ref: str) -> None:
    caller.enqueue()
    for reply in (
        caller.get(f"/v1/jobs/{ref}"),
        caller.get(f"/v1/jobs/{ref}/why"),
        caller.post(f"/v1/jobs/{ref}/cancel"),
        caller.post(f"/v1/jobs/{ref}/move-to-top"),
        caller.post("/v1/jobs/1/move-before", {"other_id": ref}),
        caller.post("/v1/jobs", {"jobs": [new_job(after=[{"job_id": ref}])]}),
    ):
        assert (reply.status, reply.code) == (404, "ERR_NOT_FOUND"), reply.body


def test_jobs_are_listed_page_by_page(caller: Caller) -> None:
    ids = [caller.enqueue(queue="mail", tag="spring") for _ in range(5)]
    caller.enqueue(queue="other")
    found: list[str] = []
    path = "/v1/jobs?queue=mail&state=QUEUED&state=SCHEDULED&tag=spring&limit=2"
    page = caller.get(path).json
    while True:
        found += [job["id"] for job in page["jobs"]]
        if page["cursor"] is None:
            break
        page = caller.get(f"{path}&cursor={page['cursor']}").json
    assert found == ids[::-1]


def test_a_search_says_the_same_as_a_list(caller: Caller) -> None:
    caller.enqueue(queue="mail")
    caller.enqueue()
    wanted = {"wanted": {"queue": "mail", "states": ["QUEUED"]}}
    assert caller.post("/v1/jobs/search", wanted).json == caller.get("/v1/jobs?queue=mail&state=QUEUED").json
    of_any_state = {"wanted": {"queue": "mail", "states": []}}
    assert caller.post("/v1/jobs/search", of_any_state).json == caller.get("/v1/jobs?queue=mail").json


def test_what_waits_can_be_changed(caller: Caller) -> None:
    job_id = caller.enqueue(payload={"x": 1})
    assert caller.put("/v1/jobs/1/payload", {"payload": {"x": 2}}).status == 200
    assert caller.put("/v1/jobs/1/priority", {"priority": 7}).status == 200
    assert payload_of(caller, job_id) == {"x": 2}
    assert caller.get("/v1/jobs/1").json["priority"] == 7


def test_what_has_ended_cannot_be_changed(caller: Caller) -> None:
    caller.enqueue()
    caller.post("/v1/jobs/1/cancel")
    reply = caller.put("/v1/jobs/1/payload", {"payload": "{}"})
    assert (reply.status, reply.code) == (409, "ERR_CONFLICT")


def test_a_retry_by_hand_with_an_id_of_the_caller_can_be_repeated(caller: Caller) -> None:
    caller.enqueue()
    caller.post("/v1/jobs/1/cancel")
    body = {"new_id": new_id(), "priority": 5}
    first, again = caller.post("/v1/jobs/1/retry", body), caller.post("/v1/jobs/1/retry", body)
    assert (first.status, first.json) == (again.status, again.json) == (201, first.json)
    assert len(caller.get("/v1/jobs").json["jobs"]) == 2


def test_a_queue_or_tag_with_a_slash_can_be_named(caller: Caller) -> None:
    caller.enqueue(queue="a/b", tag="x/y z")
    assert caller.post("/v1/queues/a%2Fb/pause", {"reason": "spring cleaning"}).status == 200
    assert [queue["name"] for queue in caller.get("/v1/queues").json] == ["a/b"]
    assert caller.post("/v1/tags/x%2Fy%20z/cancel", {"limit": 10}).json["cancelled"] == 1


def test_searches_and_dry_runs_write_nothing(api: RunningApi, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    looks_write_nothing(api, caller, monkeypatch)
