"""Templates, groups, queues, reservations, sessions and workers over HTTP, and what is going on as a whole."""

from __future__ import annotations

import json

from tests.api.acts import ask, open_worker
from tests.api.caller import Caller, new_id
from tests.api.running import RunningApi


def test_a_template_lives_by_its_name(caller: Caller) -> None:
    template = {"id": new_id(), "name": "nightly", "task": "report", "payload": {"a": 1}, "options": {"tag": "night"}}
    stored = caller.post("/v1/templates", {"template": template})
    assert (stored.status, stored.json["payload"], stored.json["options"]) == (201, '{"a": 1}', {"tag": "night"})
    assert caller.get("/v1/templates/nightly").json == caller.get(f"/v1/templates/{template['id']}").json
    assert [one["name"] for one in caller.get("/v1/templates").json] == ["nightly"]
    archived = caller.post("/v1/templates/nightly/archive")
    assert archived.json["archived_at"] is not None
    assert caller.get("/v1/templates").json == []
    assert len(caller.get("/v1/templates?archived=true").json) == 1
    assert caller.get("/v1/templates/nightly").code == "ERR_NOT_FOUND"


def test_a_job_is_made_from_a_template(caller: Caller) -> None:
    template = {"id": new_id(), "name": "nightly", "task": "report", "payload": {"a": 1, "b": 2}}
    caller.post("/v1/templates", {"template": template})
    wanted = {"id": new_id(), "payload": {"b": 3}, "overrides": {"priority": 9, "queue": "mail"}}
    made = caller.post("/v1/templates/nightly/jobs", wanted)
    assert (made.status, made.json["id"]) == (201, wanted["id"])
    job = caller.get("/v1/jobs/1").json
    assert (job["task"], job["queue"], job["priority"]) == ("report", "mail", 9)
    assert json.loads(job["payload"]) == {"a": 1, "b": 3}
    assert caller.post("/v1/templates/nightly/jobs", wanted).status == 409
    assert caller.post("/v1/templates/nightly/jobs", wanted | {"repeated": True}).json == made.json


def test_a_job_of_a_template_may_wait_for_another_by_its_number(caller: Caller) -> None:
    caller.post("/v1/templates", {"template": {"id": new_id(), "name": "nightly", "task": "report"}})
    caller.enqueue()
    for ref in (1, "1"):
        made = caller.post("/v1/templates/nightly/jobs", {"id": new_id(), "overrides": {"after": [{"job_id": ref}]}})
        assert (made.status, made.json["state"]) == (201, "SCHEDULED")


def test_a_group_can_be_made_twice_with_one_id(caller: Caller) -> None:
    group = {"group_id": new_id(), "name": "release", "mode": "sequential", "on_failure": "stop"}
    assert [caller.post("/v1/groups", group).status for _ in range(2)] == [201, 201]
    caller.enqueue(group_id=group["group_id"])
    view = caller.get(f"/v1/groups/{group['group_id']}").json
    assert (view["group"]["name"], view["status"], list(view["members"].values())) == ("release", "OPEN", ["QUEUED"])
    assert [one["id"] for one in caller.get("/v1/groups").json["groups"]] == [group["group_id"]]
    assert caller.post(f"/v1/groups/{group['group_id']}/cancel", {"limit": 10}).json["cancelled"] == 1


def test_a_group_is_made_with_its_jobs_in_one_call(caller: Caller) -> None:
    path, ids = f"/v1/groups/{new_id()}", [new_id(), new_id()]
    jobs = [
        {"id": ids[0], "task": "t"},
        {"id": ids[1], "task": "t", "payload": {"x": {"$holdfast": "previous"}}, "after": [{"job_id": ids[0]}]},
    ]
    body = {"name": "release", "mode": "parallel", "on_failure": "stop", "jobs": jobs}
    made = caller.put(path, body)
    assert (made.status, [one["state"] for one in made.json]) == (201, ["QUEUED", "SCHEDULED"])
    assert (caller.put(path, body).status, caller.put(path, body | {"repeated": True}).json) == (409, made.json)
    assert caller.get("/v1/groups/release/head").json["is_live"] is True
    assert [one["id"] for one in caller.get(f"{path}/jobs?limit=1").json["jobs"]] == ids[:1]
    assert [one["id"] for one in caller.get(f"/v1/jobs/{ids[1]}/predecessors").json] == ids[:1]
    assert caller.post(f"{path}/cancel", {"limit": 10}).json["cancelled"] == 2
    assert [one["state"] for one in caller.post(f"{path}/retry").json] == ["QUEUED", "SCHEDULED"]
    view = caller.get("/v1/groups/release").json
    assert (view["status"], view["progress"], view["counts"]) == ("OPEN", 0, {"QUEUED": 1, "SCHEDULED": 1})


