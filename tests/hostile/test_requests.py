"""Whatever a stranger sends is answered: taken as it is, or refused with a code. It breaks nothing for others."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.api.caller import Caller, on_socket
from tests.api.running import RunningApi, running_api
from tests.hostile.corpus import NAMES, around, payloads, requests_with

PAYLOADS = payloads()


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    with running_api(port=0) as api:
        yield api


@pytest.fixture
def caller(api: RunningApi) -> Iterator[Caller]:
    caller = on_socket(api)
    yield caller
    caller.close()


def is_answered(caller: Caller, method: str, path: str, body: object) -> int:
    """Send it. A refusal has a code and says why in one line that a terminal can show."""
    reply = caller.send(method, path, body, {})
    assert reply.status < 500, reply.body[:500]
    if reply.status >= 400:
        assert reply.code.startswith("ERR_")
        assert reply.detail
        assert len(reply.detail) < 2_000
        assert "Traceback" not in reply.detail
    if reply.headers.get("connection") == "close":
        caller.close()
    return reply.status


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_is_taken_or_refused(caller: Caller, name: str) -> None:
    is_answered(caller, "POST", "/v1/jobs", around(PAYLOADS[name]))
    caller.enqueue(task="after", queue="others")


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_whole_body_of_this_kind_is_refused(caller: Caller, name: str) -> None:
    assert is_answered(caller, "POST", "/v1/jobs", PAYLOADS[name]) >= 400
    caller.enqueue(task="after", queue="others")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_taken_or_refused_wherever_it_stands(caller: Caller, name: str) -> None:
    for method, path, body in requests_with(NAMES[name]):
        is_answered(caller, method, path, body)
    caller.enqueue(task="after", queue="others")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_path_leads_nowhere_else(caller: Caller, name: str) -> None:
    text = quote(NAMES[name].encode("utf-8", "surrogatepass")[:2_000], safe="")
    for path in (
        f"/v1/jobs/{text}",
        f"/v1/jobs/{text}/log",
        f"/v1/runs/{text}/artifacts",
        f"/v1/groups/{text}",
        f"/v1/templates/{text}",
        f"/v1/schedules/{text}",
        f"/v1/watches/{text}",
        f"/v1/webhooks/{text}",
        f"/v1/queues/{text}",
        f"/v1/jobs?queue={text}&tag={text}&cursor={text}",
    ):
        is_answered(caller, "GET", path, None)
    caller.enqueue(task="after", queue="others")
