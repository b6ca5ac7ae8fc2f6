"""Names of the system's own are refused to callers of a daemon, and its own jobs go on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.core.errors import Reserved
from tests.chaos.processes import PATIENCE_S
from tests.cli.shell import Shell
from tests.daemon.house import House, inhabited


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home with a daemon."""
    with inhabited(tmp_path_factory.mktemp("side")) as house:
        yield house


def test_callers_are_refused_over_http_and_the_sdk(shared: House) -> None:
    client = shared.client()
    for refused in (
        lambda: client.enqueue("t", queue="holdfast"),
        lambda: client.enqueue("holdfast.canary"),
        lambda: client.command("true", queue="holdfast.x"),
        lambda: client.emit("alert.disk"),
    ):
        with pytest.raises(Reserved):
            refused()
    status, said = shared.ask("POST", "/v1/events", {"id": "0190aaaa-0000-7000-8000-000000000001", "name": "job.done"})
    assert (status, said["code"]) == (400, "ERR_RESERVED")
    assert client.command("true").result(PATIENCE_S) == {"exit_code": 0}
    [chore] = client.maintain("events")
    assert chore.wait(PATIENCE_S).name == "DONE"


def test_a_measurement_still_works(shared: House) -> None:
    Shell(shared.home).ok("bench", "--seconds", 1)


def test_a_rule_in_the_settings_is_refused_at_the_start(house: House) -> None:
    house.settings(f'[[watch]]\nname = "w"\npath = "{house.side}"\ntask = "t"\nqueue = "holdfast.x"\n')
    daemon = house.begin()
    assert daemon.wait() != 0
    assert "queue 'holdfast.x' is reserved" in daemon.said()
