"""Every script that writes with more than one statement is killed on its way in some scenario."""

from __future__ import annotations

from tests.chaos.writing_scripts import scripts_in_scenarios, scripts_with_many_writes

EXCEPTIONS = {
    "enqueue.enqueue_any": "enqueue does the same, for those who may ask for less",
    "spread.spread": "a part of tick",
}


def test_every_script_that_writes_more_than_once_has_a_scenario() -> None:
    wanted, tried = scripts_with_many_writes(), scripts_in_scenarios()
    assert sorted(wanted - tried - EXCEPTIONS.keys()) == []
    assert sorted(EXCEPTIONS.keys() - (wanted - tried)) == [], "these need no exception any more"
