"""Reservations of processes of their own: they outlive their daemon, stand in line, and give way when they die."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from holdfast import InvalidInput, JobFailed, JobHandle, StateName
from holdfast.core.gates.gates import Open
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import APPS, House, Process, inhabited


class People:
    """Processes that reserve, each by the name of who runs it."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.processes: dict[str, Process] = {}

    def reserve(self, name: str, scope: str = "default", ttl: float = 3600) -> None:
        self.processes[name] = self.house.python(str(APPS / "reserver.py"), name, scope, str(ttl))

    def has(self, name: str, what: str = "granted") -> bool:
        return (self.house.side / f"{name}-{what}").exists()

    def await_grant(self, name: str) -> None:
        until(lambda: self.has(name) or not self.processes[name].is_running, f"{name} has it")
        assert self.has(name), self.processes[name].said()

    def end(self, name: str) -> None:
        (self.house.side / f"{name}-end").touch()
        self.processes[name].end_well()

    def line(self) -> list[tuple[str, str]]:
        return [(held.reserved_by, held.status) for held in self.house.client().reservations()]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home whose daemon outlives its tests."""
    with inhabited(tmp_path_factory.mktemp("side"), app="chained") as house:
        yield house


@pytest.fixture
def people(house: House) -> People:
    return People(house)


def restart(house: House, daemon: Process, how: str) -> None:
    if how == "orderly":
        house.down(daemon)
    else:
        daemon.kill()
    house.up(app="chained")


def closed(job: JobHandle[Any]) -> list[str]:
    return [gate.gate for gate in job.why().closed]


@pytest.mark.parametrize("how", ["orderly", "killed"])
def test_a_reservation_outlives_its_daemon(house: House, people: People, how: str) -> None:
    daemon = house.up(app="chained")
    people.reserve("ada", "*")
    people.await_grant("ada")
    job = house.enqueue("fetch", {"url": "u"})
    assert (job.state, "reservation" in closed(job)) == (StateName.QUEUED, True)
    restart(house, daemon, how)
    until(lambda: any("fetch" in worker.tasks for worker in house.client().workers()), "a worker offers it")
    until(lambda: closed(job) == ["reservation"], "nothing else holds it")
    people.end("ada")
    assert job.result(PATIENCE_S) == {"url": "u"}
    assert not people.has("ada", "lost")


@pytest.mark.parametrize("how", ["orderly", "killed"])
def test_those_in_line_keep_their_places_while_the_daemon_is_away(house: House, people: People, how: str) -> None:
    daemon = house.up(app="chained")
    people.reserve("ada")
    people.await_grant("ada")
    people.reserve("bob", "*")
    until(lambda: ("bob", "WAITING") in people.line(), "bob stands in line")
    people.reserve("carol")
    until(lambda: ("carol", "WAITING") in people.line(), "carol stands behind him")
    job = house.enqueue("fetch", {"url": "u"})
    [gate] = [gate for gate in job.why().closed if gate.gate == "reservation"]
    assert (gate.reason, gate.now) == ("queue 'default' is reserved by ada", "reserved; 2 more in line")
    restart(house, daemon, how)
    people.end("ada")
    people.await_grant("bob")
    assert people.line() == [("bob", "ACTIVE"), ("carol", "WAITING")]
    people.processes["bob"].kill()
    people.await_grant("carol")
    people.end("carol")
    assert job.result(PATIENCE_S) == {"url": "u"}


def test_what_runs_out_is_told_to_whoever_still_uses_it_and_to_whoever_asks_why(shared: House) -> None:
    people = People(shared)
    people.reserve("ada", "default", ttl=0.5)
    people.await_grant("ada")
    until(lambda: people.has("ada", "lost"), "she knows")
    assert shared.enqueue("fetch", {"url": "u"}).result(PATIENCE_S) == {"url": "u"}
    waiting = shared.enqueue("fetch", {"url": "v"}, delay=3600)
    [gate] = [gate for gate in waiting.why().gates if gate.gate == "reservation"]
    assert gate == Open("reservation", "not reserved; the reservation of ada ran out while he still uses it")
    people.end("ada")
    assert "ran out" not in str(waiting.why().gates)
    assert "has run out while it is in use" in people.processes["ada"].said()


def test_a_run_cannot_reserve_what_it_runs_in(shared: House) -> None:
    for scope in ("default", "*"):
        with pytest.raises(JobFailed, match="which the reservation would wait for") as raised:
            shared.enqueue("reserve", {"scope": scope}).result(PATIENCE_S)
        assert raised.value.error_code == InvalidInput.__name__
    assert shared.enqueue("reserve", {"scope": "another"}).result(PATIENCE_S) is None
