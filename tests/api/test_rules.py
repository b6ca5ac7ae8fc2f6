"""Whatever comes from outside is checked: a name, a number, a length that does not fit is refused, with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.caller import Caller, new_id, new_job, on_socket
from tests.api.running import running_api

NAME = "use 1 to 200 letters, digits and _ . : / -"
LABEL = "use 1 to 200 characters without control characters"
SESSION = {"id": new_id(), "kind": "worker", "node": "n", "boot_id": "b", "pid": 1}
RESERVATION = {
    "id": new_id(),
    "scope": "*",
    "reserved_by": "ada",
    "session_id": new_id(),
    "ttl_ms": 1_000,
    "wait_ms": 0,
}
CLAIM = {"session_id": new_id(), "slots": 1, "queues": [{"queue": "default", "slots": 1}], "tasks": ["t"]}
REPORT = {"run_id": "r", "job_id": "j", "duration_ms": 1, "outcome": {"type": "Completed", "result": "1"}}


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    """One API for all: what is refused leaves nothing behind."""
    with running_api() as api:
        yield on_socket(api)


def exchange(**fields: Any) -> dict[str, Any]:
    return {"reports": [], "progress": [], "request": CLAIM} | fields


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"id": "1"}, "jobs[0].id '1' is not valid: use a UUID in lower case, best a UUIDv7"),
        ({"id": new_id().upper()}, "best a UUIDv7"),
        ({"id": new_id() + "\n"}, "best a UUIDv7"),
        ({"task": "rm -rf"}, f"jobs[0].task 'rm -rf' is not valid: {NAME}"),
        ({"task": ""}, NAME),
        ({"task": "x" * 201}, NAME),
        ({"queue": "a\n"}, NAME),
        ({"queue": "*"}, NAME),
        ({"tag": "a\u0000b"}, LABEL),
        ({"tag": ""}, LABEL),
        ({"tenant": "x" * 201}, LABEL),
        ({"idempotency_key": "\u001b[31m"}, LABEL),
        ({"trace_id": "\u007f"}, LABEL),
        ({"subject": "x" * 1_001}, "use 1 to 1000 characters"),
        ({"priority": 10**7}, "jobs[0].priority 10000000 is not valid: use a whole number from -1000000 to 1000000"),
        ({"priority": 10**40}, "use a whole number from -1000000 to 1000000"),
        ({"priority": True}, "jobs[0].priority True is not valid: use a whole number from -1000000 to 1000000"),
        ({"generation": -1, "subject": "s"}, "use a whole number from 0"),
        ({"generation": 1}, "generation 1 means nothing without subject: give that as well"),
        ({"due": 1, "delay_ms": 1}, "delay_ms and due exclude each other: give one of them"),
        ({"due": -1}, "use a moment from 1970 to 9999, in milliseconds since 1970"),
        ({"deadline": 10**18}, "use a moment from 1970 to 9999, in milliseconds since 1970"),
        ({"ttl_ms": -1}, "use 0 s to 100 years, in milliseconds"),
        ({"timeout_ms": 10**15}, "use 1 ms to 100 years, in milliseconds"),
        ({"timeout_ms": 0}, "use 1 ms to 100 years, in milliseconds"),
        ({"policy": {"retries": -1}}, "use a whole number from 0 to 1000000"),
        ({"policy": {"factor": 0.5}}, "use a number from 1 to 1000000"),
        ({"policy": {"mode": "AGAIN"}}, "jobs[0].policy.mode 'AGAIN' is not valid: use one of 'REQUEUE', 'CHAIN'"),
        ({"after": [{"job_id": ""}]}, "the id of a job or its number"),
        ({"trigger": "no json"}, "the trigger is not JSON"),
        ({"colour": "red"}, "Object contains unknown field `colour` at jobs[0]; allowed are id, task, "),
        ({"task": None}, "jobs[0].task None is not valid: use 1 to 200 letters, digits and _ . : / -"),
    ],
)
def test_a_job_that_does_not_fit_is_refused(caller: Caller, fields: dict[str, Any], said: str) -> None:
    reply = caller.post("/v1/jobs", {"jobs": [new_job(**fields)]})
    assert (reply.status, reply.code) == (400, "ERR_INVALID_INPUT")
    assert said in reply.detail
    assert caller.get("/v1/jobs").json["jobs"] == []


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/v1/queues/a%20b/pause", {}, f"name 'a b' is not valid: {NAME}"),
        ("/v1/queues/a%0A/resume", {}, NAME),
        ("/v1/queues/a/pause", {"reason": "x" * 1_001}, "use 1 to 1000 characters"),
        ("/v1/tags/%00/cancel", {"limit": 1}, LABEL),
        ("/v1/tags/a/cancel", {"limit": 0}, "limit 0 is not valid: use a whole number from 1 to 10000"),
        ("/v1/jobs/search", {"wanted": {"queue": "a b"}}, NAME),
        ("/v1/jobs/search", {"wanted": {}, "limit": 1_001}, "use a whole number from 1 to 1000"),
        ("/v1/jobs/search", {"wanted": {}, "cursor": "!"}, "cursor '!' is not one that a list returned"),
        (
            "/v1/jobs/search",
            {"wanted": {"states": ["LOST"]}},
            "'LOST' is not valid: use one of 'SCHEDULED', 'QUEUED'",
        ),
        ("/v1/jobs/bulk", {"action": "cancel", "wanted": {}, "limit": 10_001}, "use a whole number from 1 to 10000"),
        (
            "/v1/jobs/bulk",
            {"action": "explode", "wanted": {}},
            "action 'explode' is not valid: use one of 'cancel', 'retry', 'priority'",
        ),
        ("/v1/groups", {"group_id": "g", "mode": "parallel", "on_failure": "stop"}, "best a UUIDv7"),
        ("/v1/reservations", {"request": RESERVATION | {"scope": "a b"}}, "use * or 1 to 200 letters"),
        ("/v1/reservations", {"request": RESERVATION | {"ttl_ms": 0}}, "use 1 ms to 100 years, in milliseconds"),
        ("/v1/sessions", {"session": SESSION | {"id": "../../etc"}}, "best a UUIDv7"),
        (
            "/v1/sessions",
            {"session": SESSION | {"kind": "daemon"}},
            "'daemon' is not valid: use one of 'worker', 'embedded'",
        ),
        ("/v1/sessions", {"session": SESSION | {"pid": 2**31}}, "use a whole number from 0 to 2147483647"),
        (
            "/v1/sessions/x/close",
            {"status": "running"},
            "'running' is not valid: use one of 'success', 'error'",
        ),
        ("/v1/templates", {"template": {"id": new_id(), "name": "a b", "task": "t"}}, NAME),
        ("/v1/exchange", exchange(request=CLAIM | {"slots": 10_001}), "use a whole number from 0 to 10000"),
        ("/v1/exchange", exchange(request=CLAIM | {"tasks": ["a b"]}), NAME),
        ("/v1/exchange", exchange(holds=["\u0001"]), LABEL),
        ("/v1/exchange", exchange(reports=[REPORT | {"outcome": {"type": "Won"}}]), "Invalid value 'Won'"),
        (
            "/v1/exchange",
            exchange(reports=[REPORT | {"outcome": {"type": "Completed", "result": "{"}}]),
            "the result is not JSON",
        ),
        ("/v1/exchange", exchange(progress=[{"job_id": "j", "run_id": "r", "fraction": 1.5}]), "from 0 to 1"),
        ("/v1/exchange/wait?timeout_ms=3600001", exchange(), "timeout_ms '3600001' is not valid"),
        ("/v1/jobs", {}, "Object missing required field `jobs`"),
        ("/v1/jobs", {"jobs": [new_job()] * 10_001}, "jobs is not valid: use at most 10000 of them"),
        ("/v1/jobs", [], "Expected `object`, got `array`"),
        ("/v1/jobs", b"", "Object missing required field `jobs`"),
        ("/v1/jobs", b"{", "Input data was truncated"),
        ("/v1/jobs", b"\xff", "malformed"),
        ("/v1/jobs/1/cancel", b"[]", "Expected `object`, got `array`"),
    ],
)
def test_a_request_that_does_not_fit_is_refused(caller: Caller, path: str, body: Any, said: str) -> None:
    reply = caller.post(path, body)
    assert (reply.status, reply.code) == (400, "ERR_INVALID_INPUT"), reply.body
    assert said in reply.detail


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/v1/jobs?limit=1&limit=2", "'limit' stands twice in the query of jobs_like"),
        ("/v1/jobs?limit=many", "limit 'many' is not valid: use a whole number from 1 to 1000"),
        ("/v1/jobs?colour=red", "Object contains unknown field `colour`; allowed are "),
        ("/v1/jobs?state=LOST", "'LOST' is not valid: use one of 'SCHEDULED', 'QUEUED'"),
        ("/v1/jobs?" + "&".join(f"a{number}=1" for number in range(200)), "the query cannot be read"),
        ("/v1/jobs/1/wait?timeout_ms=-1", "timeout_ms '-1' is not valid: use 0 s to 1 h, in milliseconds"),
        ("/v1/runs/r/log?offset=-1", "offset '-1' is not valid"),
        ("/v1/runs/r/log?tail=1&lines=1", "tail and lines exclude each other"),
    ],
)
def test_a_query_that_does_not_fit_is_refused(caller: Caller, path: str, said: str) -> None:
    reply = caller.get(path)
    assert (reply.status, reply.code) == (400, "ERR_INVALID_INPUT")
    assert said in reply.detail


def test_a_field_that_may_be_nothing_may_be_left_out(caller: Caller) -> None:
    assert caller.post("/v1/queues/a/pause").status == 200
    assert caller.post("/v1/sessions", {"session": SESSION}).status == 201
