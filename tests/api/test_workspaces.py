"""Workspaces over HTTP: who may do what, whose they are, and the statuses of refusals."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tests.api.caller import Caller, on_tcp
from tests.api.running import RunningApi
from tests.store.workspace_acts import look, open_controller


def new(name: str, **more: Any) -> dict[str, Any]:
    return {"workspace": {"id": str(uuid4()), "name": name, "command": ["sleep", "600"]} | more}


def user(api: RunningApi, caller: Caller, name: str, role: str) -> Caller:
    token = caller.post("/v1/users", {"name": name, "role": role}).json["token"]
    return on_tcp(api, Authorization=f"Bearer {token}")


def test_it_is_made_read_and_changed(caller: Caller) -> None:
    made = caller.post("/v1/workspaces", new("dev", env={"LEVEL": "3"}))
    assert made.status == 201, made.body
    assert caller.get("/v1/workspaces/dev").json == made.json
    assert caller.get(f"/v1/workspaces/{made.json['id']}").json == made.json
    assert caller.get("/v1/workspaces").json == [made.json]
    stopped = caller.put("/v1/workspaces/dev/desired", {"desired_state": "STANDBY"})
    assert (stopped.status, stopped.json["desired_state"]) == (200, "STANDBY")
    changes = caller.get("/v1/workspaces/dev/changes").json
    assert [(one["from_state"], one["to_state"]) for one in changes] == [("RUNNING", "STANDBY"), (None, "RUNNING")]
    assert caller.get("/v1/workspaces/dev/changes?limit=1").json == changes[:1]


def test_refusals_have_their_statuses(api: RunningApi, caller: Caller) -> None:
    open_controller(api.engine)
    for name in ("one", "two"):
        assert caller.post("/v1/workspaces", new(name)).status == 201
    third = caller.post("/v1/workspaces", new("three"))
    assert (third.status, third.code) == (429, "ERR_TOO_MANY_RUNNING")
    assert "one, two" in third.detail
    assert caller.post("/v1/workspaces", new("one")).status == 409
    look(api.engine, "one")
    refused = caller.put("/v1/workspaces/one/desired", {"desired_state": "STANDBY"})
    assert (refused.status, "PROVISIONING (job" in refused.detail) == (409, True)
    number = caller.get("/v1/workspaces/one").json["op_job_number"]
    assert caller.post(f"/v1/jobs/{number}/cancel").status == 409
    assert caller.post(f"/v1/jobs/{number}/retry").status == 409
    assert caller.post("/v1/workspaces/one/recover").status == 409
    assert caller.get("/v1/workspaces/nope").status == 404
    for bad in (
        new("Bad"),
        new("bad", standby_ttl_seconds=5),
        new("bad", instance_backend="k8s"),
        new("bad", command=[]),
    ):
        assert caller.post("/v1/workspaces", bad).status == 400
    assert caller.put("/v1/workspaces/two/desired", {"desired_state": "ARCHIVED"}).status == 400
    assert caller.put("/v1/workspaces/two/desired", {"desired_state": "AWAKE"}).status == 400


def test_no_caller_sets_the_limits(caller: Caller) -> None:
    body = new("dev") | {"limits": {"per_user": 100, "in_all": 100}}
    assert caller.post("/v1/workspaces", body).status == 400


def test_the_limit_is_of_each_owner_and_the_owner_is_the_user_of_the_token(api: RunningApi, caller: Caller) -> None:
    ann, bob = user(api, caller, "ann", "operate"), user(api, caller, "bob", "operate")
    for who, names in ((ann, ("a1", "a2")), (bob, ("b1", "b2"))):
        for name in names:
            assert who.post("/v1/workspaces", new(name)).status == 201
        assert who.post("/v1/workspaces", new("more")).status == 429
    # A caller may not say that it is another one.
    fake = new("more") | {"trigger": '{"kind":"call","user":"carl"}'}
    assert ann.post("/v1/workspaces", fake).status == 429
    owners = {one["name"]: one["owner"] for one in caller.get("/v1/workspaces").json}
    assert owners == {"a1": "ann", "a2": "ann", "b1": "bob", "b2": "bob"}
    assert bob.put("/v1/workspaces/a1/desired", {"desired_state": "STANDBY"}).status == 200
    [newest, _] = caller.get("/v1/workspaces/a1/changes").json
    assert (newest["why"], '"user":"bob"' in newest["trigger"]) == ("admin", True)


def test_a_reader_reads_and_sees_no_secrets(api: RunningApi, caller: Caller) -> None:
    caller.post("/v1/workspaces", new("dev", env={"API_TOKEN": "hunter2hunter2"}))
    reader = user(api, caller, "ann", "read")
    shown = reader.get("/v1/workspaces/dev")
    assert (shown.status, b"hunter2" in shown.body) == (200, False)
    for refused in (
        reader.post("/v1/workspaces", new("mine")),
        reader.put("/v1/workspaces/dev/desired", {"desired_state": "STANDBY"}),
        reader.post("/v1/workspaces/dev/recover"),
    ):
        assert (refused.status, refused.code) == (403, "ERR_ROLE")
