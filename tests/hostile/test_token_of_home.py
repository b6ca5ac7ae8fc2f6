"""The token of a home folder goes to the daemon that runs there, and to nobody else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from holdfast import Holdfast, InvalidInput, InvalidToken, NoDaemon
from holdfast.store.locks import LifeLock
from holdfast.store.machine import boot_id
from holdfast.wire.calls import PROTOCOL, Hello
from holdfast.wire.home import HOME, TOKEN, Home, find_daemon
from holdfast.wire.left_hello import host_at_home
from holdfast.wire.peer import Peer
from tests.daemon.house import House

PATIENCE_S = 30.0


def hello(tcp: str | None) -> Hello:
    return Hello("1.0", PROTOCOL, "here", 7, "/locks", "/files", boot_id=boot_id(), dialect="sqlite", tcp=tcp)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """The home of a daemon that lives, and listens on 127.0.0.1, port 8787."""
    monkeypatch.setenv(HOME, str(tmp_path))
    monkeypatch.delenv(TOKEN, raising=False)
    home = Home(tmp_path)
    home.create()
    lock = LifeLock(home.lock)
    home.lock.write_text("7")
    home.hello.write_bytes(msgspec.json.encode(hello("http://127.0.0.1:8787")))
    yield home
    lock.release()


@contextmanager
def stranger() -> Iterator[tuple[int, list[bytes]]]:
    """A port where a stranger listens, and what they received."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE_S)

        def listen() -> None:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                received.append(connection.recv(65_536))

        thread = threading.Thread(target=listen)
        thread.start()
        yield listening.getsockname()[1], received
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_its_own_daemon_gets_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME, str(house.home.folder))
    monkeypatch.delenv(TOKEN, raising=False)
    house.settings("[api]\nport = 0\n")
    house.up()
    _, status = house.ask("GET", "/v1/daemon")
    assert Holdfast(status["tcp"]).counts() == {}
    assert Holdfast(status["tcp"].replace("127.0.0.1", "localhost")).counts() == {}


def test_another_port_of_this_machine_does_not_get_it(home: Home) -> None:
    with stranger() as (port, received), pytest.raises(InvalidToken, match=r"no token for http://127\.0\.0\.1"):
        Holdfast(f"http://127.0.0.1:{port}").counts()
    assert received == []


def test_nobody_gets_it_once_the_daemon_has_ended(home: Home) -> None:
    home.hello.unlink()
    with pytest.raises(NoDaemon, match=r"does not run, and another needs Holdfast\(…, token=…\) or HOLDFAST_TOKEN"):
        Holdfast("http://127.0.0.1:8787").counts()


def test_who_has_met_the_daemon_waits_for_it_to_come_back(home: Home) -> None:
    peer = Peer(find_daemon("http://127.0.0.1:8787"))
    assert peer.destination().host == "127.0.0.1"
    assert "Authorization" in peer.headers()
    peer.has_met_it = True
    home.hello.unlink()
    with pytest.raises(ConnectionRefusedError):
        peer.destination()


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1:8787", "http://127.0.0.1:8788", "http://[::1]:8787", "http://127.0.0.2:8787"]
)
def test_an_address_that_differs_does_not_get_it(home: Home, url: str) -> None:
    with pytest.raises(InvalidToken):
        Peer(find_daemon(url)).destination()


@pytest.mark.parametrize(
    ("left", "url", "host"),
    [
        ("http://127.0.0.1:1", "http://127.0.0.1:1", "127.0.0.1"),
        ("http://127.0.0.1:1", "http://localhost:1", "127.0.0.1"),
        ("http://[::1]:1", "http://localhost:1", "::1"),
        ("http://[::1]:1", "http://[::1]:1", "::1"),
        ("http://::1:1", "http://localhost:1", None),  # as no daemon should say it
        ("http://0.0.0.0:1", "http://localhost:1", "127.0.0.1"),
        ("https://0.0.0.0:1", "https://localhost:1", "localhost"),
        ("https://box.example:1", "https://box.example:1", "box.example"),
        ("https://0.0.0.0:1", "https://box.example:1", None),
        (None, "http://localhost:1", None),
    ],
)
def test_the_host_is_the_one_that_the_daemon_listens_on(left: str | None, url: str, host: str | None) -> None:
    assert host_at_home(find_daemon(url), hello(left)) == host


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_a_daemon_that_listens_on_an_address_of_version_6_says_it_so_that_it_can_be_read(
    house: House, host: str
) -> None:
    if not socket.has_ipv6 or not has_loopback_of_version_6():
        pytest.skip("this machine has no loopback of version 6")
    house.settings(f'[api]\nhost = "{host}"\nport = 0\n')
    daemon = house.up()
    url = str(house.ask("GET", "/v1/daemon")[1]["tcp"])
    assert url.startswith("http://[::1]:")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(HOME, str(house.home.folder))
        client = Holdfast(url)
        assert client.jobs().jobs is not None
        client.close()
    house.down(daemon)


def has_loopback_of_version_6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as free:
            free.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_a_token_can_be_given(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "of the environment")
    assert find_daemon("https://daemon.example", token="mine").token == "mine"
    assert find_daemon("https://daemon.example").token == "of the environment"


@pytest.mark.parametrize("token", ["", "a\r\nb", "é", 7])
def test_what_is_no_token_is_refused_and_not_shown(token: object) -> None:
    with pytest.raises(InvalidInput, match="token= is no token") as error:
        Holdfast("http://127.0.0.1:1", token=token)  # type: ignore[arg-type]
    assert str(token) not in str(error.value) or token in ("", 7)


@pytest.mark.parametrize("where", [None, "work.db"])
def test_where_no_token_is_needed_none_is_taken(where: str | None) -> None:
    with pytest.raises(InvalidInput, match="token= is for a daemon at"):
        Holdfast(where, token="mine")
