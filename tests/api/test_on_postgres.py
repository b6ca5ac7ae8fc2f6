"""The API on PostgreSQL answers as it does on SQLite, where the databases differ in what they refuse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.runtime.clock import SystemClock
from holdfast.store.postgres.engine import PostgresEngine
from tests.api.acts import ask, asking, looks_write_nothing, open_worker, work_once
from tests.api.caller import Caller, new_id, new_job
from tests.api.running import RunningApi, running_api


@pytest.fixture
def api(postgres_url: str, postgres_schema: str) -> Iterator[RunningApi]:
    engine = PostgresEngine(postgres_url, schema=postgres_schema, now=SystemClock().now)
    with running_api(engine) as api:
        yield api


def test_an_id_that_is_taken_is_a_conflict(caller: Caller) -> None:
    job = new_job()
    assert caller.post("/v1/jobs", {"jobs": [job]}).status == 201
    assert caller.post("/v1/jobs", {"jobs": [job]}).code == "ERR_CONFLICT"
    assert caller.post("/v1/jobs", {"jobs": [job], "repeated": True}).status == 201


def test_a_wait_is_answered_when_the_job_has_ended(api: RunningApi, caller: Caller) -> None:
    caller.enqueue()
    with asking(api, "/v1/jobs/1/wait") as answer:
        work_once(api)
        assert answer()["state"]["name"] == "DONE"


def test_an_exchange_waits_for_work(api: RunningApi, caller: Caller) -> None:
    request = open_worker(caller, "default")
    with asking(api, "/v1/exchange/wait?timeout_ms=60000", ask(request)) as answer:
        job_id = caller.enqueue(payload={"text": "a\u0000b"})
        assert [run["job_id"] for run in answer()["claimed"]] == [job_id]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/tags/a%00b/cancel", {"limit": 1}),
        ("/v1/jobs/search", {"wanted": {"error_text": "\u0000"}}),
        ("/v1/groups", {"group_id": new_id(), "name": "\u0000", "mode": "parallel", "on_failure": "stop"}),
    ],
)
def test_what_the_database_cannot_store_never_gets_there(caller: Caller, path: str, body: dict[str, object]) -> None:
    assert caller.post(path, body).code == "ERR_INVALID_INPUT"


def test_everything_can_be_looked_at(caller: Caller) -> None:
    caller.enqueue(queue="mail", tag="x")
    caller.post("/v1/templates", {"template": {"id": new_id(), "name": "nightly", "task": "t"}})
    for path in ("/v1/stats", "/v1/workers", "/v1/groups", "/v1/queues", "/v1/counts", "/v1/reservations"):
        assert caller.get(path).status == 200
    assert [job["tag"] for job in caller.get("/v1/jobs?queue=mail&state=QUEUED&tag=x").json["jobs"]] == ["x"]
    assert [template["name"] for template in caller.get("/v1/templates").json] == ["nightly"]


def test_searches_and_dry_runs_write_nothing(api: RunningApi, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    looks_write_nothing(api, caller, monkeypatch)
