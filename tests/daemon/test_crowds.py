"""Crowds: whoever has a token, or is on the socket, is answered all the same.

The crowd is thousands of connections that say nothing, or hundreds of callers that all have a token.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import ssl
import sys
import time
from asyncio import open_connection
from asyncio import open_unix_connection as open_unix
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import TypeAlias

import pytest

from holdfast.api.budgets import ConnectionLimits
from tests.certificates import make_certificate
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House, Process

CROWD = 5_000
FILES = 512
# Besides connections: the daemon's own files, and what is open for a moment.
OWN_FILES = 150
CALLERS = 400
ANSWERED = "HTTP/1.1 200 OK"


def begin(house: House, settings: str) -> tuple[Process, int]:
    """A daemon that may have few files open, and its port."""
    house.settings(settings)
    limited = ("sh", "-c", f'ulimit -n {FILES} && exec "$@"', "sh")
    daemon = house.start(*limited, sys.executable, "-m", "holdfast.cli", "up")
    until(lambda: house.is_ready or not daemon.is_running, "the daemon is ready")
    _, status = house.ask("GET", "/v1/daemon")
    return daemon, int(status["tcp"].rpartition(":")[2])


def open_call(port: int, token: str, trusted: Path | None) -> http.client.HTTPConnection:
    """Send a request with a token, on a connection of its own."""
    context = None if trusted is None else ssl.create_default_context(cafile=str(trusted))
    connection = (
        http.client.HTTPConnection("localhost", port, timeout=PATIENCE_S)
        if context is None
        else http.client.HTTPSConnection("localhost", port, timeout=PATIENCE_S, context=context)
    )
    try:
        connection.connect()
        connection.request("GET", "/v1/stats", headers={"Authorization": f"Bearer {token}"})
    except OSError:
        connection.close()
        raise
    return connection


def is_answered(port: int, token: str, trusted: Path | None) -> bool:
    """Call once. False: the connection was reset."""
    try:
        with closing(open_call(port, token, trusted)) as connection:
            return connection.getresponse().status == 200
    except OSError:
        return False


def resets_until_answered(port: int, token: str, trusted: Path | None) -> int:
    """Call until the request could be sent; how often the connection was reset before that. A reset later is an error.

    Among thousands of silent connections one that is silent for some milliseconds is closed as they are. That happens
    to a caller which the machine does not let run meanwhile.
    """
    until_then = time.monotonic() + PATIENCE_S
    resets = 0
    while time.monotonic() < until_then:
        try:
            connection = open_call(port, token, trusted)
        except OSError:
            resets += 1
            continue
        with closing(connection):
            assert connection.getresponse().status == 200
            return resets
    raise AssertionError(f"nobody answered; {resets} connections were reset")


Open: TypeAlias = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


async def call_at_once(open: Open, token: str, how_many: int) -> Counter[str]:
    """Callers that all connect before the first of them sends its request; how often there was which answer."""
    request = f"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()

    async def call() -> str:
        try:
            reader, writer = await open()
            with closing(writer):
                writer.write(request)
                return (await reader.readline()).decode().strip()
        except OSError as error:
            return type(error).__name__

    return Counter(await asyncio.gather(*(call() for _ in range(how_many))))


def call_from_threads(port: int, token: str, how_many: int) -> Counter[bool]:
    """Callers with a thread each, so that each sends its request as soon as it can."""
    everybody = Barrier(how_many)

    def call() -> bool:
        everybody.wait(PATIENCE_S)
        return is_answered(port, token, None)

    with ThreadPoolExecutor(how_many) as threads:
        calls = [threads.submit(call) for _ in range(how_many)]
        return Counter(call.result() for call in calls)


@pytest.mark.parametrize("who", ["the home", "a user"])
def test_of_many_callers_at_once_none_is_reset(house: House, who: str) -> None:
    house.settings("[api]\nport = 0\n")
    house.up()
    _, status = house.ask("GET", "/v1/daemon")
    port, token = int(status["tcp"].rpartition(":")[2]), house.home.token.read_text()
    if who == "a user":
        _, added = house.ask("POST", "/v1/users", {"name": "ci", "role": "read"})
        token = added["token"]
    by_tcp, on_socket = partial(open_connection, "127.0.0.1", port), partial(open_unix, str(house.home.socket))
    for _ in range(3):
        assert asyncio.run(call_at_once(by_tcp, token, CALLERS)) == {ANSWERED: CALLERS}
        assert asyncio.run(call_at_once(on_socket, token, CALLERS)) == {ANSWERED: CALLERS}
        assert call_from_threads(port, token, CALLERS) == {True: CALLERS}


@pytest.mark.alone  # Thousands of connections take ports and files that others need too.
@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "tls"])
def test_silent_connections_keep_nobody_from_being_answered(house: House, tmp_path: Path, is_secure: bool) -> None:
    settings, trusted = "[api]\nport = 0\n", None
    if is_secure:
        trusted = make_certificate(tmp_path) / "cert.pem"
        settings += f'tls_cert = "{trusted}"\ntls_key = "{tmp_path / "key.pem"}"\n'
    daemon, port = begin(house, settings)
    crowd = house.python("-m", "tests.daemon.crowd", str(port), str(CROWD))
    until(lambda: "the crowd is there" in crowd.said(), "the crowd is there")

    limits = ConnectionLimits.of(FILES)
    for _ in range(5):
        began = time.monotonic()
        resets = resets_until_answered(port, house.home.token.read_text(), trusted)
        by_tcp, began = time.monotonic() - began, time.monotonic()
        assert house.ask("GET", "/v1/stats")[0] == 200
        on_socket = time.monotonic() - began
        print(f"answered by TCP after {by_tcp * 1000:.0f} ms, {resets} resets, on the socket {on_socket * 1000:.0f} ms")
        assert len(os.listdir(f"/proc/{daemon.pid}/fd")) <= OWN_FILES + limits.arrivals + limits.silent
    assert crowd.is_running
    assert "accept_failed" not in daemon.events()
