"""SIGTERM and SIGINT: whoever is new is turned away, short work ends, the rest goes back, and nobody pays for it."""

from __future__ import annotations

import os
import signal
import socket
import threading
from typing import Any

from tests.chaos.database import select
from tests.chaos.journal import entries
from tests.chaos.processes import until
from tests.daemon.house import House

IMPATIENT = '[daemon]\nshort = "100ms"\ngrace = "100ms"\n'
KIND = '[daemon]\nshort = "100ms"\ngrace = "1h"\n'
PATIENT = '[daemon]\nshort = "1h"\ngrace = "1h"\n'


def outcome(house: House, job_id: str) -> tuple[Any, ...]:
    """What became of a job: its state, what it is charged, and its runs."""
    with house.store() as engine:
        [job] = select(engine, "SELECT * FROM jobs WHERE id = :id", id=job_id)
        runs = select(engine, "SELECT status FROM job_runs WHERE job_id = :id", id=job_id)
    return (job["state"], job["transient_tries"] + job["infra_tries"], [run["status"] for run in runs])


def waiting_rows(house: House) -> list[dict[str, Any]]:
    with house.store() as engine:
        return select(engine, "SELECT * FROM jobs WHERE job_type = 'waiting' ORDER BY number")


def sessions(house: House) -> list[str]:
    with house.store() as engine:
        return [row["status"] for row in select(engine, "SELECT status FROM sessions")]


def start_all(house: House, *tasks: str) -> list[str]:
    """Jobs that run, and two that only wait."""
    ids = [house.enqueue(task).id for task in tasks]
    house.client().pause("elsewhere")
    house.enqueue("waiting", queue="elsewhere")
    house.enqueue("waiting", queue="elsewhere", delay=3600)
    until(lambda: len(entries(house.side, "start")) == len(tasks), "the jobs run")
    return ids


def is_turned_away(house: House) -> bool:
    status, said = house.ask("GET", "/v1/counts")
    return status == 503 and said["code"] == "ERR_NOT_READY"


def test_what_ends_is_done_and_what_stops_goes_back_uncharged(house: House) -> None:
    house.settings(KIND)
    daemon = house.up(app="manners")
    finished, yielded = start_all(house, "short", "long")
    before = waiting_rows(house)
    answers: list[int] = []
    poll = threading.Thread(target=lambda: answers.append(house.ask("GET", f"/v1/jobs/{yielded}/wait")[0]))
    poll.start()
    daemon.send(signal.SIGTERM)
    until(lambda: is_turned_away(house), "callers are turned away")
    poll.join()
    (house.side / "finish").touch()
    daemon.end_well()
    assert answers == [503]
    assert outcome(house, finished) == ("DONE", 0, ["COMPLETED"])
    assert outcome(house, yielded) == ("QUEUED", 0, ["YIELDED"])
    assert waiting_rows(house) == before
    assert set(sessions(house)) == {"success"}
    assert not house.home.socket.exists()
    assert not house.home.lock.exists()
    assert house.everybody() == []


def test_a_second_signal_hurries(house: House) -> None:
    house.settings(PATIENT)
    daemon = house.up(app="manners")
    ids = start_all(house, "short", "long", "deaf")
    before = waiting_rows(house)
    daemon.send(signal.SIGINT)
    until(lambda: is_turned_away(house), "it has heard the first signal")
    assert daemon.is_running
    daemon.send(signal.SIGINT)
    daemon.end_well()
    assert [outcome(house, job_id) for job_id in ids] == [("QUEUED", 0, ["YIELDED"])] * 3
    assert waiting_rows(house) == before


def test_a_worker_that_hears_nothing_is_killed_and_nobody_pays(house: House) -> None:
    house.settings(IMPATIENT)
    daemon = house.up(app="manners")
    [stopped] = start_all(house, "stopped")
    worker = house.worker()
    house.down(daemon)
    assert not worker.is_alive
    assert outcome(house, stopped) == ("QUEUED", 0, ["YIELDED"])


def test_short_work_is_waited_for_behind_a_closed_port(house: House) -> None:
    house.settings(PATIENT)
    daemon = house.up("--port", "0", app="manners")
    port = int(house.ask("GET", "/v1/daemon")[1]["tcp"].rpartition(":")[2])
    finished, parent = start_all(house, "short", "parent")
    socket.create_connection(("127.0.0.1", port)).close()
    daemon.send(signal.SIGTERM)

    def is_closed() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            return True
        return False

    until(is_closed, "the port is closed")
    until(lambda: is_turned_away(house), "callers of the socket are turned away")
    (house.side / "finish").touch()
    daemon.end_well()
    assert outcome(house, finished) == ("DONE", 0, ["COMPLETED"])
    assert outcome(house, parent) == ("DONE", 0, ["COMPLETED"])
    with house.store() as engine:
        assert select(engine, "SELECT state FROM jobs WHERE parent_job_id = :id", id=parent) == [{"state": "QUEUED"}]


def test_the_results_of_a_worker_that_a_person_started_are_taken_until_the_end(house: House) -> None:
    house.settings(PATIENT)
    daemon = house.up(app="manners")
    by_hand = house.run("worker", "--app", f"{os.path.dirname(__file__)}/programs/by_hand.py")
    [_] = start_all(house, "short")
    theirs = house.enqueue("theirs", queue="theirs")
    until(lambda: len(entries(house.side, "start")) == 2, "both run")
    daemon.send(signal.SIGTERM)
    until(lambda: is_turned_away(house), "callers are turned away")
    (house.side / "theirs").touch()

    def is_done() -> bool:
        return outcome(house, theirs.id) == ("DONE", 0, ["COMPLETED"])

    until(is_done, "its result was taken")
    assert daemon.is_running
    (house.side / "finish").touch()
    daemon.end_well()
    assert by_hand.is_running
