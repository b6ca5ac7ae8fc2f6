"""How calls reach a daemon that answers, is away, or goes away in the midst of one: by thread and by event loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.core.errors import HoldfastError, NoDaemon, NotFound, OutcomeUnknown, QueueFull, StoreFull
from holdfast.wire import peer
from holdfast.wire.async_transport import AsyncTransport
from holdfast.wire.home import Address
from holdfast.wire.peer import Peer
from holdfast.wire.problem import NO_ROOM
from holdfast.wire.transport import Transport
from tests.wire.scripted import answers_then_hangs_up, hangs_up, says, scripted

NOT_READY = b'{"title":"","status":503,"detail":"the daemon is stopping","code":"ERR_NOT_READY"}'
NO_JOB = b'{"title":"","status":404,"detail":"there is no job 5","code":"ERR_NOT_FOUND"}'

Calls = Callable[..., list[bytes]]


def by_thread(address: Address, *calls: dict[str, Any]) -> list[bytes]:
    """Calls one after the other, each waiting for the one before."""
    transport = Transport(Peer(address))
    try:
        return [transport.call("POST", "/v1/x", b"first", **call) for call in calls]
    finally:
        transport.close()


def by_event_loop(address: Address, *calls: dict[str, Any]) -> list[bytes]:
    """The same on an event loop."""

    async def run() -> list[bytes]:
        transport = AsyncTransport(Peer(address))
        try:
            return [await transport.call("POST", "/v1/x", b"first", **call) for call in calls]
        finally:
            transport.close()

    return asyncio.run(run())


@pytest.fixture(params=[by_thread, by_event_loop])
def call(request: pytest.FixtureRequest) -> Calls:
    way: Calls = request.param
    return way


def bodies(requests: list[bytes]) -> list[bytes]:
    return [request.partition(b"\r\n\r\n")[2] for request in requests]


def test_a_connection_is_used_again(call: Calls) -> None:
    with scripted(says(b"1")) as server:
        assert call(server.address, {}, {}, {}) == [b"1"] * 3
        assert server.connections == 1


def test_a_connection_that_the_daemon_ends_is_replaced(call: Calls) -> None:
    with scripted(says(b"1", stay=False)) as server:
        assert call(server.address, {}, {}) == [b"1"] * 2
        assert server.connections == 2


def test_a_connection_that_broke_while_it_was_idle_costs_nothing(call: Calls) -> None:
    with scripted(answers_then_hangs_up, says(b"2")) as server:
        assert call(server.address, {}, {}) == [b"1", b"2"]


def test_a_call_that_broke_off_is_repeated_and_says_so(call: Calls) -> None:
    with scripted(says(b"0"), hangs_up, says(b"1")) as server:
        assert call(server.address, {}, {"again": b"second"}) == [b"0", b"1"]
        assert bodies(server.requests) == [b"first", b"first", b"second"]


def test_a_call_that_must_not_be_repeated_has_an_unknown_outcome(call: Calls) -> None:
    with scripted(says(b"0"), hangs_up, says(b"1")) as server:
        with pytest.raises(OutcomeUnknown, match="went away during POST /v1/x"):
            call(server.address, {}, {"is_repeatable": False})
        assert len(server.requests) == 2


def test_a_daemon_that_is_not_ready_is_waited_for(call: Calls) -> None:
    with scripted(says(NOT_READY, 503), says(NOT_READY, 503), says(b"1")) as server:
        assert call(server.address, {}) == [b"1"]


def test_a_daemon_that_never_gets_ready_is_an_error(call: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "PATIENCE_S", 0.05)
    with scripted(says(NOT_READY, 503)) as server, pytest.raises(NoDaemon, match="is stopping"):
        call(server.address, {})


@pytest.mark.parametrize("code", sorted(NO_ROOM))
def test_a_daemon_without_room_is_asked_again(call: Calls, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = f'{{"title":"","status":503,"detail":"no room","code":"{code}"}}'.encode()
    with scripted(says(refusal, 503, stay=False, headers="Retry-After: 0\r\n"), says(b"1")) as server:
        assert call(server.address, {"is_repeatable": False}) == [b"1"]
    monkeypatch.setattr(peer, "PATIENCE_S", 0.05)
    with scripted(says(refusal, 503)) as server, pytest.raises(HoldfastError, match="no room"):
        call(server.address, {})


def test_a_connection_that_had_to_make_room_is_made_again(call: Calls) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:

        def serve() -> None:
            crowded, _ = door.accept()
            crowded.recv(1)
            crowded.close()  # With bytes that nobody has read: that is a reset.
            line, _ = door.accept()
            with line:
                line.recv(65_536)
                line.sendall(b"HTTP/1.1 200 X\r\nContent-Length: 1\r\nConnection: close\r\n\r\n1")

        serving = threading.Thread(target=serve)
        serving.start()
        assert call(Address(host="127.0.0.1", port=door.getsockname()[1], token="t"), {}) == [b"1"]
        serving.join()


def test_what_the_daemon_refuses_is_raised_as_what_it_is(call: Calls) -> None:
    with scripted(says(NO_JOB, 404)) as server, pytest.raises(NotFound, match="there is no job 5"):
        call(server.address, {})


def test_an_answer_that_is_not_the_daemons_is_shown(call: Calls) -> None:
    with scripted(says(b"<html>Bad gateway", 502)) as server, pytest.raises(HoldfastError, match="HTTP 502: <html>Bad"):
        call(server.address, {})


def test_an_answer_that_is_not_http_is_an_error(call: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "PATIENCE_S", 0.05)

    def mumbles(connection: Any, request: bytes) -> bool:
        connection.sendall(b"220 mail.example.com ESMTP\r\n")
        return True

    with scripted(mumbles) as server, pytest.raises(NoDaemon):
        call(server.address, {})


def test_without_a_daemon_the_error_says_how_to_start_one(call: Calls) -> None:
    with pytest.raises(NoDaemon, match="start one with: holdfast up"):
        call(Address(socket="/nowhere/holdfast.sock"), {})


def test_a_long_answer_comes_in_pieces() -> None:
    def drips(connection: Any, request: bytes) -> bool:
        connection.sendall(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        connection.sendall(b"6\r\n\ntwo\nt\r\n4\r\nhree\r\n0\r\n\r\n")
        return False

    async def read(address: Address) -> list[bytes]:
        return [line async for line in AsyncTransport(Peer(address)).lines("/v1/changes")]

    with scripted(drips) as server:
        assert b"".join(Transport(Peer(server.address)).chunks("/v1/log")) == b"one\ntwo\nthree"
        assert list(Transport(Peer(server.address)).lines("/v1/changes")) == [b"one", b"two"]
        assert asyncio.run(read(server.address)) == [b"one", b"two"]


def test_a_stream_that_breaks_off_is_an_error() -> None:
    def breaks(connection: Any, request: bytes) -> bool:
        connection.sendall(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        return False

    with scripted(breaks) as server, pytest.raises(NoDaemon):
        list(Transport(Peer(server.address)).chunks("/v1/log"))


def test_a_refusal_brings_along_when_to_ask_again(call: Calls) -> None:
    full = b'{"title":"","status":429,"detail":"queue x is full","code":"ERR_QUEUE_FULL"}'
    refusing = scripted(says(full, 429, headers="Retry-After: 7\r\n"))
    with refusing as server, pytest.raises(QueueFull, match="queue x is full") as refused:
        call(server.address, {})
    assert refused.value.retry_after == 7
    no_room = b'{"title":"","status":507,"detail":"the disk is full","code":"ERR_STORE_FULL"}'
    refusing = scripted(says(no_room, 507, headers="retry-after: 10\r\n"))
    with refusing as server, pytest.raises(StoreFull) as stored_nothing:
        call(server.address, {})
    assert stored_nothing.value.retry_after == 10
