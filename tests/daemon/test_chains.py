"""Chains behind a daemon: results travel into workers, and into processes of tasks."""

from __future__ import annotations

from holdfast import PREVIOUS
from holdfast.core.values.group import GroupStatus
from tests.chaos.processes import PATIENCE_S
from tests.daemon.house import House


def test_results_travel_through_the_daemon_into_every_kind_of_run(house: House) -> None:
    daemon = house.up(app="chained")
    client = house.client()
    chain = client.chain(
        client.call("fetch", {"url": "u"}),
        client.call("parse", {"page": PREVIOUS, "words": ["w"]}),
        [client.command_call("true"), client.call("collect")],
        client.call("collect"),
        name="through",
    )
    page = {"url": "u"}
    parsed = ["u", "fetch", [page], ["w"]]
    found = [page, parsed, {"exit_code": 0}, [parsed], [{"exit_code": 0}, [parsed]]]
    assert chain.results(PATIENCE_S) == found
    assert client.find_group("through").view().status is GroupStatus.COMPLETED
    status, said = house.ask("GET", f"/v1/jobs/{chain.jobs[1].number}/predecessors")
    assert (status, [(one["task"], one["result_json"]) for one in said]) == (200, [("fetch", '{"url":"u"}')])
    house.down(daemon)
