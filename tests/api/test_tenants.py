"""Tenants over HTTP: weights, activity and shares."""

from __future__ import annotations

import pytest

from tests.api.caller import Caller


def test_a_weight_and_activity_show_in_the_shares(caller: Caller) -> None:
    for tenant in ("acme::shop", "other"):
        caller.enqueue(tenant=tenant)
    assert caller.put("/v1/tenants/acme::shop/weight", {"weight": 30, "queue": "default"}).status == 200
    assert caller.post("/v1/tenants/other/activity", {"for_ms": 3_600_000}).status == 200
    found = {one["tenant"]: one for one in caller.get("/v1/tenants?queue=default").json}
    assert (found["acme::shop"]["weight"], found["other"]["weight_now"]) == (30, 100)
    assert found["other"]["share"] == pytest.approx(100 / 130)


def test_a_weight_is_set_back(caller: Caller) -> None:
    caller.enqueue(tenant="a")
    caller.put("/v1/tenants/a/weight", {"weight": 30})
    caller.put("/v1/tenants/a/weight", {"weight": 50, "queue": "default"})
    assert caller.post("/v1/tenants/a/weight/clear", {"queue": "default"}).status == 200
    assert [one["weight"] for one in caller.get("/v1/tenants").json] == [30]
    assert caller.post("/v1/tenants/a/weight/clear").status == 200
    assert [one["weight"] for one in caller.get("/v1/tenants").json] == [10]


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/v1/tenants/a/weight", {"weight": 0}),
        ("/v1/tenants/a/weight", {}),
        ("/v1/tenants/a/weight", {"weight": 1, "queue": "a b"}),
    ],
)
def test_a_weight_that_does_not_fit_is_refused(caller: Caller, path: str, sent: dict[str, object]) -> None:
    assert caller.put(path, sent).code == "ERR_INVALID_INPUT"
    assert caller.get("/v1/tenants").json == []
