"""No caller can take the house: sizes, depths, numbers and times are bounded, and the others are served on."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from holdfast.api import admission, budgets
from tests.api.caller import Caller, new_id, new_job, on_socket
from tests.api.running import PATIENCE_S, RunningApi, running_api


@contextmanager
def raw(api: RunningApi) -> Iterator[socket.socket]:
    """A connection without any manners."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.settimeout(PATIENCE_S)
        door.connect(str(api.home.socket))
        yield door


def heard(door: socket.socket) -> bytes:
    """Everything until the other side hangs up."""
    said = b""
    try:
        while piece := door.recv(65_536):
            said += piece
    except ConnectionResetError:
        pass
    return said


def poured(door: socket.socket, pieces: Iterator[bytes], most: int) -> int:
    """How many bytes could be sent before the other side hung up."""
    sent = 0
    try:
        while sent < most:
            piece = next(pieces)
            door.sendall(piece)
            sent += len(piece)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return sent


def repeated(piece: bytes) -> Iterator[bytes]:
    while True:
        yield piece


def test_a_body_that_announces_too_much_is_refused_before_it_is_sent(api: RunningApi) -> None:
    with raw(api) as door:
        door.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        assert door.recv(1_000).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_is_too_large_is_refused() -> None:
    with running_api(max_body=1 << 16) as api:
        caller = on_socket(api)
        reply = caller.post("/v1/jobs", b" " * ((1 << 16) + 1))
        assert (reply.status, reply.code) == (413, "ERR_TOO_LARGE")
        assert caller.enqueue(payload={"x": "y" * 60_000})


def test_a_body_without_end_is_refused() -> None:
    with running_api(max_body=1 << 16) as api, raw(api) as door:
        door.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(3):
            door.sendall(b"8000\r\n" + b" " * 0x8000 + b"\r\n")
        assert door.recv(1_000).startswith(b"HTTP/1.1 413 ")


def test_a_payload_that_is_too_large_is_refused(caller: Caller) -> None:
    reply = caller.post("/v1/jobs", {"jobs": [new_job(payload={"x": "y" * (1 << 20)})]})
    assert (reply.status, reply.code) == (400, "ERR_INVALID_PAYLOAD")
    assert "the limit is 1048576" in reply.detail


@pytest.mark.parametrize("as_text", [False, True])
def test_a_payload_may_be_nested_32_levels_deep(caller: Caller, as_text: bool) -> None:
    def nested(levels: int) -> bytes:
        payload = '{"x":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"
        given = json.dumps(payload) if as_text else payload
        return f'{{"jobs":[{{"id":"{new_id()}","task":"t","payload":{given}}}]}}'.encode()

    assert caller.post("/v1/jobs", nested(32)).status == 201
    reply = caller.post("/v1/jobs", nested(33))
    assert (reply.status, reply.detail) == (400, "the payload is nested deeper than 32 levels; flatten it")


@pytest.mark.parametrize("field", ["payload", "after", "colour"])
def test_a_body_that_is_nested_without_end_is_refused(caller: Caller, field: str) -> None:
    body = f'{{"jobs":[{{"id":"{new_id()}","task":"t","{field}":'.encode() + b"[" * 500_000
    assert caller.post("/v1/jobs", body).status == 400
    assert caller.get("/livez").status == 200


def test_ten_thousand_headers_are_too_many(api: RunningApi, caller: Caller) -> None:
    with raw(api) as door:
        poured(door, iter([b"GET /livez HTTP/1.1\r\nHost: x\r\n", b"a: b\r\n" * 10_000, b"\r\n"]), 60_030)
        said = heard(door)
    assert said.startswith(b"HTTP/1.1 431 ")
    assert said.count(b"HTTP/1.1") == 1
    assert b"ERR_HEAD_TOO_LARGE" in said
    assert caller.get("/livez").status == 200


@pytest.mark.parametrize("start", [b"GET /livez HTTP/1.1\r\nHost: x\r\na: ", b"GET /", b"GET /livez HTTP/1.1\r\nb"])
def test_a_head_without_end_is_cut_off(api: RunningApi, caller: Caller, start: bytes) -> None:
    with raw(api) as door:
        door.sendall(start)
        assert poured(door, repeated(b"x" * 10_000), 50_000_000) < 5_000_000
    assert caller.get("/livez").status == 200


