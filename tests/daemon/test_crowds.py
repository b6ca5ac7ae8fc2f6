"""Thousands of connections that say nothing: whoever has a token, or is on the socket, is answered all the same."""

from __future__ import annotations

import http.client
import os
import ssl
import sys
import time
from pathlib import Path

import pytest

from holdfast.api.budgets import MOST_ARRIVALS
from tests.certificates import make_certificate
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House, Process

CROWD = 5_000
FILES = 512
# Besides connections: the daemon's own files, and what is open for a moment.
OWN_FILES = 150


def begin(house: House, settings: str) -> tuple[Process, int]:
    """A daemon that may have few files open, and its port."""
    house.settings(settings)
    limited = ("sh", "-c", f'ulimit -n {FILES} && exec "$@"', "sh")
    daemon = house.start(*limited, sys.executable, "-m", "holdfast.cli", "up")
    until(lambda: house.is_ready or not daemon.is_running, "the daemon is ready")
    _, status = house.ask("GET", "/v1/daemon")
    return daemon, int(status["tcp"].rpartition(":")[2])


def answered_by_tcp(port: int, token: str, trusted: Path | None) -> int:
    """Call with a token, on connections of its own, until it is answered; how many calls that took."""
    context = None if trusted is None else ssl.create_default_context(cafile=str(trusted))
    until_then = time.monotonic() + PATIENCE_S
    tries = 0
    while time.monotonic() < until_then:
        tries += 1
        connection = (
            http.client.HTTPConnection("localhost", port, timeout=PATIENCE_S)
            if context is None
            else http.client.HTTPSConnection("localhost", port, timeout=PATIENCE_S, context=context)
        )
        try:
            connection.request("GET", "/v1/stats", headers={"Authorization": f"Bearer {token}"})
            if connection.getresponse().status == 200:
                return tries
        except OSError:
            continue
        finally:
            connection.close()
    raise AssertionError("nobody answered")


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

    for _ in range(5):
        began = time.monotonic()
        tries = answered_by_tcp(port, house.home.token.read_text(), trusted)
        by_tcp, began = time.monotonic() - began, time.monotonic()
        assert house.ask("GET", "/v1/stats")[0] == 200
        on_socket = time.monotonic() - began
        print(f"answered by TCP after {by_tcp * 1000:.0f} ms, {tries} tries, on the socket {on_socket * 1000:.0f} ms")
        assert len(os.listdir(f"/proc/{daemon.pid}/fd")) <= OWN_FILES + MOST_ARRIVALS
    assert crowd.is_running
    assert "accept_failed" not in daemon.events()
