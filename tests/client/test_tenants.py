"""Fair shares as a program sets and sees them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput


def test_weights_and_activity_show_in_the_shares(hf: Holdfast) -> None:
    @hf.task
    def work() -> None: ...

    work.options(subject="acme::shop::1").enqueue()
    work.options(tenant="other").enqueue()
    work.enqueue()
    hf.set_weight("acme::shop", 30)
    hf.set_weight("other", 20, queue="default")
    until = hf.report_activity("default", lasting=3_600)
    found = {one.tenant: one for one in hf.tenants("default")}
    assert {name: one.weight_now for name, one in found.items()} == {"acme::shop": 30, "default": 100, "other": 20}
    assert found["default"].active_until == until
    assert found["other"].share == pytest.approx(20 / 150)
    hf.set_weight("acme::shop", None)
    asyncio.run(hf.aset_weight("other", None, queue="default"))
    assert {one.tenant: one.weight for one in hf.tenants()} == {"acme::shop": 10, "default": 10, "other": 10}


def test_the_awaitable_twins_say_the_same(hf: Holdfast) -> None:
    async def all_of_it() -> list[Any]:
        await hf.aset_weight("a", 30, queue="q")
        await hf.areport_activity("a", lasting=60)
        return await hf.atenants()

    assert asyncio.run(all_of_it()) == hf.tenants("q")


@pytest.mark.parametrize(("tenant", "weight"), [("a", 0), ("a", 1.5), ("", 1), ("a\n", 1)])
def test_a_weight_that_does_not_fit_is_refused(hf: Holdfast, tenant: str, weight: Any) -> None:
    with pytest.raises(InvalidInput):
        hf.set_weight(tenant, weight)
