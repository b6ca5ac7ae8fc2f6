"""Trouble of the machine: a full disk and a clock that jumps. Nobody is blamed for it, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from uuid import uuid4

import apsw
import pytest

from holdfast import StateName
from holdfast.core.errors import StoreFull
from holdfast.core.jobs.requests import NewJob
from holdfast.store.locks import is_locked
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance.doctor import examine
from holdfast.wire.places import WorkerPlace, lock_of, take
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, ROOT, until
from tests.cli.shell import Shell
from tests.daemon.house import APPS, House, Process, short_folder

HOUR = 3_600
LEASE_S = 3  # long enough for a healthy worker on a busy machine
LEASE = f'[daemon]\nlease = "{LEASE_S}s"\n'


@pytest.fixture
def small_house(side: Path) -> Iterator[House]:
    """A house on a disk of a few megabytes."""
    with short_folder() as folder:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
        )
        if mounted.returncode:
            pytest.skip(f"this environment does not let us mount a small disk: {mounted.stderr.strip()}")
        house = House(folder / "home", side)
        try:
            yield house
        finally:
            house.clear()
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> bool:
    """Write until the disk takes not one byte more; it never says that this is enough."""
    with path.open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return False


def write_more(house: House) -> bool:
    """Leave no room, and have the daemon ask for some: what it has of its log already could last for a while."""
    large = {"id": str(uuid4()), "task": "unheard", "queue": "aside", "payload": {"text": "x" * 200_000}}
    house.ask("POST", "/v1/jobs", {"jobs": [large]})
    return fill(house.home.folder / "filler")


def test_a_full_disk_is_told_and_work_goes_on_when_there_is_room(small_house: House) -> None:
    house = small_house
    house.settings(LEASE)
    daemon = house.up(app="manners")
    worker, running = house.worker(), house.enqueue("short")
    alarmed = house.enqueue("plain", {"n": 3}, on_event="alert.store")
    until(lambda: entries(house.side, "start"), "it runs")
    until(lambda: write_more(house) or not house.is_ready, "it says that nothing can be written")
    status, said = house.ask("POST", "/v1/jobs", {"jobs": [{"id": str(uuid4()), "task": "plain"}]})
    assert (status, said["code"]) == (507, "ERR_STORE_FULL")
    assert "is full; nothing can be written" in house.ask("GET", "/v1/daemon")[1]["trouble"]
    assert b'holdfast_store_trouble{kind="full"} 1.0' in house.ask("GET", "/metrics")[1]
    (house.side / "finish").touch()
    until(lambda: entries(house.side, "end"), "it ends while nothing can be stored")
    until(lambda: heartbeats_failed(daemon) > LEASE_S, "heartbeats cannot be stored for longer than a lease")
    (house.home.folder / "filler").unlink()
    assert running.result(PATIENCE_S) == "finished"
    assert house.enqueue("plain", {"n": 7}).result(PATIENCE_S) == 7
    assert alarmed.result(PATIENCE_S) == 3
    assert house.is_ready
    assert house.ask("GET", "/v1/daemon")[1]["trouble"] is None
    assert house.worker() == worker
    assert [run.status for run in running.runs] == ["COMPLETED"]
    house.down(daemon)
    events = daemon.events()
    assert "worker_hung" not in events
    assert events.index("store_trouble") < events.index("store_recovered")


def test_a_daemon_that_starts_on_a_full_disk_can_be_asked_and_works_when_there_is_room(small_house: House) -> None:
    house = small_house
    house.settings("[queues.slow]\nlimit = 3\n")
    house.down(house.up())
    with house.store() as engine:
        engine.submit(enqueue, [NewJob(id="one", task="plain", payload='{"n":7}')], 1).result()
    fill(house.home.folder / "filler")
    daemon = house.begin(app="manners")
    until(lambda: house.ask("GET", "/v1/counts")[0] == 200 or not daemon.is_running, "it answers")
    status, said = house.ask("GET", "/readyz")
    assert (status, said["code"]) == (503, "ERR_NOT_READY")
    assert "is full; nothing can be written" in said["detail"]
    client, shell = house.client(), Shell(house.home)
    assert [job.id for job in client.jobs().jobs] == ["one"]
    assert client.bulk("cancel", dry_run=True).jobs == 1
    with pytest.raises(StoreFull):
        client.bulk("cancel")
    assert house.ask("POST", "/v1/jobs", {"jobs": [{"id": str(uuid4()), "task": "plain"}]})[0] == 507
    assert "is full" in shell("status").out
    assert "plain" in shell("ls").out
    assert shell("top", "--once").code == 0
    assert "✓ invariants" in shell("doctor").out
    assert house.home.daemon_pid() == daemon.pid
    assert daemon.is_running
    (house.home.folder / "filler").unlink()
    until(lambda: house.is_ready, "it has found room")
    assert client.job("one").result(PATIENCE_S) == 7
    assert client.queue("slow").concurrency == 3
    house.down(daemon)
    with house.store() as engine:
        assert examine(engine) == []


def test_a_daemon_that_never_finds_room_stops_when_it_is_asked_to(small_house: House) -> None:
    small_house.down(small_house.up())
    fill(small_house.home.folder / "filler")
    shell = Shell(small_house.home)
    started = shell("up", "--detach")
    assert started.code == 0
    assert "but it can only read: the disk that holds" in started.err
    assert shell("down").code == 0


def test_a_worker_takes_its_place_on_a_disk_without_room(small_house: House) -> None:
    home, place = small_house.home, WorkerPlace("system", ("--system",))
    small_house.settings("")
    lock_of(home, place.name).parent.mkdir()
    fill(home.folder / "filler")
    lock = take(home, place)
    assert is_locked(str(lock.path))
    lock.release()


def test_a_machine_without_room_for_more_refuses_new_jobs_until_there_is(house: House) -> None:
    house.up(env={"HOLDFAST_PRESSURE": "on"})
    client = house.client(wait_for_room=PATIENCE_S)
    for disk, wal, status, code in ((2, 0, 507, "ERR_STORE_FULL"), (90, 300 << 20, 503, "ERR_STORE_BUSY")):
        client.simulate(disk=disk, wal=wal)
        with house.connection() as connection:
            connection.request("POST", "/v1/jobs", json.dumps({"jobs": [{"id": str(uuid4()), "task": "plain"}]}))
            answer = connection.getresponse()
            assert (answer.status, json.load(answer)["code"]) == (status, code)
            assert int(answer.headers["retry-after"]) > 0
    assert client.jobs(without_system=True).jobs == []
    assert "write-ahead log has grown to 300 MiB" in house.ask("GET", "/readyz")[1]["refuses"]
    doctor = Shell(house.home)("doctor")
    assert doctor.code == 1
    assert "✗ machine      new jobs are refused on " in doctor.out
    waiting = Thread(target=lambda: client.command("true"))
    waiting.start()
    client.simulate(disk=90, wal=0)
    waiting.join(PATIENCE_S)
    until(
        lambda: [job.state.name for job in client.jobs(without_system=True).jobs] == ["DONE"],
        "the one who waited came in",
    )
    assert house.ask("GET", "/readyz") == (200, {"status": "ready"})


def test_a_daemon_whose_store_stays_locked_says_so_and_goes_on_when_it_is_free(house: House) -> None:
    house.settings('[daemon]\nlease = "2s"\n')
    house.up(app="manners")
    foreign = apsw.Connection(str(house.home.database))
    foreign.set_busy_timeout(int(PATIENCE_S * 1000))
    foreign.execute("BEGIN IMMEDIATE")
    until(lambda: not house.is_ready, "it says that nothing can be written")
    status, said = house.ask("GET", "/readyz")
    assert status == 503
    assert "another program has kept" in str(said)
    status, said = house.ask("POST", "/v1/jobs", {"jobs": [{"id": str(uuid4()), "task": "plain"}]})
    assert (status, said["code"]) == (503, "ERR_STORE_BUSY")
    assert "Close that program" in house.ask("GET", "/v1/daemon")[1]["trouble"]
    foreign.execute("ROLLBACK")
    foreign.close()
    until(lambda: house.is_ready, "it can write again")
    assert house.enqueue("plain", {"n": 5}).result(PATIENCE_S) == 5


def heartbeats_failed(daemon: Process) -> float:
    """For how many seconds no heartbeat could be stored."""
    failed = [line["ts"] for line in daemon.lines() if line["message"].startswith("heartbeat: ")]
    return (datetime.fromisoformat(failed[-1]) - datetime.fromisoformat(failed[0])).total_seconds() if failed else 0.0


def test_a_wall_clock_that_jumps_starts_what_waits_for_a_moment_and_nothing_else(house: House) -> None:
    house.settings(LEASE)
    clock = house.side / "clock"
    path = os.pathsep.join((str(APPS / "clock"), str(ROOT)))
    daemon = house.up(app="manners", env={"PYTHONPATH": path, "HOLDFAST_TEST_CLOCK": str(clock)})
    worker, running = house.worker(), house.enqueue("short")
    due = house.enqueue("plain", {"n": 1}, at=datetime.now(UTC) + timedelta(seconds=HOUR))
    delayed = house.enqueue("plain", delay=HOUR)
    until(lambda: entries(house.side, "start"), "one runs")
    clock.write_text(str(2 * HOUR))
    # The promoter looks at the clock once a minute, and whenever there is something new to wait for.
    house.enqueue("plain", delay=5 * HOUR)
    assert due.result(PATIENCE_S) == 1
    assert delayed.state is StateName.SCHEDULED
    clock.write_text(str(-2 * HOUR))
    assert house.enqueue("plain", {"n": 2}).result(PATIENCE_S) == 2
    began = running.runs[0].started_at
    until(lambda: beats(house) > 3, "the daemon has had time to misjudge somebody")
    assert (running.state, house.worker()) == (StateName.RUNNING, worker)
    (house.side / "finish").touch()
    assert running.result(PATIENCE_S) == "finished"
    [run] = running.runs
    assert (run.started_at, run.status) == (began, "COMPLETED")
    assert run.duration_ms is not None
    assert 0 < run.duration_ms < HOUR * 1000
    house.down(daemon)
    assert "worker_hung" not in daemon.events()


def beats(house: House) -> int:
    [daemon] = [row for row in house.client().sessions() if row.kind == "daemon"]
    return daemon.heartbeat
