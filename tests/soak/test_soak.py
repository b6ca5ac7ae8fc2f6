"""A daemon under a steady load of all kinds, for an hour: what it uses at the end is what it used at first."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from holdfast.runtime.clock import SystemClock
from holdfast.store.scripts.maintenance.doctor import examine
from tests.chaos.processes import until
from tests.daemon.house import House, Process, short_folder
from tests.soak.measures import Sample, growth, look, together
from tests.store.acts import select

APP = Path(__file__).parent / "programs" / "soak_app.py"
LENGTH_S = float(os.environ.get("HOLDFAST_SOAK_S", 3_600))
CLIENTS = 2
PACE = 10  # requests a second, of each client
KEPT_S = max(20, round(LENGTH_S / 20))  # so that as much is forgotten as comes, before the first part is over
LOOKS = 180
FORGETS_EVERY = 10  # looks; by themselves jobs are forgotten once an hour
LIVE = """SELECT number, job_type, queue, state, created_at, queued_at, scheduled_at FROM jobs
  WHERE state IN ('SCHEDULED', 'QUEUED', 'RUNNING') AND job_type NOT LIKE 'holdfast.%'"""
KEPT = "SELECT count(*) AS jobs FROM jobs"
WAITS = """SELECT r.started_at - j.queued_at AS wait FROM job_runs AS r JOIN jobs AS j ON j.id = r.job_id
  WHERE r.started_at > :since AND r.attempt = 1 AND j.job_type = 'quick'"""
SETTINGS = f"""[daemon]
keep = "{KEPT_S}s"
[observe]
canary_every = "10s"
"""


class Soak:
    """A daemon with workers, and clients that never stop asking."""

    def __init__(self, house: House, seed: int) -> None:
        self.house = house
        self.random = random.Random(seed)
        self.daemon: Process | None = None
        self.clients: list[Process] = []

    def begin(self) -> None:
        """Everybody comes."""
        self.house.settings(SETTINGS)
        self.daemon = self.house.up("--app", str(APP), "--workers", "2", env={})
        for _ in range(CLIENTS):
            seed = str(self.random.randrange(2**32))
            self.clients.append(self.house.python("-m", "tests.soak.programs.soak_client", seed, str(PACE)))

    def go_on(self, seconds: float) -> list[Sample]:
        """Let it run, and look from time to time."""
        samples = []
        clock = SystemClock()
        client = self.house.client()
        for number in range(LOOKS):
            if number % FORGETS_EVERY == 0:
                client.maintain("retention")
                client.maintain("files")
            since = clock.now()
            time.sleep(seconds / LOOKS)
            with self.house.store() as engine:
                waits = [row["wait"] for row in select(engine, WAITS, since=since)]
            samples.append(look(self.house, waits))
            assert self.daemon is not None
            assert self.daemon.is_running, self.daemon.said()
            assert all(client.is_running for client in self.clients)
        return samples

    def end(self) -> Counter[str]:
        """The clients stop, and all work comes to its end; what the clients counted."""
        (self.house.side / "stop").touch()
        for client in self.clients:
            client.end_well()
        with self.house.store() as engine:
            try:
                until(lambda: not select(engine, LIVE), "all work is done")
            except AssertionError as error:
                raise AssertionError(f"{error}; left: {select(engine, LIVE)[:20]}") from error
        assert self.daemon is not None
        self.house.down(self.daemon)
        counted = [msgspec.json.decode(file.read_bytes()) for file in self.house.side.glob("client-*.json")]
        return sum(map(Counter, counted), Counter())


@pytest.fixture
def soak(seed: int, tmp_path: Path) -> Iterator[Soak]:
    """A house of its own."""
    with short_folder() as folder:
        house = House(folder / "home", tmp_path)
        try:
            yield Soak(house, seed)
        finally:
            house.clear()


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.timeout(LENGTH_S * 2 + 600)
def test_an_hour_of_work_leaves_no_trace_but_its_results(soak: Soak) -> None:
    soak.begin()
    soak.go_on(LENGTH_S * 0.1)
    samples = soak.go_on(LENGTH_S * 0.9)
    counts = soak.end()
    first, last = together(samples[: LOOKS // 4]), together(samples[-LOOKS // 4 :])
    started = sum(sample.started for sample in samples)
    print(f"{dict(counts)} by the clients, {started} waits measured\nat first: {first}\nat last: {last}")
    with soak.house.store() as engine:
        assert examine(engine) == []
        kept = select(engine, KEPT)[0]["jobs"]
    print(f"{kept} jobs are kept, with files of {len(os.listdir(soak.house.home.folder / 'jobs'))}")
    assert growth(first, last) == []
    assert kept < counts["acked"] / 2, "nothing was forgotten"
    assert started > LENGTH_S
    assert {code for code in counts if code != "acked"} <= {"ERR_QUEUE_FULL"}
