"""A daemon that others took for dead comes back under a new name, and goes on."""

from __future__ import annotations

from holdfast.store.scripts.sessions.recover import recover
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House


def test_a_daemon_that_others_settled_goes_on_as_another_session(house: House) -> None:
    house.settings('[daemon]\nlease = "1s"\n')
    daemon = house.up(app="manners")
    old = own_session(house)
    with house.store() as engine:
        engine.submit(recover, old, False, 0).result()
    until(lambda: own_session(house) not in (None, old), "it has another name")
    assert house.enqueue("plain", {"n": 7}).result(PATIENCE_S) == 7
    house.down(daemon)
    assert "daemon_lost" in daemon.events()


def own_session(house: House) -> str | None:
    return next((row.id for row in house.client().sessions() if row.kind == "daemon"), None)
