"""Who comes in: on the socket the daemon's own user, on TCP whoever has the token, and no web page."""

from __future__ import annotations

import logging
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.caller import Caller, on_socket, on_tcp
from tests.api.running import PATIENCE_S, RunningApi, running_api
from tests.certificates import make_certificate


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    """One API for all: nobody here changes anything."""
    with running_api(port=0) as api:
        yield api


def test_the_socket_is_for_its_owner_alone(api: RunningApi) -> None:
    assert api.home.socket.stat().st_mode & 0o777 == 0o600
    assert api.home.token.stat().st_mode & 0o777 == 0o600


def test_on_the_socket_nobody_asks_for_a_token(caller: Caller) -> None:
    assert caller.get("/v1/stats").status == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_on_the_socket_is_turned_away(api: RunningApi) -> None:
    # The mode would keep him out; what is tested is the check behind it.
    api.home.folder.chmod(0o755)
    api.home.socket.chmod(0o777)
    program = (
        "import os, socket, sys; os.setuid(65534); door = socket.socket(socket.AF_UNIX); door.connect(sys.argv[1])\n"
        "try:\n door.sendall(b'GET /livez HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); print(door.recv(100))\n"
        "except OSError: print(b'')"
    )
    command = [sys.executable, "-c", program, str(api.home.socket)]
    try:
        assert subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=True).stdout == b"b''\n"
    finally:
        api.home.folder.chmod(0o700)
        api.home.socket.chmod(0o600)
    assert on_socket(api).get("/livez").status == 200


def test_the_token_opens_the_door(api: RunningApi) -> None:
    assert on_tcp(api).get("/v1/stats").status == 200
    assert on_tcp(api, Authorization=f"bearer  {api.token} ").get("/v1/stats").status == 200


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", "Basic {token}", "Bearer {token}x", "{token}", "Bearer {short}"]
)
@pytest.mark.parametrize("path", ["/v1/stats", "/metrics", "/openapi.json", "/nowhere"])
def test_without_the_token_nothing_is_told(api: RunningApi, given: str, path: str) -> None:
    api.wrong._tries.clear()
    reply = on_tcp(api, Authorization=given.format(token=api.token, short=api.token[:-1])).get(path)
    assert (reply.status, reply.code, reply.headers["www-authenticate"]) == (401, "ERR_TOKEN", "Bearer")
    assert api.token not in reply.body.decode()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost@evil"])
def test_a_foreign_host_is_refused_even_with_the_token(api: RunningApi, host: str) -> None:
    reply = on_tcp(api, Host=host).get("/v1/stats")
    assert (reply.status, reply.code) == (421, "ERR_HOST")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:5", "[::1]:9", "[::1]"])
def test_the_names_of_this_machine_are_fine(api: RunningApi, host: str) -> None:
    assert on_tcp(api, Host=host).get("/v1/stats").status == 200


def test_two_hosts_are_one_too_many(api: RunningApi) -> None:
    assert api.port is not None
    with socket.create_connection(("127.0.0.1", api.port), PATIENCE_S) as raw:
        hosts = "Host: localhost\r\nHost: evil"
        raw.sendall(f"GET /v1/stats HTTP/1.1\r\n{hosts}\r\nAuthorization: Bearer {api.token}\r\n\r\n".encode())
        assert raw.recv(1_000).startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://localhost.evil", "file://"])
def test_a_page_of_another_origin_is_refused_even_with_the_token(api: RunningApi, origin: str) -> None:
    reply = on_tcp(api, Origin=origin).get("/v1/stats")
    assert (reply.status, reply.code) == (403, "ERR_ORIGIN")
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_a_page_of_this_machine_needs_the_token_too(api: RunningApi) -> None:
    assert on_tcp(api, Origin="http://localhost:3000").get("/v1/stats").status == 200
    assert on_tcp(api, Origin="http://localhost:3000", Authorization="").get("/v1/stats").status == 401


def test_no_browser_is_ever_told_that_another_origin_may_read(api: RunningApi) -> None:
    reply = on_tcp(api, Origin="http://localhost:3000").send("OPTIONS", "/v1/jobs", None, {})
    assert (reply.status, reply.code, reply.headers["allow"]) == (405, "ERR_NO_METHOD", "GET, POST")
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_by_default_there_is_no_tcp() -> None:
    with running_api() as api:
        assert api.port is None


def test_a_door_to_other_machines_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.INFO, "holdfast.daemon"),
        running_api(port=0, host="0.0.0.0", behind_proxy=True) as api,
    ):
        assert on_tcp(api).get("/livez").status == 200
    [said] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert said == (
        f"other machines can reach this daemon: listening on 0.0.0.0:{api.port} without TLS, which the proxy in front "
        "has to bring"
    )


def test_with_a_certificate_the_door_speaks_tls(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    with running_api(port=0, tls_cert=str(certificate), tls_key=str(key)) as api:
        assert api.port is not None
        trusting = ssl.create_default_context(cafile=str(certificate))
        with (
            socket.create_connection(("127.0.0.1", api.port), PATIENCE_S) as raw,
            trusting.wrap_socket(raw, server_hostname="localhost") as secured,
        ):
            secured.sendall(
                f"GET /livez HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.token}\r\n\r\n".encode()
            )
            assert secured.recv(1_000).startswith(b"HTTP/1.1 200 ")
        with socket.create_connection(("127.0.0.1", api.port), PATIENCE_S) as raw:
            raw.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not raw.recv(1_000).startswith(b"HTTP")


def test_small_answers_are_sent_at_once_on_tcp(api: RunningApi) -> None:
    caller = on_tcp(api)
    assert caller.get("/livez").status == 200
    assert api._servers is not None
    assert api._servers._tcp is not None

    async def no_delay() -> list[int]:
        assert api._servers is not None
        assert api._servers._tcp is not None
        connections = api._servers._tcp._server.server_state.connections
        sockets = [connection.transport.get_extra_info("socket") for connection in connections]
        return [one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in sockets]

    assert set(api.do(no_delay())) == {1}
