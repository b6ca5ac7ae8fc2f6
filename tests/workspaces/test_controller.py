"""The controller with real homes and processes, look by look."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.errors import NotHolder
from holdfast.core.messages.workspaces import InstanceContext, WorkspaceView
from holdfast.core.tasks.reserved import WORKSPACE
from holdfast.core.workspaces.conditions import ConditionName
from holdfast.core.workspaces.states import DesiredState, Operation, Phase
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Changes
from holdfast.store.scripts.maintenance.doctor import examine
from holdfast.store.scripts.workspaces import reconcile
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.topics import APPS, UNKNOWN, WORKSPACES, Topic
from holdfast.tasks.context import Context
from holdfast.tasks.raising import Snooze
from holdfast.workspaces.backends.local_dir import LocalDir
from holdfast.workspaces.backends.local_process import LocalProcesses
from holdfast.workspaces.backends.protocols import HomeNames, SeenHome
from holdfast.workspaces.controller import BUSY_S, USUAL_S, Controller
from holdfast.workspaces.operations import OperationRunner
from tests.chaos.processes import PATIENCE_S
from tests.migrated import copy_migrated
from tests.store.acts import dump, lose
from tests.store.workspace_acts import CONTROLLER, begin, create, end_run, find, open_controller, want

D = DesiredState


class Looker:
    """A controller whose looks a test asks for, and a worker that does operations when it is told to."""

    def __init__(self, folder: Path) -> None:
        self.engine = SqliteEngine(copy_migrated(folder / "store.db"), durability="normal", now=SystemClock().now)
        self.folder = folder / "homes"
        self.clock = SystemClock()
        self.instances = LocalProcesses(lambda key: folder / f"{key}.log", {}, grace_s=0.5)
        self.homes = LocalDir(self.folder)
        self.runner = OperationRunner(self.engine, self.clock, self.instances, self.homes)
        open_controller(self.engine, now=self.clock.now())

    def controller(self, session: str = CONTROLLER, **more: Any) -> Controller:
        """A controller of a session."""
        usual: dict[str, Any] = {"instances": self.instances, "homes": self.homes}
        return Controller(self.engine, self.clock, session, None, **(usual | more))

    def look(self, times: int = 1, **more: Any) -> float:
        """Look so often. How long it would wait then."""

        async def tick() -> float:
            controller = self.controller(**more)
            pause = [await controller.tick() for _ in range(times)][-1]
            await controller.stop()
            return pause

        return asyncio.run(tick())

    def operate(self) -> None:
        """Do the operation that is planned."""
        run = begin(self.engine, now=self.clock.now())
        assert run.task == WORKSPACE
        context = Context(run, lambda data: None, lambda fraction, text: None)  # type: ignore[arg-type,return-value]
        self.runner.spec.function(context, **self.runner.spec.schema.decode(run.payload))
        end_run(self.engine, run, now=self.clock.now())

    def settle(self, name: str = "dev") -> WorkspaceView:
        """Look and operate until nothing is left to do."""
        while self.look() == BUSY_S:
            if find(self.engine, name).operation is not Operation.NONE:
                self.operate()
        return find(self.engine, name)


@pytest.fixture
def looker(tmp_path: Path) -> Iterator[Looker]:
    made = Looker(tmp_path)
    yield made
    for one in made.engine.query(reconcile.watched_workspaces, CONTROLLER).workspaces:
        if one.instance_ctx is not None:
            made.instances.stop(one.instance_ctx, lambda: None)
    assert examine(made.engine) == []
    made.engine.close()


def test_it_makes_a_workspace_what_it_shall_be(looker: Looker) -> None:
    create(looker.engine, command=("sleep", "600"))
    view = looker.settle()
    assert (view.phase, view.home is not None) == (Phase.RUNNING, True)
    want(looker.engine, D.STANDBY)
    assert looker.settle().phase is Phase.STANDBY


def test_a_look_at_what_is_as_it_shall_be_writes_nothing(looker: Looker) -> None:
    create(looker.engine, desired_state=D.STANDBY)
    looker.settle()
    before = dump(looker.engine)
    assert looker.look() == USUAL_S
    assert dump(looker.engine) == before


def test_homes_on_a_disk_that_is_not_mounted_are_not_lost(looker: Looker) -> None:
    create(looker.engine, desired_state=D.STANDBY)
    looker.settle()
    looker.folder.rename(looker.folder.with_name("elsewhere"))
    looker.look()
    view = find(looker.engine)
    assert (view.phase, view.conditions[ConditionName.VOLUME].status) == (Phase.STANDBY, None)
    want(looker.engine, D.RUNNING)
    looker.look()
    assert find(looker.engine).operation is Operation.NONE, "nothing is planned while a part is not known"
    looker.folder.with_name("elsewhere").rename(looker.folder)
    want(looker.engine, D.STANDBY)
    looker.look()
    view = find(looker.engine)
    assert (view.phase, view.error_count, view.conditions[ConditionName.VOLUME].status) == (Phase.STANDBY, 0, True)


def test_a_start_while_the_disk_is_not_mounted_waits_for_it(looker: Looker) -> None:
    create(looker.engine, command=("sleep", "600"), desired_state=D.STANDBY)
    looker.settle()
    want(looker.engine, D.RUNNING)
    looker.look()
    looker.folder.rename(looker.folder.with_name("elsewhere"))
    with pytest.raises(Snooze):
        looker.operate()
    looker.folder.with_name("elsewhere").rename(looker.folder)


def test_homes_that_were_moved_are_named_where_they_are_by_the_next_start(looker: Looker, tmp_path: Path) -> None:
    create(looker.engine, command=("sleep", "600"), desired_state=D.STANDBY)
    looker.settle()
    looker.folder.rename(tmp_path / "moved")
    looker.homes.folder = tmp_path / "moved"
    want(looker.engine, D.RUNNING)
    view = looker.settle()
    assert (view.phase, Path(view.home or "").parent) == (Phase.RUNNING, tmp_path / "moved")


def test_a_home_that_is_lost_is_not_replaced(looker: Looker) -> None:
    create(looker.engine, desired_state=D.STANDBY)
    home = Path(looker.settle().home or "")
    home.rmdir()
    looker.look()
    assert find(looker.engine).phase is Phase.ERROR
    assert not home.exists()
    home.mkdir()
    looker.look()
    assert find(looker.engine).phase is Phase.ERROR, "until somebody recovers it"


class HangingHomes(LocalDir):
    """Homes on a disk that does not answer."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.go_on = threading.Event()
        self.looks = 0

    def observe(self, homes: Mapping[str, HomeNames]) -> dict[str, SeenHome]:
        self.looks += 1
        self.go_on.wait()
        return super().observe(homes)


