"""All requests under way have one bound for their bytes. Small ones find room when large ones do not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from holdfast.api.admission import MOST_IN_A_ROW
from holdfast.api.budgets import SMALL_BODY, BodyBudget
from tests.api.caller import new_id, on_socket
from tests.api.running import PATIENCE_S, RunningApi, running_api
from tests.chaos.processes import until

LARGEST = 1 << 20


@pytest.fixture
def api() -> Iterator[RunningApi]:
    with running_api(max_body=LARGEST) as api:
        yield api


def body_of(size: int) -> bytes:
    """A request of this size that enqueues one job."""
    return f'{{"jobs":[{{"id":"{new_id()}","task":"t"}}]}}'.encode().ljust(size)


def uploading(api: RunningApi, body: bytes, sent: int) -> socket.socket:
    """A connection that has sent so much of a request."""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.settimeout(PATIENCE_S)
    door.connect(str(api.home.socket))
    door.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:sent])
    return door


def under_way(api: RunningApi) -> int:
    assert api._servers is not None
    return api._servers._budgets.bodies._used


def test_large_requests_have_a_bound_together_and_small_ones_keep_going(api: RunningApi) -> None:
    body = body_of(LARGEST)
    with ExitStack() as stack:
        # Three of the largest are all that large ones may have.
        first, *_ = [stack.enter_context(uploading(api, body, LARGEST - 1)) for _ in range(3)]
        until(lambda: under_way(api) == 3 * (LARGEST - 1), "three requests are nearly there")
        caller = on_socket(api)
        reply = caller.post("/v1/jobs", body_of(LARGEST))
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (503, "ERR_TOO_MUCH_AT_ONCE", "1")
        assert "try again later" in reply.detail
        assert caller.post("/v1/jobs", body_of(SMALL_BODY)).status == 201

        first.sendall(body[-1:])
        assert first.recv(100).startswith(b"HTTP/1.1 201 ")
        until(lambda: under_way(api) == 2 * (LARGEST - 1), "the answered one is not counted any more")
        assert caller.post("/v1/jobs", body_of(LARGEST)).status == 201
    until(lambda: under_way(api) == 0, "those that went away are not counted any more")


def test_nothing_of_a_refused_request_is_kept(api: RunningApi) -> None:
    refused = b'{"jobs": 5}'.ljust(LARGEST // 2)
    for _ in range(10):
        assert on_socket(api).post("/v1/jobs", refused).status == 400
        assert on_socket(api).post("/v1/jobs", b" " * (LARGEST + 1)).status == 413
    until(lambda: under_way(api) == 0, "nothing is counted any more")


def test_requests_in_one_row_are_counted_until_the_last_answer(api: RunningApi) -> None:
    body = body_of(100)
    with uploading(api, body, 100) as door:
        for _ in range(MOST_IN_A_ROW):
            again = body_of(100)
            door.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + again)
        said = b""
        while said.count(b"HTTP/1.1 201 ") < 1 + MOST_IN_A_ROW:
            said += door.recv(65_536)
        until(lambda: under_way(api) == 0, "nothing is counted any more")


def test_the_last_quarter_is_for_small_ones() -> None:
    budget = BodyBudget(400_000)
    assert budget.take(300_000, 0)
    assert not budget.take(1, SMALL_BODY)
    assert budget.take(SMALL_BODY, 0)
    assert not budget.take(SMALL_BODY, 0)
    budget.give_back(300_000)
    assert budget.take(100_000, 0)
