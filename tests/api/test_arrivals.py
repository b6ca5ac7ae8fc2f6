"""Connections by TCP that have shown no token are few, make room for each other, and keep nobody out."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest

from holdfast.api import arrivals as module
from holdfast.api import budgets
from holdfast.api.admission import TcpHttp
from holdfast.api.arrivals import MOST_NEW_IN_A_SECOND, MOST_SPARED, SPEECH_S, Arrival, Arrivals
from holdfast.core.access import Role
from holdfast.daemon import listening
from holdfast.daemon.listening import TcpListener
from holdfast.runtime.clock import SystemClock
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.access.users import add_user
from tests.api.caller import on_socket, on_tcp
from tests.api.running import PATIENCE_S, RunningApi, running_api
from tests.certificates import make_certificate
from tests.chaos.processes import until

LATER = 100.0
wait_until = partial(until, what="it is so")


class Guests:
    """Arrivals by name, and which of them were closed."""

    def __init__(self, most: int = 9, most_silent: int = 9) -> None:
        self.all = Arrivals(most, most_silent)
        self.closed: list[str] = []
        self._known: dict[str, Arrival] = {}
        self._peers: dict[str, socket.socket] = {}

    def __getitem__(self, name: str) -> Arrival:
        return self._known[name]

    def come(self, name: str, now: float) -> None:
        """A real connection. Those who ask see what has been sent on it."""
        connection, self._peers[name] = socket.socketpair()
        self._known[name] = Arrival(connection, now, lambda: self.closed.append(name))
        self.all.add(self._known[name])

    def send(self, name: str) -> None:
        self._peers[name].sendall(b"G")

    def is_read(self, name: str) -> None:
        assert self._known[name].connection.recv(100)

    def speak(self, name: str, now: float) -> list[str]:
        """Its first byte has come. Those of which the daemon begins to read."""
        self.all.speaks(self._known[name])
        return self.next_to_read(now)

    def next_to_read(self, now: float) -> list[str]:
        begun = list(self.all.next_to_read(now))
        return [name for name, arrival in self._known.items() if arrival in begun]

    def hang_up(self) -> None:
        for name, peer in self._peers.items():
            peer.close()
            self._known[name].connection.close()


@pytest.fixture
def invite() -> Iterator[Callable[..., Guests]]:
    """Makes guests. When the test is over, their connections are closed."""
    made: list[Guests] = []

    def invite(**limits: int) -> Guests:
        made.append(Guests(**limits))
        return made[-1]

    yield invite
    for guests in made:
        guests.hang_up()


Invite: TypeAlias = Callable[..., Guests]


def test_the_oldest_silent_one_makes_room(invite: Invite) -> None:
    guests = invite(most_silent=2)
    for number, name in enumerate("abc"):
        guests.come(name, number)
        guests.speak("a", number)
    assert not guests.all.has_room
    assert guests.all.make_room(LATER)
    assert (guests.closed, len(guests.all), guests.all.has_room) == (["b"], 2, True)


def test_one_whose_bytes_are_there_is_not_silent_and_another_one_goes(invite: Invite) -> None:
    guests = invite(most_silent=3)
    for name in "abc":
        guests.come(name, 1.0)
    guests.send("a")
    assert guests.all.make_room(LATER)
    assert guests.closed == ["b"]
    assert guests.next_to_read(LATER) == ["a"]


def test_if_the_bytes_of_all_are_there_the_next_one_waits(invite: Invite) -> None:
    guests = invite(most=1, most_silent=2)
    for name in "abc":
        guests.come(name, 1.0)
        guests.send(name)
    assert guests.speak("a", 1.0) == ["a"]
    assert not guests.all.make_room(LATER)
    assert (guests.closed, guests.all.has_room) == ([], False)


def test_if_all_of_them_speak_the_oldest_makes_room(invite: Invite) -> None:
    guests = invite(most=2)
    for number, name in enumerate("ab"):
        guests.come(name, number)
        assert guests.speak(name, number) == [name]
    guests.come("c", LATER)
    assert guests.closed == []
    assert guests.speak("c", LATER) == ["c"]
    assert guests.closed == ["a"]


def test_a_new_one_has_a_moment_to_speak(invite: Invite) -> None:
    guests = invite(most=1, most_silent=1)
    guests.come("a", 10.0)
    assert not guests.all.make_room(10.0)
    assert guests.all.next_end(is_accepting=False) == pytest.approx(10.0 + 1 / MOST_NEW_IN_A_SECOND)
    guests.speak("a", 11.0)
    guests.come("b", 11.0)
    assert guests.speak("b", 11.0) == []
    assert guests.all.next_end(is_accepting=True) == pytest.approx(11.0 + SPEECH_S)
    guests.all.leave(guests["a"])
    assert guests.next_to_read(11.0) == ["b"]
    assert guests.all.next_end(is_accepting=True) is None


def test_one_that_the_daemon_has_not_read_gets_its_time_again_but_not_for_ever(invite: Invite) -> None:
    guests = invite(most=1)
    for name in "ab":
        guests.come(name, 0.0)
        guests.send(name)
        guests.speak(name, 0.0)
    moments = [SPEECH_S * number for number in range(1, MOST_SPARED + 1)]
    assert [guests.next_to_read(moment) for moment in moments] == [[]] * MOST_SPARED
    assert guests.next_to_read(LATER) == ["b"]
    assert guests.closed == ["a"]


def test_one_that_the_daemon_has_read_goes_after_its_time(invite: Invite) -> None:
    guests = invite(most=1)
    for name in "ab":
        guests.come(name, 0.0)
        guests.send(name)
        guests.speak(name, 0.0)
    guests.is_read("a")
    assert guests.next_to_read(SPEECH_S) == ["b"]
    assert guests.closed == ["a"]


def test_one_whose_first_request_is_answered_is_not_closed_for_another(invite: Invite) -> None:
    guests = invite(most=1)
    changes: list[bool] = []
    guests.all.when_changed = lambda: changes.append(True)
    for name in "ab":
        guests.come(name, 1.0)
        guests.speak(name, 1.0)
    guests.all.asks(guests["a"])
    assert guests.next_to_read(LATER) == []
    assert guests.all.next_end(is_accepting=True) is None
    guests.all.was_answered(guests["a"], LATER)
    assert changes == [True]
    guests.all.asks(guests["a"])
    assert guests.all.next_end(is_accepting=True) == pytest.approx(LATER + SPEECH_S)
    assert guests.next_to_read(LATER + SPEECH_S) == ["b"]
    assert guests.closed == ["a"]


def test_one_that_has_left_is_not_closed(invite: Invite) -> None:
    guests = invite(most=2)
    for name in "abc":
        guests.come(name, 1.0)
        guests.all.leave(guests[name])
    guests.speak("a", 2.0)
    guests.all.close()
    assert (guests.closed, len(guests.all)) == ([], 0)


def test_those_that_stay_silent_are_closed_and_the_others_are_not(invite: Invite) -> None:
    guests = invite()
    for number, name in enumerate("abcde"):
        guests.come(name, number)
    guests.speak("a", 1.0)
    guests.send("c")
    guests.all.close_silent(3.0)
    assert guests.closed == ["b", "d"]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningApi]:
    """An API that takes four connections in all, three of them by TCP, and two without a token, and two silent ones."""
    monkeypatch.setattr(budgets, "MOST_ARRIVALS", 2)
    monkeypatch.setattr(budgets, "MOST_SILENT", 2)
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


def has_ended(connection: socket.socket) -> bool:
    """Whether the other side has closed it by now. What it said before is thrown away."""
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
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
        # Which two are left, depends on whose bytes came last.
        wait_until(lambda: sum(map(has_ended, crowd)) >= 18)


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


def tcp_of(api: RunningApi) -> tuple[Arrivals, TcpListener]:
    assert api._servers is not None
    assert api._servers._tcp is not None
    listener = api._servers._tcp._listener
    assert isinstance(listener, TcpListener)
    return api._servers._arrivals, listener


def question(token: str) -> bytes:
    return f"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


def is_answered(connection: socket.socket) -> bool:
    return connection.recv(20).startswith(b"HTTP/1.1 200 ")


def test_the_next_ones_come_in_as_soon_as_another_has_left(api: RunningApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPEECH_S", 1_000.0)
    arrivals, listener = tcp_of(api)
    with ExitStack() as stack:
        first, _ = [stack.enter_context(guest(api, b"G")) for _ in range(2)]
        wait_until(lambda: len(arrivals._speaking) == 2)
        waiting = [stack.enter_context(guest(api, question(api.token))) for _ in range(3)]
        wait_until(lambda: listener._needs_room and len(arrivals._waiting) == 2)
        # The loop has nothing to do for those that wait: it watches neither the socket nor, for 1,000 s, the clock.
        assert listener._listening.fileno() not in api._loop._selector.get_map()  # type: ignore[attr-defined]
        assert listener._next_end is not None
        assert listener._next_end.when() > api._loop.time() + 100
        first.close()
        assert all(is_answered(one) for one in waiting)


def test_one_whose_token_is_looked_up_is_not_closed_for_another(
    monkeypatch: pytest.MonkeyPatch, postgres_url: str, postgres_schema: str
) -> None:
    monkeypatch.setattr(budgets, "MOST_ARRIVALS", 2)
    monkeypatch.setattr(module, "SPEECH_S", 0.0)
    engine = PostgresEngine(postgres_url, schema=postgres_schema, now=SystemClock().now)
    with running_api(engine, port=0) as api, ExitStack() as stack:
        arrivals, listener = tcp_of(api)
        tokens = [engine.run(add_user, name, Role.READ, SystemClock().now(), None).token for name in ("a", "b")]
        with psycopg.connect(postgres_url) as other:
            other.execute(f'LOCK TABLE "{postgres_schema}".users IN ACCESS EXCLUSIVE MODE')
            asking = [stack.enter_context(guest(api, question(token))) for token in tokens]
            wait_until(lambda: len(arrivals._asking) == 2)
            waiting = [stack.enter_context(guest(api, question(api.token))) for _ in range(5)]
            wait_until(lambda: len(arrivals._waiting) == 5)
            # Only the end of a look-up makes room.
            assert listener._next_end is None
            assert len(arrivals._asking) == 2
        assert all(is_answered(one) for one in [*asking, *waiting])


def test_strangers_whose_first_request_is_answered_make_room(api: RunningApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPEECH_S", 1_000.0)
    arrivals, _ = tcp_of(api)
    alive = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack:
        strangers = [stack.enter_context(guest(api, alive)) for _ in range(2)]
        assert all(is_answered(one) for one in strangers)
        wait_until(lambda: len(arrivals._speaking) == 2)
        waiting = stack.enter_context(guest(api, question(api.token)))
        wait_until(lambda: arrivals.has_waiting)
        monkeypatch.setattr(module, "SPEECH_S", 0.0)
        later = stack.enter_context(guest(api, question(api.token)))
        assert is_answered(waiting)
        assert is_answered(later)
        wait_until(lambda: is_closed(strangers[0]))


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


@pytest.mark.parametrize("files", [20, 256, 512, 1_024, 4_360, 5_384, 1 << 20])
def test_the_doors_leave_files_for_others(files: int) -> None:
    limits = budgets.ConnectionLimits.of(files)
    assert limits.arrivals >= 8
    assert limits.silent >= 5
    assert limits.most - limits.by_tcp >= 6
    assert limits.by_tcp >= 18
    if files > 256:
        assert limits.most + limits.arrivals + limits.silent <= files - budgets.OTHER_FILES
