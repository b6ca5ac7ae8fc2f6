"""One trace from the caller to the job: it comes in or is made, is stored, and goes out again."""

from __future__ import annotations

import logging
import re

import pytest

from tests.api.caller import Caller, new_job
from tests.api.running import RunningApi

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
HEADER = f"00-{TRACE}-00f067aa0ba902b7-01"


def test_the_trace_of_the_caller_is_stored_and_returned(caller: Caller) -> None:
    reply = caller.post("/v1/jobs", {"jobs": [new_job(), new_job(trace_id="my own")]}, traceparent=HEADER)
    assert reply.headers["traceparent"].startswith(f"00-{TRACE}-")
    assert reply.headers["traceparent"] != HEADER
    assert [caller.get(f"/v1/jobs/{number}").json["trace_id"] for number in (1, 2)] == [TRACE, "my own"]


@pytest.mark.parametrize("header", ["", "nonsense", "00-" + "0" * 32 + "-00f067aa0ba902b7-01", "ff" + HEADER[2:]])
def test_without_a_trace_one_is_made(caller: Caller, header: str) -> None:
    reply = caller.post("/v1/jobs", {"jobs": [new_job()]}, traceparent=header)
    [made] = re.findall(r"^00-([0-9a-f]{32})-[0-9a-f]{16}-01$", reply.headers["traceparent"])
    assert made not in (TRACE, "0" * 32)
    assert caller.get("/v1/jobs/1").json["trace_id"] == made


def test_a_problem_names_its_trace(caller: Caller) -> None:
    for path in ("/v1/jobs/77", "/nowhere", "/v1/jobs?limit=0"):
        reply = caller.get(path, traceparent=HEADER)
        assert (reply.status >= 400, reply.json["trace_id"]) == (True, TRACE)


def test_an_error_inside_is_logged_with_its_trace(
    api: RunningApi, caller: Caller, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.observe.logs import trace_id_of

    seen: list[str | None] = []
    monkeypatch.setattr(logging.getLogger("holdfast.api"), "handle", lambda record: seen.append(trace_id_of(record)))
    monkeypatch.setattr(api.engine, "query", lambda *args, **kw: 1 / 0)
    assert caller.get("/v1/stats", traceparent=HEADER).json["trace_id"] == TRACE
    assert seen == [TRACE]


def test_what_callers_send_is_never_logged(caller: Caller, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "hunter2"
    caller.post("/v1/jobs", {"jobs": [new_job(payload={"password": secret})]})
    caller.post("/v1/jobs", {"jobs": [new_job(payload={"password": secret}, task="does not fit")]})
    caller.post("/v1/jobs", f'{{"jobs": "{secret}'.encode())
    caller.get(f"/v1/jobs?tag={secret}&limit=0")
    assert secret not in caplog.text


def test_programs_get_what_was_sent_with_all_its_secrets(caller: Caller) -> None:
    caller.enqueue(payload={"password": "hunter2"})
    assert "hunter2" in caller.get("/v1/jobs/1").json["payload"]
