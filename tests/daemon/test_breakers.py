"""A queue whose jobs fail by the fault of the machine one after the other, as somebody at a daemon sees it."""

from __future__ import annotations

from holdfast import Holdfast, JobHandle, Retry, StateName
from tests.chaos.processes import PATIENCE_S, until
from tests.cli.shell import Shell
from tests.daemon.house import House

ONCE = Retry(0, infra=0)


def starve(client: Holdfast, times: int) -> None:
    """Jobs that end because the machine has no memory."""
    for _ in range(times):
        assert client.enqueue("starve", queue="fragile", retry=ONCE).wait(PATIENCE_S) is StateName.FAILED


def held_by(job: JobHandle[dict[str, int]]) -> list[str]:
    return [gate.gate for gate in job.why().closed]


def test_it_is_held_back_and_says_so_until_somebody_lets_it_go_on(house: House) -> None:
    daemon = house.up(app="fragile")
    client = house.client()
    client.set_queue("fragile", breaker=2, breaker_for=3_600)
    starve(client, 2)
    waiting = client.command("true", queue="fragile")
    assert held_by(waiting) == ["breaker"]
    tripped = client.queue("fragile").tripped
    assert tripped is not None
    assert tripped.failures == 2
    doctor = Shell(house.home).ok("doctor").out
    assert "! breaker      queue fragile is held back for " in doctor
    metrics = house.ask("GET", "/metrics")[1]
    assert b'holdfast_breaker_open{queue="fragile",state="open"} 1.0' in metrics
    assert b'holdfast_infra_failures_total{queue="fragile"} 2.0' in metrics
    client.resume("fragile")
    assert waiting.wait(PATIENCE_S) is StateName.DONE
    house.down(daemon)
    assert [event for event in daemon.events() if event.startswith("breaker")] == ["breaker_open", "breaker_closed"]


def test_it_goes_on_by_itself_when_one_job_has_shown_that_all_is_well(house: House) -> None:
    house.up(app="fragile")
    client = house.client()
    client.set_queue("fragile", breaker=1, breaker_for=0.2)
    starve(client, 1)
    jobs = [client.command("true", queue="fragile") for _ in range(3)]
    assert {job.wait(PATIENCE_S) for job in jobs} == {StateName.DONE}
    until(lambda: client.queue("fragile").tripped is None, "it is not held back any more")
