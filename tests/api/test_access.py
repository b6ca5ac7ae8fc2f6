"""Who may do what over TCP: each call has a role, and each token one too."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest

from holdfast import Holdfast, NotAllowed
from holdfast.api.access import Access
from holdfast.core.access import Role
from holdfast.core.errors import InvalidInput
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Engine
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.access.users import add_user, list_users, revoke_user
from holdfast.store.statements import Dialect
from holdfast.wire.calls import CALLS
from holdfast.wire.special_calls import SPECIAL_CALLS
from tests.api.acts import until, work_once
from tests.api.caller import Caller, new_id, new_job, on_socket, on_tcp
from tests.api.running import RunningApi, running_api


@pytest.fixture(params=list(Dialect))
def api(request: pytest.FixtureRequest) -> Iterator[RunningApi]:
    """An API on each engine."""
    engine: Engine | None = None
    if request.param is Dialect.POSTGRES:
        url, schema = request.getfixturevalue("postgres_url"), request.getfixturevalue("postgres_schema")
        engine = PostgresEngine(url, schema=schema, now=SystemClock().now)
    with running_api(engine, port=0) as api:
        yield api


def add(caller: Caller, name: str, role: str, **more: Any) -> str:
    reply = caller.post("/v1/users", {"name": name, "role": role, **more})
    assert reply.status == 201, reply.body
    token: str = reply.json["token"]
    return token


def as_user(api: RunningApi, token: str) -> Caller:
    return on_tcp(api, Authorization=f"Bearer {token}")


def test_every_call_names_its_role() -> None:
    calls = (*CALLS, *SPECIAL_CALLS)
    assert {call.name for call in calls if call.role is None} == {"livez", "readyz"}
    assert all(isinstance(call.role, Role) for call in calls if call.role is not None)
    assert [call.name for call in calls if call.role is Role.METRICS] == ["metrics"]


def test_readers_make_exactly_the_calls_that_change_nothing() -> None:
    reading = {call.name for call in (*CALLS, *SPECIAL_CALLS) if call.role is None or Role.READ.includes(call.role)}
    # What is sent to a webhook is signed with its secret.
    assert reading | {"request_of_run"} == {call.name for call in (*CALLS, *SPECIAL_CALLS) if call.reads}


def test_a_role_includes_those_before_it() -> None:
    assert [[a.includes(b) for b in Role] for a in Role] == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]


Request: TypeAlias = tuple[str, str, Any]

CHANGE_QUEUE: Request = ("PUT", "/v1/queues/default/limit", {"concurrency": 3})
ENQUEUE: Request = ("POST", "/v1/jobs", {"jobs": []})
SEARCH: Request = ("POST", "/v1/jobs/search", {"wanted": {}})
STATS: Request = ("GET", "/v1/stats", None)
METRICS: Request = ("GET", "/metrics", None)


@pytest.mark.parametrize(
    ("role", "refused"),
    [
        ("metrics", ["read", "read", "operate", "admin"]),
        ("read", [None, None, "operate", "admin"]),
        ("operate", [None, None, None, "admin"]),
        ("admin", [None, None, None, None]),
    ],
)
def test_a_caller_does_what_the_role_says_and_no_more(
    api: RunningApi, caller: Caller, role: str, refused: list[str | None]
) -> None:
    user = as_user(api, add(caller, "somebody", role))
    assert user.send(*METRICS, {}).status == 200
    for (method, path, body), needed in zip((STATS, SEARCH, ENQUEUE, CHANGE_QUEUE), refused, strict=True):
        reply = user.send(method, path, body, {})
        if needed is None:
            assert reply.status in (200, 201), reply.body
        else:
            assert (reply.status, reply.code) == (403, "ERR_ROLE")
            assert f"needs the role {needed}, and user 'somebody' has {role}" in reply.detail
    assert user.get("/nowhere").status == 404


def test_the_socket_and_the_token_of_the_home_are_admin(api: RunningApi, caller: Caller) -> None:
    for admin in (caller, on_tcp(api)):
        assert admin.send(*CHANGE_QUEUE, {}).status == 200


def test_a_request_that_no_door_let_in_may_do_nothing(api: RunningApi) -> None:
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    scope = {"method": "GET", "path": "/v1/stats", "raw_path": b"/v1/stats", "headers": [], "query_string": b""}
    assert api._app is not None
    api.do(api._app(scope, receive, send))
    assert said[0]["status"] == 403


@pytest.mark.parametrize("end", ["revoke", "rotate"])
def test_a_token_stops_at_once(api: RunningApi, caller: Caller, end: str) -> None:
    user = as_user(api, add(caller, "ci", "read"))
    assert user.get("/v1/stats").status == 200
    reply = caller.post(f"/v1/users/ci/{end}")
    assert reply.status == 200
    refused = user.get("/v1/stats")
    assert (refused.status, refused.code, refused.headers["www-authenticate"]) == (401, "ERR_TOKEN", "Bearer")
    if end == "rotate":
        assert as_user(api, reply.json["token"]).get("/v1/stats").status == 200
    else:
        assert refused.detail == "the token of user 'ci' was revoked"


def test_a_token_that_another_process_revokes_stops_at_once(api: RunningApi, caller: Caller) -> None:
    token = api.engine.run(add_user, "ci", Role.READ, 1, None).token
    user = as_user(api, token)
    assert user.get("/v1/stats").status == 200
    # Beside the API, as a program that works on the database itself would.
    api.engine.run(revoke_user, "ci", 2)
    assert user.get("/v1/stats").status == 401


def test_a_token_works_until_it_expires(api: RunningApi, caller: Caller) -> None:
    now = SystemClock().now()
    fresh = api.engine.run(add_user, "fresh", Role.READ, now, 3_600_000).token
    over = api.engine.run(add_user, "over", Role.READ, now - 2_000, 1_000).token
    assert as_user(api, fresh).get("/v1/stats").status == 200
    reply = as_user(api, over).get("/v1/stats")
    assert (reply.status, reply.detail) == (401, "the token of user 'over' has expired; see: holdfast access rotate")


def test_the_last_use_is_noted(api: RunningApi, caller: Caller) -> None:
    user = as_user(api, add(caller, "ci", "read"))
    for _ in range(5):
        assert user.get("/v1/stats").status == 200

    def noted() -> bool:
        return api.engine.query(list_users)[0].last_used_at is not None

    until(noted, "the note")
    [listed] = caller.get("/v1/users").json
    assert "token_hash" not in listed
    assert "token" not in listed


def test_a_user_is_refused_that_makes_no_sense(caller: Caller) -> None:
    for body in (
        {"name": "a b", "role": "read"},
        {"name": "a", "role": "root"},
        {"name": "a"},
        {"name": "a", "role": "read", "expires_in_ms": 0},
    ):
        assert caller.post("/v1/users", body).code == "ERR_INVALID_INPUT"
    assert caller.get("/v1/users").json == []


SECRETS = {"db": {"password": "hush-1"}, "argv": ["curl", "--token", "hush-2"], "url": "https://me:hush-3@host/"}


def test_a_reader_sees_payloads_redacted(api: RunningApi, caller: Caller) -> None:
    reader = as_user(api, add(caller, "eyes", "read"))
    env = {"PGPASSWORD": "hush-6", "PLAIN": "seen"}
    job_id = caller.enqueue(
        payload=SECRETS, env=env, tokens={"cpu": 1}, trigger='{"kind": "call", "api_key": "hush-4"}'
    )
    caller.post("/v1/events", {"id": new_id(), "name": "deploy", "attributes": {"secret": "hush-5"}})
    caller.post(
        "/v1/templates",
        {"template": {"id": new_id(), "name": "t", "task": "t", "payload": SECRETS, "options": {"env": env}}},
    )
    paths = [f"/v1/jobs/{job_id}", "/v1/jobs", f"/v1/jobs/{job_id}/wait?timeout_ms=0", "/v1/events", "/v1/templates"]
    for path in paths:
        for_reader, for_admin = reader.get(path), caller.get(path)
        assert for_reader.status == 200, for_reader.body
        assert b"hush" not in for_reader.body
        assert b"hush" in for_admin.body
        assert shape(for_reader.json) == shape(for_admin.json)
    found = reader.post("/v1/jobs/search", {"wanted": {}})
    assert b"hush" not in found.body
    [job] = found.json["jobs"]
    assert json.loads(job["payload"])["db"] == {"password": "***"}
    assert job["env"] == {"PGPASSWORD": "***", "PLAIN": "seen"}
    # The name of our own field gives nothing away.
    assert job["tokens"]["cpu"] == 1


def shape(value: Any) -> Any:
    """The names in a document, without what they hold; a text may hold a document of its own."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


