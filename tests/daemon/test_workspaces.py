"""Workspaces of a real daemon: a program and a home that outlive its processes."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import sys
from pathlib import Path

import pytest

from holdfast import Conflict, Holdfast, InvalidInput, NotFound, StillRunning, TooManyRunning, WorkspaceFailed
from holdfast.core.workspaces.states import DesiredState, ErrorReason, Operation, Phase
from tests.chaos.processes import kill, until
from tests.daemon.house import House
from tests.daemon.workspace_acts import PATIENCE, home_of, instances, make, pid_of

SERVE = [sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1"]


@pytest.fixture
def hf(house: House) -> Holdfast:
    """A daemon that is new."""
    house.up()
    return house.client()


def read(address: str | None, path: str) -> bytes:
    """What the program of a workspace answers."""
    assert address is not None
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    finally:
        connection.close()


def test_it_serves_what_is_in_its_home_and_outlives_all_processes_of_the_daemon(house: House) -> None:
    daemon = house.up()
    hf = house.client()
    dev = make(hf, command=SERVE)
    before = dev.info
    (home_of(before) / "note").write_text("hello")
    assert read(dev.address, "/note") == b"hello"
    worker = house.worker("workspaces")
    daemon.kill()
    kill(worker, house.worker("system"))
    assert read(before.address, "/note") == b"hello"
    again = house.up()
    view = dev.wait(timeout=PATIENCE)
    assert (view.phase, pid_of(view), view.address) == (Phase.RUNNING, pid_of(before), before.address)
    house.down(again)
    assert read(before.address, "/note") == b"hello", "it outlives a stop in order too"
    house.up()
    dev.delete(wait=PATIENCE)


def test_the_worker_comes_with_the_first_workspace_and_is_there_after_a_restart(house: House) -> None:
    daemon = house.up()
    hf = house.client()
    assert house.occupant("workspaces") is None
    dev = make(hf, desired="STANDBY")
    first = house.worker("workspaces")
    house.down(daemon)
    assert not first.is_alive
    daemon = house.up()
    house.worker("workspaces")
    dev.delete(wait=PATIENCE)
    house.down(daemon)
    house.up()
    house.worker("system")
    assert house.occupant("workspaces") is None


def test_an_instance_that_is_killed_is_started_again_and_counted(house: House, hf: Holdfast) -> None:
    dev = make(hf)
    before = dev.info
    os.kill(pid_of(before), signal.SIGKILL)
    until(lambda: dev.info.error_count == 1, "it is seen")
    after = dev.wait(timeout=PATIENCE)
    assert (after.error_count, after.home) == (1, before.home)
    assert pid_of(after) != pid_of(before)
    assert len(instances(house)) == 1
    dev.delete(wait=PATIENCE)


def test_a_change_while_an_operation_runs_is_refused_and_with_wait_comes_after_it(hf: Holdfast) -> None:
    late = [*["sh", "-c"], "sleep 1; exec python3 -m http.server $PORT --bind 127.0.0.1 # {port}"]
    slow = hf.create_workspace("slow", command=late)
    until(lambda: slow.info.operation is Operation.STARTING, "it starts")
    job = slow.info.op_job_number
    with pytest.raises(Conflict, match=rf"is STARTING \(job {job}\)"):
        slow.stop()
    with pytest.raises(Conflict, match="is an operation of a workspace"):
        hf.job(job or 0).cancel()
    view = slow.stop(wait=PATIENCE)
    assert (view.phase, view.error_count) == (Phase.STANDBY, 0)
    assert [one.to_state for one in slow.changes()] == [DesiredState.STANDBY, DesiredState.RUNNING]
    slow.delete(wait=PATIENCE)


def test_a_home_that_is_removed_is_an_error_until_somebody_gives_it_up(hf: Holdfast) -> None:
    dev = make(hf, desired="STANDBY")
    home = home_of(dev.info)
    home.rmdir()
    until(lambda: dev.phase is Phase.ERROR, "it is seen")
    assert dev.info.error_reason is ErrorReason.DATA_LOST
    with pytest.raises(WorkspaceFailed, match=r"DataLost: .* is gone.*recover dev"):
        dev.wait("STANDBY", timeout=PATIENCE)
    with pytest.raises(Conflict, match="is gone; put it back"):
        dev.recover()
    dev.recover(empty=True)
    view = dev.wait("STANDBY", timeout=PATIENCE)
    assert home_of(view) != home
    assert os.listdir(home_of(view)) == []
    dev.delete(wait=PATIENCE)


def test_a_command_that_always_fails_is_an_error_and_its_log_says_why(house: House, hf: Holdfast) -> None:
    dev = hf.create_workspace("dev", command=["sh", "-c", "echo no way; exit 3"])
    with pytest.raises(WorkspaceFailed, match="RetryExceeded"):
        dev.wait(timeout=PATIENCE)
    view = dev.info
    assert (view.phase, view.error_reason, view.error_count) == (Phase.ERROR, ErrorReason.RETRY_EXCEEDED, 3)
    assert view.operation is Operation.NONE
    log = house.home.instance_log(dev.id).read_text()
    assert log.splitlines().count("no way") == 3
    assert log.count("holdfast: the program has ended with code 3") == 3
    dev.stop()
    dev.recover()
    dev.wait("STANDBY", timeout=PATIENCE)
    dev.delete(wait=PATIENCE)


def test_a_delete_leaves_nothing(house: House, hf: Holdfast) -> None:
    dev = make(hf)
    view = dev.info
    dev.delete(wait=PATIENCE)
    assert instances(house) == []
    assert not home_of(view).exists()
    assert not house.home.instance_log(dev.id).exists()
    assert sorted(path.name for path in (house.home.folder / "workspaces").iterdir()) == [".holdfast-homes"]
    with pytest.raises(NotFound, match=f"there is no workspace '{dev.id}'"):
        _ = dev.info
    with pytest.raises(NotFound, match="there is no workspace 'dev'"):
        hf.workspace("dev")
    assert hf.workspaces() == []


def test_the_limits_and_the_folder_are_settings(house: House, side: Path) -> None:
    house.settings(f'[workspaces]\nper_user = 1\nfolder = "{side}/homes"\n')
    house.up()
    hf = house.client()
    dev = make(hf, "one")
    assert home_of(dev.info).parent == side / "homes"
    with pytest.raises(TooManyRunning, match="at most 1 may: one"):
        hf.create_workspace("two", command=["sleep", "600"])
    dev.delete(wait=PATIENCE)


def test_a_wait_has_an_end(hf: Holdfast) -> None:
    dev = make(hf, desired="STANDBY")
    with pytest.raises(StillRunning, match="is STANDBY, not yet RUNNING"):
        dev.wait("RUNNING", timeout=0.2)
    with pytest.raises(InvalidInput, match="phase"):
        dev.wait("AWAKE")
    dev.delete(wait=PATIENCE)


def test_every_call_has_a_twin(hf: Holdfast) -> None:
    asyncio.run(call_the_twins(hf))


async def call_the_twins(hf: Holdfast) -> None:
    """A whole life, awaited."""
    dev = await hf.acreate_workspace("dev", command=["sleep", "600"], desired="STANDBY")
    await dev.await_("STANDBY", timeout=PATIENCE)
    assert (await hf.aworkspace("dev")).id == dev.id
    assert [one.name for one in await hf.aworkspaces()] == ["dev"]
    assert (await dev.astart(wait=PATIENCE)).phase is Phase.RUNNING
    assert (await dev.astop(wait=PATIENCE)).phase is Phase.STANDBY
    assert len(await dev.achanges(limit=2)) == 2
    with pytest.raises(Conflict, match="not ERROR"):
        await dev.arecover()
    await dev.adelete(wait=PATIENCE)
    with pytest.raises(NotFound):
        await dev.ainfo()


def test_a_program_with_a_database_of_its_own_is_refused(tmp_path: Path) -> None:
    hf = Holdfast(tmp_path / "own.db")
    for call in (
        lambda: hf.create_workspace("dev", command=["sleep", "600"]),
        lambda: hf.acreate_workspace("dev", command=["sleep", "600"]).send(None),
    ):
        with pytest.raises(InvalidInput, match="start one with `holdfast up -d`"):
            call()
    assert hf.workspaces() == []
