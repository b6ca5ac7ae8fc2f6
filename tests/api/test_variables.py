"""The variables of a job over HTTP: what they may be, and what a worker of an earlier version is given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.acts import ask, open_worker
from tests.api.caller import Caller, new_id, new_job, on_socket
from tests.api.running import RunningApi, running_api


@pytest.fixture
def caller() -> Iterator[Caller]:
    with running_api() as api:
        yield from _caller(api)


def _caller(api: RunningApi) -> Iterator[Caller]:
    found = on_socket(api)
    yield found
    found.close()


def claim(caller: Caller, secret: str | None) -> Any:
    """What a worker of commands is given; without a secret, it speaks protocol 1."""
    session_id = new_id()
    session = {"id": session_id, "kind": "worker", "node": "here", "boot_id": "b", "pid": 1, "secret": secret}
    offer = {"worker_id": new_id(), "name": "w", "tasks": ["command"], "queues": ["default"], "slots": 1}
    assert caller.post("/v1/sessions", {"session": session, "offer": offer}).status == 201
    request = {
        "session_id": session_id,
        "worker_id": offer["worker_id"],
        "slots": 1,
        "queues": [{"queue": "default", "slots": 1}],
        "tasks": ["command"],
        "secret": secret,
    }
    [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    return run


def test_a_worker_of_an_earlier_version_finds_them_in_the_payload(caller: Caller) -> None:
    payload = {"argv": ["env"], "env": {"A": "1", "B": "2"}}
    for _ in range(2):
        caller.enqueue(task="command", payload=payload, env={"A": "3"})
    old, new = claim(caller, None), claim(caller, "s" * 40)
    assert json.loads(old["payload"]) == {"argv": ["env"], "env": {"A": "3", "B": "2"}}
    assert (json.loads(new["payload"]), new["env"]) == (payload, {"A": "3"})
    # What is kept of the run is what the job has.
    [run] = caller.get(f"/v1/jobs/{old['job_id']}/runs").json
    assert json.loads(run["params_snapshot"]) == payload


@pytest.mark.parametrize(
    "env",
    [
        {"A=B": "x"},
        {"": "x"},
        {"A": "x\0"},
        {"A": 1},
        {f"A{number}": "x" for number in range(1_001)},
        {f"A{number}": "x" * 100_000 for number in range(11)},
    ],
)
def test_what_no_process_could_have_is_refused(caller: Caller, env: Any) -> None:
    refused = caller.post("/v1/jobs", {"jobs": [new_job(env=env)]})
    assert refused.status in (400, 413, 422), refused.body
    template = {"id": new_id(), "name": "t", "task": "t", "options": {"env": env}}
    assert caller.post("/v1/templates", {"template": template}).status in (400, 413, 422)
    assert caller.get("/v1/jobs").json["jobs"] == []


@pytest.mark.parametrize(
    "env", [{"MINE": "hunter2", "A": 1}, {"MINE": "hunter2\0"}, {"A=B": "hunter2"}, {"": "hunter2"}, "MINE=hunter2"]
)
def test_no_refusal_repeats_a_value(caller: Caller, env: Any) -> None:
    template = {"id": new_id(), "name": "t", "task": "t", "options": {"env": env}}
    for path, body in (("/v1/jobs", {"jobs": [new_job(env=env)]}), ("/v1/templates", {"template": template})):
        refused = caller.post(path, body)
        assert refused.code == "ERR_INVALID_INPUT"
        assert b"env" in refused.body
        assert b"hunter2" not in refused.body


def test_a_job_is_run_where_it_says(caller: Caller) -> None:
    assert caller.post("/v1/jobs", {"jobs": [new_job(execution="thread")]}).code == "ERR_INVALID_INPUT"
    job_id = caller.enqueue(execution="subprocess", env={"A": "1"})
    found = caller.get(f"/v1/jobs/{job_id}").json
    assert (found["execution"], found["env"]) == ("subprocess", {"A": "1"})
    request = open_worker(caller, "default")
    [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
    assert (run["execution"], run["env"]) == ("subprocess", {"A": "1"})