def test_a_job_and_its_event_name_the_user(api: RunningApi, caller: Caller) -> None:
    user = as_user(api, add(caller, "ci", "operate"))
    job_id = user.enqueue()
    made = json.loads(caller.get(f"/v1/jobs/{job_id}").json["trigger"])
    assert made == {"kind": "call", "user": "ci", "origin": "127.0.0.1"}
    # Nobody can say that somebody else did it.
    forged = user.enqueue(trigger='{"kind":"call","by":"root","user":"ada","origin":"10.0.0.1"}')
    made = json.loads(caller.get(f"/v1/jobs/{forged}").json["trigger"])
    assert made == {"kind": "call", "by": "root", "user": "ci", "origin": "127.0.0.1"}
    strange = user.enqueue(trigger="[1]")
    made = json.loads(caller.get(f"/v1/jobs/{strange}").json["trigger"])
    assert made == {"kind": "call", "user": "ci", "origin": "127.0.0.1"}
    event = user.post("/v1/events", {"id": new_id(), "name": "deploy", "trigger": '{"kind":"call"}'}).json
    assert json.loads(event["trigger"]) == {"kind": "call", "user": "ci", "origin": "127.0.0.1"}
    assert json.loads(caller.get(f"/v1/jobs/{caller.enqueue()}").json["trigger"]).keys() == {"kind", "by"}