def test_a_queue_is_paused_resumed_and_limited(caller: Caller) -> None:
    caller.enqueue()
    caller.post("/v1/queues/default/pause", {"reason": "spring cleaning"})
    caller.put("/v1/queues/default/limit", {"concurrency": 3})
    [queue] = caller.get("/v1/queues").json
    assert (queue["pause_reason"], queue["concurrency"]) == ("spring cleaning", 3)
    [gate] = [gate for gate in caller.get("/v1/jobs/1/why").json["gates"] if gate["gate"] == "queue paused"]
    assert gate["gate_is"] == "closed"
    caller.post("/v1/queues/default/resume")
    caller.put("/v1/queues/default/limit", {"concurrency": None})
    [queue] = caller.get("/v1/queues").json
    assert (queue["paused_at"], queue["concurrency"]) == (None, None)


def test_a_reservation_is_granted_once_nothing_runs(caller: Caller) -> None:
    request = open_worker(caller, "default")
    caller.enqueue()
    [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    wanted = {
        "id": new_id(),
        "scope": "default",
        "reserved_by": "ada",
        "session_id": request["session_id"],
        "ttl_ms": 60_000,
        "wait_ms": 60_000,
    }
    held = caller.post("/v1/reservations", {"request": wanted})
    assert (held.status, held.json["granted_at"]) == (201, None)
    other = caller.post("/v1/reservations", {"request": wanted | {"id": new_id(), "scope": "*"}})
    assert (other.status, other.code) == (409, "ERR_BUSY")
    done = {
        "run_id": run["run_id"],
        "job_id": run["job_id"],
        "duration_ms": 1,
        "outcome": {"type": "Completed", "result": "1"},
    }
    assert caller.post("/v1/reports", {"reports": [done]}).json[0]["state"] == "DONE"
    assert caller.post(f"/v1/reservations/{wanted['id']}/grant").json["granted_at"] is not None
    assert [one["id"] for one in caller.get("/v1/reservations").json] == [wanted["id"]]
    assert caller.post(f"/v1/reservations/{wanted['id']}/release").json["status"] == "RELEASED"
    assert caller.get("/v1/reservations").json == []


def test_workers_and_sessions_show_who_is_there(api: RunningApi, caller: Caller) -> None:
    request = open_worker(caller, "default", "mail")
    [worker] = caller.get("/v1/workers").json
    assert (worker["id"], worker["tasks"], worker["queues"]) == (request["worker_id"], ["t"], ["default", "mail"])
    kinds = {session["id"]: session["kind"] for session in caller.get("/v1/sessions").json}
    assert kinds == {api.session_id: "daemon", request["session_id"]: "worker"}
    assert caller.post(f"/v1/sessions/{request['session_id']}/beat").json is True
    assert caller.post(f"/v1/sessions/{request['session_id']}/close", {"status": "success"}).json is True
    assert caller.post(f"/v1/sessions/{request['session_id']}/beat").json is False
    assert caller.get("/v1/workers").json == []


def test_a_run_is_shown_by_its_id(caller: Caller) -> None:
    request = open_worker(caller, "default")
    caller.enqueue(payload={"x": 1})
    [claimed] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    path = f"/v1/runs/{claimed['run_id']}"
    started = {"session_id": request["session_id"], "pid": 4711, "pid_started_at": 1}
    assert caller.put(f"{path}/start", started).json is True
    run = caller.get(path).json
    assert (run["attempt"], run["status"], run["pid"], run["params_snapshot"]) == (1, None, 4711, '{"x": 1}')
    assert caller.put(f"{path}/checkpoint", {"job_id": claimed["job_id"], "data": '{"at":5}'}).status == 200
    assert caller.get("/v1/jobs/1").json["checkpoint"] == '{"at":5}'
    assert caller.put(f"{path}/checkpoint", {"job_id": "1", "data": "{"}).status == 400


def test_the_figures_show_everything_at_a_glance(caller: Caller) -> None:
    caller.enqueue(queue="mail")
    open_worker(caller, "mail")
    seen = caller.get("/v1/stats").json
    assert (seen["jobs"], seen["workers"], seen["slots"], seen["sessions"]) == ({"QUEUED": 1}, 1, 1, 2)
    assert [(queue["name"], queue["jobs"]) for queue in seen["queues"]] == [("mail", {"QUEUED": 1})]
    assert seen["ready_since"] <= seen["now"]


def test_the_doctor_can_be_asked(caller: Caller) -> None:
    assert caller.get("/v1/doctor").json == []


def test_a_path_that_is_not_there_is_a_problem(caller: Caller) -> None:
    for path in ("/", "/v1", "/v1/jobs/1/", "/v2/jobs", "/v1/jobs/1/nothing", "/v1//jobs", "/..%2f..", "//"):
        assert caller.get(path).code in ("ERR_NO_ROUTE", "ERR_NOT_FOUND"), path


def test_a_method_that_is_not_taken_names_those_that_are(caller: Caller) -> None:
    reply = caller.send("DELETE", "/v1/jobs/1", None, {})
    assert (reply.status, reply.code, reply.headers["allow"]) == (405, "ERR_NO_METHOD", "GET")


def test_only_the_head_is_sent_where_only_the_head_is_asked_for(caller: Caller) -> None:
    reply = caller.send("HEAD", "/livez", None, {})
    assert (reply.status, reply.body, reply.headers["content-length"]) == (200, b"", "18")
