"""Chores of the database over HTTP."""

from __future__ import annotations

from tests.api.caller import Caller


def test_a_chore_becomes_a_job(caller: Caller) -> None:
    answer = caller.post("/v1/maintenance/retention", {})
    assert answer.status == 201
    [made] = answer.json
    assert caller.get(f"/v1/jobs/{made['id']}").json["queue"] == "holdfast.maintenance"
    assert caller.post("/v1/maintenance/retention", {}).json == [made | {"existing": True}]


def test_the_chores_are_listed(caller: Caller) -> None:
    [made] = caller.post("/v1/maintenance/retention", {}).json
    [found] = [one for one in caller.get("/v1/maintenance").json if one["chore"] == "retention"]
    assert found["last"]["id"] == made["id"]


def test_an_unknown_chore_is_refused(caller: Caller) -> None:
    assert caller.post("/v1/maintenance/laundry", {}).code == "ERR_INVALID_INPUT"
    assert caller.get("/v1/jobs").json["jobs"] == []
