"""A machine without room for more: an enqueue waits for it, and then says plainly what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast import Holdfast, StateName, StoreFull
from holdfast.core.gates.pressure import Pressure
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.machine.measures import Level
from holdfast.store.scripts.maintenance.probed_machines import note_machine
from holdfast.testing import ManualClock
from tests.client.acts import WAIT, both_engines, wait_until
from tests.client.test_queue_settings import Waiting, somebody_waits

CALM = JudgedMachine(is_idle=False, idle="in use", is_charging=True, charging="on AC", source="test")


def press(hf: Holdfast, clock: ManualClock, *readings: str) -> None:
    pressing = [Pressure(reading, Level.HIGH, f"the {reading} is full", clock.now()) for reading in readings]
    assert hf._access.engine.run(note_machine, hf._access.engine.node, CALM, None, clock.now(), pressing)


@both_engines
def test_an_enqueue_waits_until_there_is_room(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock, wait_for_room=WAIT)
    press(hf, clock, "disk")
    waiting = Waiting(lambda: hf.enqueue("work"))
    assert wait_until(lambda: somebody_waits(clock))
    press(hf, clock)
    clock.advance(10)
    waiting.join()
    assert waiting.handle is not None
    assert waiting.handle.state is StateName.QUEUED


@both_engines
def test_when_patience_is_at_its_end_it_says_what_is_wrong(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock, wait_for_room=0)
    press(hf, clock, "disk")
    with pytest.raises(StoreFull, match=r"on .+ the disk is full; nothing was enqueued\. Free some space"):
        hf.enqueue("work")
    assert hf.jobs().jobs == []