def test_the_log_names_the_user_of_a_change(api: RunningApi, caller: Caller, caplog: pytest.LogCaptureFixture) -> None:
    user = as_user(api, add(caller, "ci", "operate"))
    job_id = user.enqueue()
    with caplog.at_level(logging.INFO, "holdfast.api"):
        assert user.post(f"/v1/jobs/{job_id}/cancel", {}).status == 200
        assert user.send(*CHANGE_QUEUE, {}).status == 403
        assert user.get("/v1/stats").status == 200
    said = [(record.getMessage(), record.__dict__["status"]) for record in caplog.records]
    assert said == [("user ci called cancel_job", 200), ("user ci called set_limit", 403)]


def test_a_worker_needs_no_more_than_to_operate(api: RunningApi, caller: Caller) -> None:
    caller.enqueue()
    token = add(caller, "worker", "operate")
    work_once(api, caller=as_user(api, token))
    assert caller.get("/v1/jobs/1").json["state"]["name"] == "DONE"


def test_the_sdk_says_which_role_is_missing(api: RunningApi, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN", add(caller, "eyes", "read"))
    hf = Holdfast(f"http://127.0.0.1:{api.port}")
    assert hf.jobs().jobs == []
    with pytest.raises(NotAllowed, match="enqueue needs the role operate, and user 'eyes' has read"):
        hf.enqueue("t")
    hf.close()


@pytest.mark.parametrize("host", ["localhost", "evil.example", ""])
@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_whether_it_is_ready_is_told_to_anybody(api: RunningApi, path: str, host: str) -> None:
    probe = on_tcp(api, Host=host)
    del probe._headers["Authorization"]
    assert probe.get(path).json == {"status": "alive" if path == "/livez" else "ready"}
    api.missing = "the disk is on fire"
    reply = probe.get("/readyz")
    assert (reply.status, reply.code, reply.detail) == (503, "ERR_NOT_READY", "the daemon is not ready")
    assert probe.get("/livez").status == 200
    for known in (on_socket(api), on_tcp(api)):
        assert known.get("/readyz").detail == "the disk is on fire"


def test_a_wrong_token_is_wrong_everywhere(api: RunningApi) -> None:
    # Otherwise tokens could be tried out where nobody counts.
    assert as_user(api, "hf_wrong").get("/readyz").status == 401


def test_no_door_opens_with_an_empty_token(api: RunningApi) -> None:
    with pytest.raises(InvalidInput, match="anybody could come in"):
        Access(" \n", api.engine, SystemClock())


def test_a_probe_cannot_do_anything_else(api: RunningApi) -> None:
    stranger = on_tcp(api)
    del stranger._headers["Authorization"]
    assert stranger.post("/readyz", {}).status == 405
    for path in ("/v1/stats", "/metrics", "/livez/", "/livez/../v1/stats", "//livez"):
        assert stranger.get(path).status == 401
    assert stranger.post("/v1/jobs", {"jobs": [new_job()]}).status == 401