def test_a_header_of_a_megabyte_is_refused(api: RunningApi) -> None:
    with raw(api) as door:
        poured(door, iter([b"GET /livez HTTP/1.1\r\nHost: x\r\na: " + b"x" * 1_000_000 + b"\r\n\r\n"]), 1)
        assert heard(door)[:13] in (b"HTTP/1.1 431 ", b"")


def test_a_hundred_headers_are_fine(caller: Caller) -> None:
    assert caller.get("/livez", **{f"x-{number}": "y" * 500 for number in range(95)}).status == 200


def test_what_is_not_http_is_answered_with_a_problem(api: RunningApi) -> None:
    with raw(api) as door:
        door.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        said = heard(door)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert b"ERR_BAD_HTTP" in said


@pytest.mark.parametrize(
    "start",
    [b"", b"GET /livez HTTP/1.1\r\nHost", b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_request_that_never_completes_is_given_up(
    api: RunningApi, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(admission, "HEAD_S", 0.1)
    monkeypatch.setattr(admission, "BODY_S", 0.1)
    with raw(api) as door:
        door.sendall(start)
        said = heard(door)
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"ERR_TOO_SLOW" in said


def test_a_trickle_does_not_buy_time(api: RunningApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "HEAD_S", 0.1)
    with raw(api) as door:
        door.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n")
        door.settimeout(0.05)
        said = b""
        # One byte at a time, for as long as it is taken.
        for _ in range(round(PATIENCE_S / 0.05)):
            try:
                door.sendall(b"a")
                said = door.recv(1_000)
                break
            except TimeoutError:
                continue
            except OSError:
                break
        assert said[:13] in (b"HTTP/1.1 408 ", b"")


def test_between_two_requests_a_connection_may_rest(api: RunningApi, monkeypatch: pytest.MonkeyPatch) -> None:
    caller, other = on_socket(api), on_socket(api)
    assert caller.get("/livez").status == 200
    monkeypatch.setattr(admission, "HEAD_S", 0.0)
    with raw(api) as door:  # The next sweep takes this one, and has looked at the others as well.
        heard(door)
    sock = caller.connection.sock
    assert caller.get("/livez").status == 200
    assert caller.connection.sock is sock
    other.close()


def test_there_are_only_so_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "MOST_CONNECTIONS", 3)
    with running_api() as api:
        kept = [on_socket(api) for _ in range(3)]
        assert [caller.get("/livez").status for caller in kept] == [200] * 3
        with raw(api) as door:
            said = heard(door)
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"ERR_TOO_MANY_CONNECTIONS" in said
        assert b"retry-after: 1" in said
        assert [caller.get("/livez").status for caller in kept] == [200] * 3


def test_an_error_inside_tells_nothing_of_the_inside(
    api: RunningApi, caller: Caller, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **kw: object) -> None:
        raise RuntimeError("the secret plan")

    monkeypatch.setattr(api.engine, "query", broken)
    reply = caller.get("/v1/stats")
    assert (reply.status, reply.code) == (500, "ERR_INTERNAL")
    assert "secret plan" not in reply.body.decode()
    assert "Traceback" not in reply.body.decode()
    assert "the secret plan" in caplog.text


def test_a_daemon_that_is_not_ready_says_so(api: RunningApi, caller: Caller) -> None:
    api.missing = "the daemon is starting"
    assert caller.get("/livez").status == 200
    for reply in (caller.get("/readyz"), caller.get("/v1/stats"), caller.post("/v1/jobs", {"jobs": []})):
        assert (reply.status, reply.code, reply.detail) == (503, "ERR_NOT_READY", "the daemon is starting")
        assert reply.headers["retry-after"] == "1"
    api.missing = None
    assert caller.get("/readyz").json == {"status": "ready"}


@pytest.mark.parametrize("rest", [b"x", b'"wanted": ' + b"[" * 100_000])
def test_what_cannot_be_read_behind_a_mistake_is_the_callers_mistake_too(caller: Caller, rest: bytes) -> None:
    assert caller.post("/v1/jobs/search", b'{"limit": 0, ' + rest).status == 400
