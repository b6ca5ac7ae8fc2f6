"""Requests that come faster than their answers are read cost nobody but their sender."""

from __future__ import annotations

import http.client
import logging
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from holdfast.api import long_calls
from holdfast.api.admission import MOST_HEAD_BYTES, MOST_IN_A_ROW
from tests.api.running import PATIENCE_S, RunningApi, running_api
from tests.chaos.processes import until
from tests.daemon.house import House

LIVEZ = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"  # 32 bytes, so that what is read at once ends with a whole one
LAST = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
AT_ONCE = 1_000
MOST_MEMORY = 120 << 20
UPGRADE = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"


@pytest.fixture
def api() -> Iterator[RunningApi]:
    with running_api(port=0) as running:
        yield running


def answers(api: RunningApi, sent: bytes) -> bytes:
    """Everything that comes back on one connection until the daemon closes it."""
    with socket.create_connection(("127.0.0.1", api.port or 0), timeout=PATIENCE_S) as connection:
        received = b""
        with suppress(ConnectionResetError):
            connection.sendall(sent)
            while piece := connection.recv(65_536):
                received += piece
        return received


def statuses(received: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", received)]


def test_a_stream_ends_with_its_caller_though_another_request_waits_behind_it(
    api: RunningApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_calls, "BREATH_S", 0.01)  # How soon the end of a caller shows.
    stream = b"GET /v1/changes HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(str(api.home.socket))
        connection.sendall(stream + LIVEZ)
        assert b"hello" in connection.recv(65_536) + connection.recv(65_536)
        assert api.long_calls.open == 1
    until(lambda: api.long_calls.open == 0, "its place is free")


def test_some_requests_in_a_row_are_answered(api: RunningApi) -> None:
    assert statuses(answers(api, LIVEZ * (MOST_IN_A_ROW - 1) + LAST)) == [200] * MOST_IN_A_ROW


def test_one_too_many_is_refused_behind_the_answers_to_the_others(api: RunningApi) -> None:
    received = answers(api, LIVEZ * 30)
    assert statuses(received) == [200] * (1 + MOST_IN_A_ROW) + [429]
    assert b"ERR_TOO_MANY_IN_A_ROW" in received


def test_a_bad_body_of_one_that_waits_is_refused_behind_the_answers_to_the_others(api: RunningApi) -> None:
    bad = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nthis is no size\r\n"
    assert statuses(answers(api, LIVEZ * 3 + bad)) == [200, 200, 200, 400]


def test_many_requests_one_after_another_are_fine(api: RunningApi) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=PATIENCE_S)
    for _ in range(MOST_HEAD_BYTES // len(LIVEZ) + 10):
        connection.request("GET", "/livez")
        with connection.getresponse() as answer:
            assert answer.status == 200
            answer.read()
    connection.request("POST", "/v1/jobs", iter([b"{", b"}"]), encode_chunked=True)
    with connection.getresponse() as answer:
        assert answer.status == 401
    connection.close()


def test_what_follows_a_body_is_no_header(api: RunningApi) -> None:
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    token = b"Authorization: Bearer " + api.token.strip().encode()
    assert statuses(answers(api, head + b"2\r\n{}\r\n0\r\n" + token + b"\r\n\r\n")) == [401]


def test_trailers_without_end_are_cut_off(api: RunningApi) -> None:
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    received = answers(api, head + b"a: " + b"x" * 50_000_000)
    assert statuses(received) in ([401], [431], [])


def test_refused_requests_get_one_line_of_the_log_for_many(api: RunningApi, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            assert statuses(answers(api, b"\x16\x03\x01 hello\r\n\r\n")) == [400]
            assert statuses(answers(api, UPGRADE)) == [200]
    assert [record.__dict__.get("event") for record in caplog.records] == ["bad_request"]
    assert api.refused.counts == {"bad_http": 5, "upgrade": 5}


def pour(port: int, requests: int) -> None:
    """Send so many requests, on a new connection whenever one is closed, and stay for some of the answers."""
    left = requests
    while left > 0:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
            while left > 0:
                left -= AT_ONCE
                connection.sendall(LIVEZ * AT_ONCE)
            for _ in range(AT_ONCE):
                if not connection.recv(200):
                    break


def test_requests_that_nobody_waits_for_take_no_memory(house: House) -> None:
    house.settings("[api]\nport = 0\n")
    daemon = house.up()
    _, status = house.ask("GET", "/v1/daemon")
    port = int(status["tcp"].rpartition(":")[2])
    pouring = [threading.Thread(target=pour, args=(port, 50_000)) for _ in range(4)]
    for thread in pouring:
        thread.start()
    most = 0
    while any(thread.is_alive() for thread in pouring):
        assert house.ask("GET", "/livez")[0] == 200
        most = max(most, psutil.Process(daemon.pid).memory_info().rss)
    assert most < MOST_MEMORY
