"""Whatever is killed around an operation, and whenever: the workspace comes to be what it shall be, its home is whole,
and there are never two of its instance.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast import Conflict, Holdfast, WorkspaceHandle
from holdfast.core.errors import HoldfastError
from holdfast.core.workspaces.states import Operation, Phase
from tests.chaos.processes import kill, until
from tests.daemon.house import House, Process
from tests.daemon.workspace_acts import ALONE, PATIENCE, home_of, instances

# An operation takes about 0.4 s, with the looks before and after it.
LATEST_S = 0.6
TARGETS = ("worker", "daemon", "both", "all with the instance")


class Besieged:
    """A workspace, its daemon, and who is killed."""

    def __init__(self, house: House, target: str, seed: str) -> None:
        self.random = random.Random(f"{seed} {target}")
        self.house = house
        self.target = target
        self.daemon: Process = house.up()
        self.hf: Holdfast = house.client()
        self.kills = 0

    def strike(self) -> None:
        """Kill, at some moment of what goes on."""
        time.sleep(self.random.uniform(0, LATEST_S))
        worker = self.house.occupant("workspaces")
        if self.target != "worker":
            self.daemon.kill()
        if self.target != "daemon" and worker is not None:
            kill(worker)
        if self.target == "all with the instance":
            for one in instances(self.house):
                with suppress(ProcessLookupError):
                    os.kill(one.pid, signal.SIGKILL)
        self.kills += 1
        if self.target != "worker":
            self.daemon = self.house.up()

    def through(self, change: Callable[[], object], dev: WorkspaceHandle, phase: Phase) -> None:
        """Ask for a change, kill, and wait until all is as it shall be."""
        change()
        self.strike()
        until(lambda: self.is_settled(dev, phase), f"it is {phase}")

    def is_settled(self, dev: WorkspaceHandle, phase: Phase) -> bool:
        """Whether it is what it shall be. Failures in a row that our kills have caused are forgiven, as by a person."""
        try:
            view = dev.info
            if view.phase is Phase.ERROR and view.operation is Operation.NONE:
                dev.recover()
            # What stands in the row may be from before the kill.
            is_so = len(instances(self.house)) == (1 if phase is Phase.RUNNING else 0)
            return is_so and view.phase is phase and view.operation is Operation.NONE and not view.steps
        except HoldfastError:
            return False


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", [1])
def test_it_converges(house: House, target: str, number: int, seed: int) -> None:
    live_through(house, target, f"{seed} {number}", lives=1)


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", range(100, 110))
def test_it_converges_again_and_again(house: House, target: str, number: int, seed: int) -> None:
    live_through(house, target, f"{seed} {number}", lives=8)


def live_through(house: House, target: str, seed: str, lives: int) -> None:
    """Made, started, stopped and deleted, each of it with a kill."""
    besieged = Besieged(house, target, seed)
    hf = besieged.hf
    dev = hf.create_workspace("dev", command=ALONE, desired="STANDBY")
    besieged.through(lambda: None, dev, Phase.STANDBY)
    home = home_of(dev.info)
    (home / "note").write_text("hello")
    for _ in range(lives):
        besieged.through(asked_again(dev.start), dev, Phase.RUNNING)
        check(dev, home)
        besieged.through(asked_again(dev.stop), dev, Phase.STANDBY)
        check(dev, home)
    besieged.through(asked_again(dev.start), dev, Phase.RUNNING)
    assert not (home / "two").exists(), "there were two at once"
    asked_again(dev.delete)()
    besieged.strike()
    until(lambda: not is_there(hf), "it is deleted")
    assert instances(house) == []
    assert [path.name for path in (house.home.folder / "workspaces").iterdir()] == [".holdfast-homes"]
    print(f"{besieged.kills} kills")
    house.down(besieged.daemon)


def asked_again(change: Callable[[], object]) -> Callable[[], None]:
    """The change, asked for until no operation is in its way."""

    def ask() -> None:
        def done() -> bool:
            try:
                change()
            except Conflict:
                return False
            return True

        until(done, "it is asked for")

    return ask


def is_there(hf: Holdfast) -> bool:
    try:
        return bool(hf.workspaces())
    except HoldfastError:
        return True


def check(dev: WorkspaceHandle, home: Path) -> None:
    """One home, whole, and never two in it."""
    assert home_of(dev.info) == home
    assert (home / "note").read_text() == "hello"
    assert not (home / "two").exists(), "there were two at once"


def test_a_worker_that_is_frozen_while_it_starts_one_is_replaced_and_there_are_never_two(house: House) -> None:
    house.settings("[daemon]\nlease = 1\n")
    daemon = house.up()
    hf = house.client()
    dev = hf.create_workspace("dev", command=ALONE, desired="STANDBY")
    dev.wait("STANDBY", timeout=PATIENCE)
    first = house.worker("workspaces")
    dev.start()
    until(lambda: dev.info.operation is Operation.STARTING, "it starts")
    os.kill(first.pid, signal.SIGSTOP)
    view = dev.wait(timeout=PATIENCE)
    assert view.phase is Phase.RUNNING
    assert len(instances(house)) == 1
    assert not (home_of(view) / "two").exists()
    dev.delete(wait=PATIENCE)
    house.down(daemon)
