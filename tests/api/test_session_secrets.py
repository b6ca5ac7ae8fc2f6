"""Protocol 2: a session has a secret, and only who knows it speaks for it."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.wire.calls import PROTOCOL
from tests.api.acts import ask, done
from tests.api.caller import Caller, new_id, on_socket
from tests.api.running import RunningApi, running_api

SECRET = "s" * 43


def open_session(caller: Caller, secret: str | None = SECRET) -> dict[str, Any]:
    """Open a session; the request with which it claims one job."""
    session = {"id": new_id(), "kind": "worker", "node": "here", "boot_id": "b", "pid": 1}
    given = session if secret is None else session | {"secret": secret}
    reply = caller.post("/v1/sessions", {"session": given})
    assert reply.status == 201, reply.body
    request = {"session_id": session["id"], "slots": 1, "queues": [{"queue": "default", "slots": 1}], "tasks": ["t"]}
    return request if secret is None else request | {"secret": secret}


def test_a_worker_works_with_its_secret(caller: Caller) -> None:
    job_id = caller.enqueue()
    request = open_session(caller)
    [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    session, given = f"/v1/sessions/{request['session_id']}", {"secret": SECRET}
    assert caller.post(f"{session}/beat", given).json is True
    start = {"session_id": request["session_id"], "pid": 1, "pid_started_at": 1, "log_path": None}
    assert caller.put(f"/v1/runs/{run['run_id']}/start", start | given).json is True
    checkpoint = {"job_id": job_id, "data": "{}"}
    assert caller.put(f"/v1/runs/{run['run_id']}/checkpoint", checkpoint | given).status == 200
    [settled] = caller.post("/v1/reports", {"reports": [done(run)], **given}).json
    assert settled["refused"] is None
    assert caller.post(f"{session}/close", {"status": "success", **given}).json is True


def test_without_it_nobody_finishes_the_run(caller: Caller) -> None:
    job_id = caller.enqueue()
    request = open_session(caller)
    [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    other = open_session(caller, "o" * 43)
    for by in (other, request | {"secret": None}, request | {"secret": "o" * 43}):
        [settled] = caller.post("/v1/exchange", ask(by | {"slots": 0}, reports=[done(run)])).json["settled"]
        assert "was opened with another secret" in settled["refused"]
    [settled] = caller.post("/v1/reports", {"reports": [done(run)]}).json
    assert "was opened with another secret" in settled["refused"]
    session = f"/v1/sessions/{request['session_id']}"
    for reply in (
        caller.post(f"{session}/beat", {}),
        caller.post(f"{session}/close", {"status": "success"}),
        caller.put(f"/v1/runs/{run['run_id']}/checkpoint", {"job_id": job_id, "data": "{}", "secret": "x"}),
        caller.post("/v1/exchange/wait?timeout_ms=0", ask(request | {"secret": "x"}, holds=[])),
    ):
        assert (reply.status, reply.code) == (403, "ERR_NOT_HOLDER")
    assert caller.get(f"/v1/jobs/{job_id}").json["state"]["name"] == "RUNNING"


def test_a_short_secret_is_refused(caller: Caller) -> None:
    session = {"id": new_id(), "kind": "worker", "node": "here", "boot_id": "b", "pid": 1, "secret": "short"}
    assert "use 32 to 200 random characters" in caller.post("/v1/sessions", {"session": session}).detail


def test_a_secret_is_not_among_what_can_be_looked_at(caller: Caller) -> None:
    open_session(caller)
    assert b"secret" not in caller.get("/v1/sessions").body


@pytest.mark.parametrize(("asked", "spoken"), [("", 1), ("?protocol=1", 1), ("?protocol=2", 2), ("?protocol=9", 2)])
def test_the_newest_protocol_that_both_know_is_spoken(caller: Caller, asked: str, spoken: int) -> None:
    assert PROTOCOL == 2
    assert caller.get(f"/v1/hello{asked}").json["protocol"] == spoken


def test_sessions_without_a_secret_can_be_refused(api: RunningApi) -> None:
    with running_api(require_session_secret=True) as strict:
        caller = on_socket(strict)
        session = {"id": new_id(), "kind": "worker", "node": "here", "boot_id": "b", "pid": 1}
        refused = caller.post("/v1/sessions", {"session": session})
        assert (refused.status, refused.code) == (403, "ERR_NOT_HOLDER")
        request = open_session(caller)
        without = {key: value for key, value in request.items() if key != "secret"}
        session_path = f"/v1/sessions/{request['session_id']}"
        run = {"run_id": "r", "job_id": "j"}
        for path, body in (
            ("/v1/exchange", ask(without)),
            ("/v1/exchange/wait?timeout_ms=0", ask(without)),
            ("/v1/reports", {"reports": [done(run)]}),
            (f"{session_path}/beat", {}),
            (f"{session_path}/close", {"status": "success"}),
        ):
            assert "require_session_secret" in caller.post(path, body).detail
        assert caller.post("/v1/exchange", ask(request)).status == 200
        caller.close()
