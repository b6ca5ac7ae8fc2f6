"""Kill -9 of a daemon and of its workers under load loses nothing: they come back, and at the end all is right."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.core.messages.webhooks import NewWebhook
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.runtime.clock import SystemClock
from holdfast.store.scripts.queues.queues import set_queue
from holdfast.store.scripts.webhooks.webhooks import put_webhook
from tests.chaos import checker
from tests.chaos.database import Database, select
from tests.chaos.journal import Journal, entries
from tests.chaos.processes import kill, until
from tests.daemon.house import House, Process, short_folder
from tests.workers.receiver import Receiver

APP = Path(__file__).parent / "programs" / "siege_app.py"
CLIENTS = 3
PLACES = ("system", "app-1", "app-2")
MOMENT_S = 0.6
SECRET = "a-secret-of-the-siege"
DAEMON = "[daemon]\n"
LIVE = "SELECT count(*) AS jobs FROM jobs WHERE state IN ('SCHEDULED', 'QUEUED', 'RUNNING')"
TWICE = "SELECT user_tag FROM jobs WHERE user_tag <> '' AND retry_of IS NULL GROUP BY user_tag HAVING count(*) > 1"


class Siege:
    """A daemon with workers and clients around it, and what happens to them, all by one seed."""

    def __init__(self, house: House, database: Database, receiver: Receiver, seed: int) -> None:
        self.house = house
        self.receiver = receiver
        self.database = database
        self.random = random.Random(seed)
        self.daemon: Process | None = None
        self.helper: Process | None = None
        self.clients: list[Process] = []
        self.kills = 0

    def begin(self) -> None:
        """Everybody comes, and somebody outside is told of events."""
        self.restore()
        hook = NewWebhook(id="hook", url=self.receiver.url, patterns=("siege:*",), secret=SECRET)
        engine = self.database.engine()
        engine.submit(put_webhook, hook, SystemClock().now()).result()
        for queue in ("default", "edits"):
            engine.submit(set_queue, queue, QueueChanges(breaker=0)).result()
        engine.close()
        for _ in range(CLIENTS):
            seed = str(self.random.randrange(2**32))
            self.clients.append(self.house.python("-m", "tests.chaos.programs.siege_client", seed))
        until(lambda: entries(self.house.side, "start"), "there is work")

    def cycle(self) -> None:
        """Wait for a moment, take somebody away, and bring back who is missing."""
        time.sleep(self.random.uniform(0, MOMENT_S))
        victims = self.random.choice(
            (["daemon"], ["daemon"], ["worker"], ["daemon", "worker"], ["everybody"], ["stop"])
        )
        assert self.daemon is not None
        assert self.daemon.is_running, self.daemon.said()
        for victim in victims:
            self.strike(victim)
        self.restore()

    def strike(self, victim: str) -> None:
        """Take somebody away."""
        assert self.daemon is not None
        match victim:
            case "daemon":
                self.kill_daemon()
            case "worker":
                self.kill_worker(self.random.choice(PLACES))
            case "everybody":
                self.kill_daemon()
                for place in PLACES:
                    self.kill_worker(place)
                assert self.helper is not None
                self.helper.kill()
            case "stop":
                self.house.down(self.daemon)

    def kill_daemon(self) -> None:
        assert self.daemon is not None
        self.daemon.kill()
        self.kills += 1

    def kill_worker(self, place: str) -> None:
        worker = self.house.occupant(place)
        if worker is not None:
            kill(worker)
            self.kills += 1

    def restore(self) -> None:
        """Bring back who is missing: the daemon, and a worker that a person started."""
        if self.daemon is None or not self.daemon.is_running:
            self.daemon = self.house.up("--app", str(APP), "--workers", "2")
        if self.helper is None or not self.helper.is_running:
            self.helper = self.house.python(str(APP))

    def end(self) -> None:
        """Nobody asks for more, all work comes to its end, and everybody goes home."""
        (self.house.side / "stop").touch()
        for client in self.clients:
            client.end_well()
        engine = self.database.engine()
        until(lambda: select(engine, LIVE)[0]["jobs"] == 0, "all work is done")
        engine.close()
        assert self.helper is not None
        journal = Journal(self.house.side)
        for request in self.receiver.requests:
            assert request.is_signed_with(SECRET)
            journal.note("received", request.headers["idempotency-key"], request.event["id"])
        self.helper.send(signal.SIGTERM)
        self.helper.end_well()
        assert self.daemon is not None
        self.house.down(self.daemon)


@pytest.fixture(params=["sqlite", "postgres"])
def siege(request: pytest.FixtureRequest, seed: int, tmp_path: Path) -> Iterator[Siege]:
    """A siege that nobody has begun."""
    side = tmp_path / "side"
    side.mkdir()
    with short_folder() as folder, closing(Receiver()) as receiver:
        house = House(folder / "home", side)
        database = Database(str(house.home.database), "holdfast")
        settings = f'{DAEMON}durability = "normal"\nshort = "1s"\ngrace = "1s"\n[webhooks]\nallow = ["127.0.0.1"]\n'
        if request.param == "postgres":
            database = Database(request.getfixturevalue("postgres_url"), request.getfixturevalue("postgres_schema"))
            settings = settings.replace(DAEMON, f'{DAEMON}store = "{database.target}"\nschema = "{database.schema}"\n')
        house.settings(settings)
        try:
            yield Siege(house, database, receiver, seed)
        finally:
            house.clear()


def besiege(siege: Siege, cycles: int) -> None:
    siege.begin()
    for _ in range(cycles):
        siege.cycle()
    siege.end()
    engine = siege.database.engine()
    found = checker.problems(engine, siege.house.side)
    twice = select(engine, TWICE)
    refused = len(entries(siege.house.side, "refused"))
    print(f"{siege.kills} kills, {refused} calls refused, {checker.summary(engine, siege.house.side)}")
    engine.close()
    assert found == []
    assert twice == []
    assert entries(siege.house.side, "acked")


@pytest.mark.parametrize("siege", ["sqlite"], indirect=True)
def test_a_daemon_that_is_killed_at_any_moment_loses_nothing(siege: Siege) -> None:
    besiege(siege, 5)


@pytest.mark.long
@pytest.mark.parametrize(("siege", "cycles"), [("sqlite", 200), ("postgres", 40)], indirect=["siege"])
def test_a_daemon_that_is_killed_hundreds_of_times_loses_nothing(siege: Siege, cycles: int) -> None:
    besiege(siege, cycles)
