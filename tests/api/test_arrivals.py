"""Connections by TCP that have shown no token are few, make room for each other, and keep nobody out."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from holdfast.api import arrivals as module
from holdfast.api import budgets
from holdfast.api.admission import TcpHttp
from holdfast.api.arrivals import SILENCE_S, SPEECH_S, Arrival, Arrivals
from holdfast.daemon import listening
from tests.api.caller import on_socket, on_tcp
from tests.api.running import PATIENCE_S, RunningApi, running_api
from tests.certificates import make_certificate
from tests.chaos.processes import until

LATER = 100.0
wait_until = partial(until, what="it is so")


class Guests:
    """Arrivals by name, and which of them were closed."""

    def __init__(self, most: int) -> None:
        self.all = Arrivals(most)
        self.closed: list[str] = []
        self._known: dict[str, Arrival] = {}

    def come(self, name: str, now: float) -> None:
        self._known[name] = Arrival(now, lambda: self.closed.append(name))
        self.all.add(self._known[name])

    def speak(self, name: str, now: float) -> None:
        self.all.speaks(self._known[name], now)

    def leave(self, name: str) -> None:
        self.all.leave(self._known[name])


def test_the_oldest_silent_one_makes_room() -> None:
    guests = Guests(3)
    for number, name in enumerate("abc"):
        guests.come(name, number)
    guests.speak("a", 3)
    guests.come("d", LATER)
    assert (guests.closed, len(guests.all)) == (["b"], 3)


def test_if_all_of_them_speak_the_oldest_makes_room() -> None:
    guests = Guests(2)
    for number, name in enumerate("ab"):
        guests.come(name, number)
        guests.speak(name, number)
    guests.come("c", LATER)
    assert guests.closed == ["a"]


def test_a_new_one_has_a_moment_to_speak() -> None:
    guests = Guests(1)
    guests.come("a", 10.0)
    assert guests.all.wait_s(10.0) == pytest.approx(SILENCE_S)
    assert guests.all.wait_s(10.0 + SILENCE_S) == 0
    guests.speak("a", 10.0)
    assert guests.all.wait_s(10.0) == pytest.approx(SPEECH_S)
    guests.leave("a")
    assert guests.all.wait_s(10.0) == 0


def test_one_that_has_just_come_does_not_go_before_one_that_has_had_its_time() -> None:
    guests = Guests(2)
    guests.come("old", 10.0)
    guests.speak("old", 10.0)
    guests.come("new", 10.0 + SPEECH_S)
    guests.come("newer", 10.0 + SPEECH_S)
    assert guests.closed == ["old"]


def test_one_that_has_left_is_not_closed() -> None:
    guests = Guests(2)
    for name in "abc":
        guests.come(name, 1.0)
        guests.leave(name)
    guests.speak("a", 2.0)
    guests.all.close()
    assert (guests.closed, len(guests.all)) == ([], 0)


def test_those_that_stay_silent_are_closed_and_the_others_are_not() -> None:
    guests = Guests(9)
    for number, name in enumerate("abcd"):
        guests.come(name, number)
    guests.speak("a", 1.0)
    guests.all.close_silent(2.0)
    assert guests.closed == ["b", "c"]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningApi]:
    """An API that takes four connections in all, three of them by TCP, and two without a token."""
    monkeypatch.setattr(budgets, "MOST_ARRIVALS", 2)
    monkeypatch.setattr(budgets, "MOST_CONNECTIONS", 4)
    monkeypatch.setattr(module, "SPEECH_S", 0.0)
    with running_api(port=0) as api:
        yield api


def guest(api: RunningApi, said: bytes = b"") -> socket.socket:
    assert api.port is not None
    made = socket.create_connection(("127.0.0.1", api.port), PATIENCE_S)
    made.sendall(said)
    return made


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(65_536) == b""
    except ConnectionResetError:
        return True


def test_the_newest_is_answered_and_the_oldest_silent_one_is_closed(api: RunningApi) -> None:
    with guest(api) as first, guest(api) as second:
        caller = on_tcp(api)
        assert caller.get("/v1/stats").status == 200
        assert is_closed(first)
        with guest(api), guest(api):
            assert is_closed(second)
            assert caller.get("/v1/stats").status == 200


@pytest.mark.parametrize(
    "said", [b"G", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n"]
)
def test_one_that_speaks_without_a_token_makes_room_too(api: RunningApi, said: bytes) -> None:
    with ExitStack() as stack:
        crowd = [stack.enter_context(guest(api, said)) for _ in range(20)]
        assert on_tcp(api).get("/v1/stats").status == 200
        for one in crowd[:-2]:
            wait_until(lambda one=one: is_closed(one))  # type: ignore[misc]


def test_those_with_a_token_are_counted_and_the_socket_has_room_of_its_own(api: RunningApi) -> None:
    kept = [on_tcp(api) for _ in range(3)]
    assert [caller.get("/v1/stats").status for caller in kept] == [200] * 3
    refused = on_tcp(api)
    reply = refused.get("/v1/stats")
    assert (reply.status, reply.code, reply.headers["retry-after"]) == (503, "ERR_TOO_MANY_CONNECTIONS", "1")
    assert on_socket(api).get("/v1/stats").status == 200
    kept[0].close()
    wait_until(lambda: refused.get("/v1/stats").status == 200)
    assert kept[1].get("/v1/stats").status == 200


def test_the_next_one_comes_in_as_soon_as_another_has_left(api: RunningApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPEECH_S", 1_000.0)
    assert api._servers is not None
    assert api._servers._tcp is not None
    arrivals, listener = api._servers._arrivals, api._servers._tcp._listener
    asking = f"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.token}\r\n\r\n".encode()
    with guest(api, b"G") as first, guest(api, b"G"):
        wait_until(lambda: len(arrivals._speaking) == 2 and listener._pause is None)
        with guest(api, asking) as waiting:
            wait_until(lambda: listener._pause is not None)
            first.close()
            assert waiting.recv(20).startswith(b"HTTP/1.1 200 ")


def test_a_token_that_turns_out_to_be_valid_after_the_end_takes_no_room(api: RunningApi) -> None:
    assert api._servers is not None
    assert api._servers._tcp is not None
    budget, known = api._servers._budgets.connections, api._servers._tcp._server.server_state.connections
    with guest(api, b"GET /v1/stats HTTP/1.1\r\n"):
        wait_until(lambda: len(known) == 1)
        [connection] = list(known)
    wait_until(lambda: len(known) == 0)

    async def show_late() -> str | None:
        assert isinstance(connection, TcpHttp)
        return connection._show_token()

    assert api.do(show_late()) is None
    assert budget._by_tcp == 0


def test_a_caller_that_goes_away_before_its_first_byte_leaves_nothing(api: RunningApi) -> None:
    for _ in range(5):
        guest(api).close()
    assert on_tcp(api).get("/v1/stats").status == 200
    assert api._servers is not None
    arrivals = api._servers._arrivals
    wait_until(lambda: len(arrivals) == 0)


def test_a_handshake_has_only_so_much_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert listening.HANDSHAKE_S == 5.0
    monkeypatch.setattr(listening, "HANDSHAKE_S", 0.1)
    make_certificate(tmp_path)
    files: dict[str, Any] = {"tls_cert": str(tmp_path / "cert.pem"), "tls_key": str(tmp_path / "key.pem")}
    with running_api(port=0, **files) as api:
        with guest(api) as silent, guest(api, b"\x16\x03\x01") as slow, guest(api, b"GET / HTTP/1.1\r\n\r\n") as plain:
            for one in (silent, slow, plain):
                wait_until(lambda one=one: is_closed(one))  # type: ignore[misc]
        trusting = ssl.create_default_context(cafile=files["tls_cert"])
        with trusting.wrap_socket(guest(api), server_hostname="localhost") as secured:
            secured.sendall(b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert secured.recv(20).startswith(b"HTTP/1.1 401 ")
        assert api._servers is not None
        arrivals = api._servers._arrivals
        wait_until(lambda: len(arrivals) == 0)


@pytest.mark.parametrize("files", [20, 256, 512, 1_024, 4_360, 1 << 20])
def test_the_doors_leave_files_for_others(files: int) -> None:
    limits = budgets.ConnectionLimits.of(files)
    assert limits.arrivals >= 8
    assert limits.most - limits.by_tcp >= 6
    assert limits.by_tcp >= 18
    if files > 256:
        assert limits.most + limits.arrivals <= files - budgets.OTHER_FILES
