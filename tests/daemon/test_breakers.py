"""A queue whose jobs fail by the fault of the machine one after the other, as somebody at a daemon sees it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from holdfast import Holdfast, JobHandle, Retry, StateName
from tests.chaos.processes import PATIENCE_S, until
from tests.cli.shell import Shell
from tests.daemon.house import House, inhabited

ONCE = Retry(0, infra=0)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home whose workers have no memory."""
    with inhabited(tmp_path_factory.mktemp("side"), app="fragile") as house:
        yield house


def starve(client: Holdfast, queue: str, times: int) -> None:
    """Jobs that end because the machine has no memory."""
    for _ in range(times):
        assert client.enqueue("starve", queue=queue, retry=ONCE).wait(PATIENCE_S) is StateName.FAILED


def held_by(job: JobHandle[dict[str, int]]) -> list[str]:
    return [gate.gate for gate in job.why().closed]


def told_of(house: House, queue: str) -> list[str]:
    """What the log of the daemon says about the breaker of a queue."""
    lines = [msgspec.json.decode(line) for line in house.processes[0].said().splitlines() if line.startswith("{")]
    return [line["event"] for line in lines if line["event"].startswith("breaker") and line["queue"] == queue]


def test_it_is_held_back_and_says_so_until_somebody_lets_it_go_on(shared: House) -> None:
    client = shared.client()
    client.set_queue("fragile", breaker=2, breaker_for=3_600)
    starve(client, "fragile", 2)
    waiting = client.command("true", queue="fragile")
    until(lambda: held_by(waiting) == ["breaker"], "a worker for commands is there, and the breaker alone holds it")
    tripped = client.queue("fragile").tripped
    assert tripped is not None
    assert tripped.failures == 2
    doctor = Shell(shared.home).ok("doctor").out
    assert "! breaker      queue fragile is held back for " in doctor
    shared.await_metrics(
        'holdfast_breaker_open{queue="fragile",state="open"} 1.0',
        'holdfast_infra_failures_total{queue="fragile"} 2.0',
    )
    client.resume("fragile")
    assert waiting.wait(PATIENCE_S) is StateName.DONE
    until(lambda: told_of(shared, "fragile") == ["breaker_open", "breaker_closed"], "the log tells of both")


def test_it_goes_on_by_itself_when_one_job_has_shown_that_all_is_well(shared: House) -> None:
    client = shared.client()
    client.set_queue("brief", breaker=1, breaker_for=0.2)
    starve(client, "brief", 1)
    jobs = [client.command("true", queue="brief") for _ in range(3)]
    assert {job.wait(PATIENCE_S) for job in jobs} == {StateName.DONE}
    until(lambda: client.queue("brief").tripped is None, "it is not held back any more")
