"""Callers that vanish, lose answers or come too late: the daemon goes on, and nothing is done twice or lost."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from select import select as ready
from typing import Any

import msgspec
import pytest

from holdfast import Retry
from holdfast.store.engine import new_uuid
from tests.chaos.database import select
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House, inhabited


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home with a daemon that has room for few long calls. Nothing fails in it, whoever vanishes."""
    with inhabited(tmp_path_factory.mktemp("side"), "[api]\nlong_calls = 5\n") as house:
        yield house
        [daemon] = house.processes
        house.down(daemon)
        assert "failed" not in daemon.events()


class RawWorker:
    """A worker in a language that knows nothing but HTTP, on a machine of which only the heartbeat is seen."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.session = new_uuid()
        session = {"id": self.session, "kind": "worker", "node": "elsewhere", "boot_id": "b", "pid": 1}
        status, _ = house.ask("POST", "/v1/sessions", {"session": session | {"lock_path": None}, "offer": None})
        assert status == 201

    def body(self, *reports: dict[str, Any], slots: int = 0, holds: list[str] | None = None) -> dict[str, Any]:
        queues = [{"queue": "raw", "slots": slots}]
        request = {"session_id": self.session, "slots": slots, "queues": queues, "tasks": ["raw"]}
        return {"reports": list(reports), "progress": [], "request": request, "holds": holds}

    def exchange(self, *reports: dict[str, Any], slots: int = 0, holds: list[str] | None = None) -> dict[str, Any]:
        status, said = self.house.ask("POST", "/v1/exchange", self.body(*reports, slots=slots, holds=holds))
        assert status == 200, said
        answer: dict[str, Any] = said
        return answer


def completed(run: dict[str, Any], result: str) -> dict[str, Any]:
    outcome = {"type": "Completed", "result": result}
    return {"run_id": run["run_id"], "job_id": run["job_id"], "outcome": outcome, "duration_ms": 1}


def test_a_result_that_comes_after_the_lease_is_refused(house: House) -> None:
    house.settings('[daemon]\nlease = "2s"\n')
    daemon = house.up()
    job = house.enqueue("raw", queue="raw", retry=Retry(0, initial=0))
    silent = RawWorker(house)
    [run] = silent.exchange(slots=1)["claimed"]
    until(lambda: job.runs[0].status is not None, "others have settled it")
    [settled] = silent.exchange(completed(run, '"late"'))["settled"]
    assert "too late" in settled["refused"]
    assert [run.error_code for run in job.runs] == ["ERR_CRASH_RECOVERY"]

    def take() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = awake.exchange(slots=1)["claimed"]
        return found

    awake = RawWorker(house)
    [run] = until(take, "it is to be had again")
    awake.exchange(completed(run, '"in time"'))
    assert job.result(PATIENCE_S) == "in time"
    house.down(daemon)


def test_a_claim_whose_answer_is_lost_costs_nothing(shared: House) -> None:
    job = shared.enqueue("raw", queue="raw")
    worker = RawWorker(shared)
    with shared.connection() as connection:
        connection.request("POST", "/v1/exchange", msgspec.json.encode(worker.body(slots=1)))
    until(lambda: job.runs, "it was handed out, and nobody was there")
    [run] = until(lambda: worker.exchange(slots=1, holds=[])["claimed"], "it comes again")
    worker.exchange(completed(run, "7"))
    # The answer to this one may be lost as well.
    [settled] = worker.exchange(completed(run, "7"))["settled"]
    assert settled["refused"] is None
    assert job.result(PATIENCE_S) == 7
    assert [run.status for run in job.runs] == ["YIELDED", "COMPLETED"]
    with shared.store() as engine:
        assert select(engine, "SELECT infra_tries FROM jobs WHERE id = :id", id=job.id) == [{"infra_tries": 0}]


def test_a_caller_that_vanishes_in_the_middle_of_its_words_changes_nothing(shared: House) -> None:
    before = shared.client().counts()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.connect(str(shared.home.socket))
        caller.sendall(b"POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n" + b'{"jobs": [')
    assert shared.client().counts() == before


@pytest.mark.parametrize("path", ["/v1/changes", "/v1/jobs/{job}/wait?timeout_ms=3600000"])
def test_long_calls_whose_callers_vanish_make_room_for_others(shared: House, path: str) -> None:
    path = path.format(job=shared.enqueue("raw").id)
    for number in range(2):
        with ExitStack() as callers:
            until(lambda: not begins(callers.enter_context(shared.connection()), path, 0.05), "there is no more room")
        with shared.connection() as last:
            until(lambda: begins(last, path, 0.5), f"there is room again, time {number}")


def begins(connection: http.client.HTTPConnection, path: str, patience: float) -> bool:
    """Whether a long call is taken: it begins to answer, or lets its caller wait for so many seconds."""
    connection.request("GET", path)
    assert isinstance(connection.sock, socket.socket)
    if not ready([connection.sock], [], [], patience)[0]:
        return True
    response = connection.getresponse()
    if response.status == http.client.OK:
        return True
    assert response.status == http.client.TOO_MANY_REQUESTS
    response.read()
    return False


def test_a_client_that_waits_no_more_gives_its_long_call_back(house: House) -> None:
    def open_calls() -> int:
        with house.connection() as connection:
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        return next(int(float(line.split()[1])) for line in lines if line.startswith("holdfast_long_calls_open "))

    daemon = house.up()
    client = house.client()
    assert client.command("true").result(PATIENCE_S) == {"exit_code": 0}
    until(lambda: open_calls() == 2, "the worker listens, and the client still does")
    for _ in range(2):
        client.enqueue("unknown")
    until(lambda: open_calls() == 1, "only the worker listens")
    assert client.command("true").result(PATIENCE_S) == {"exit_code": 0}
    house.down(daemon)