class BrokenInstances(LocalProcesses):
    """Instances that cannot be looked at."""

    def observe(self, known: Mapping[str, InstanceContext]) -> dict[str, bool]:
        raise OSError("no /proc")


def test_what_hangs_is_not_known_and_is_not_asked_a_second_time_meanwhile(looker: Looker) -> None:
    create(looker.engine, desired_state=D.STANDBY)
    looker.settle()
    homes = HangingHomes(looker.folder)
    looker.look(3, homes=homes, patience=0.05)
    assert homes.looks == 1
    homes.go_on.set()
    view = find(looker.engine)
    assert (view.phase, view.conditions[ConditionName.VOLUME].status) == (Phase.STANDBY, None)


def test_what_fails_is_not_known(looker: Looker) -> None:
    create(looker.engine, desired_state=D.STANDBY)
    looker.settle()
    looker.look(instances=BrokenInstances(looker.instances._log_of, {}))
    assert find(looker.engine).conditions[ConditionName.INSTANCE].status is None


def test_one_controller_waits_until_the_other_has_ended(looker: Looker) -> None:
    create(looker.engine, desired_state=D.STANDBY)
    open_controller(looker.engine, "c2", looker.clock.now())
    assert looker.look(session="c2") == USUAL_S
    assert find(looker.engine).operation is Operation.NONE
    lose(looker.engine, CONTROLLER, looker.clock.now())
    assert looker.look(session="c2") == BUSY_S
    assert find(looker.engine).operation is Operation.PROVISIONING
    with pytest.raises(NotHolder):
        looker.engine.run(reconcile.reconcile, CONTROLLER, [], looker.clock.now())


@pytest.mark.parametrize(("topic", "wakes"), [(APPS, False), (WORKSPACES, True), (UNKNOWN, True)])
def test_it_is_woken_by_a_change_of_a_workspace(
    looker: Looker, topic: Topic, wakes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller, woken = looker.controller(), list[int]()
    monkeypatch.setattr(controller, "wake_soon", lambda: woken.append(1))
    controller.heed(Changes(topics={topic}))
    assert bool(woken) == wakes


class LaterClock(SystemClock):
    """The clock in six minutes, when a workspace that nobody uses has had its time."""

    def now(self) -> int:
        return super().now() + 360_000


def test_one_that_nobody_uses_comes_to_rest(looker: Looker) -> None:
    create(looker.engine, command=("sleep", "600"))
    looker.settle()
    looker.clock = LaterClock()
    looker.look()
    assert find(looker.engine).desired_state is D.STANDBY
    assert looker.settle().phase is Phase.STANDBY


class BlindInstances(LocalProcesses):
    """Nobody can tell who is connected."""

    def used(self, ports: Mapping[str, int]) -> set[str]:
        raise OSError("no list of connections")


def test_while_nobody_knows_who_is_connected_nothing_comes_to_rest(looker: Looker) -> None:
    listen = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(600)"
    create(looker.engine, command=(sys.executable, "-c", listen, "{port}"))
    looker.settle()
    looker.clock = LaterClock()
    looker.look(instances=BlindInstances(looker.instances._log_of, {}))
    assert find(looker.engine).desired_state is D.RUNNING


def test_one_with_a_connection_to_its_port_goes_on(looker: Looker) -> None:
    listen = "s = socket.create_server(('127.0.0.1', int(sys.argv[1])))"
    serve = f"import socket, sys; {listen}; c = [s.accept() for _ in range(9)]"
    create(looker.engine, command=(sys.executable, "-c", serve, "{port}"))
    port = looker.settle().port
    assert port is not None
    with socket.create_connection(("127.0.0.1", port)):
        looker.clock = LaterClock()
        looker.look()
    view = find(looker.engine)
    assert (view.desired_state, view.last_access_at is not None) == (D.RUNNING, True)


def test_it_is_woken_by_the_end_of_an_instance(looker: Looker) -> None:
    create(looker.engine, command=("sleep", "600"))
    instance = looker.settle().instance_ctx
    assert instance is not None

    async def killed() -> None:
        controller = looker.controller()
        await controller.tick()
        os.kill(instance.pid, signal.SIGKILL)
        await asyncio.wait_for(controller._woken.wait(), PATIENCE_S)
        await controller.tick()
        await controller.stop()

    asyncio.run(killed())
    assert find(looker.engine).error_count == 1
    looker.settle()
