"""Archives of homes through a real daemon: what is archived comes back as it was, whatever is killed."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

import pytest

from holdfast import Conflict, Holdfast, InvalidInput, WorkspaceFailed, WorkspaceHandle
from holdfast.core.errors import HoldfastError
from holdfast.core.workspaces.conditions import ConditionName, ConditionReason
from holdfast.core.workspaces.states import ErrorReason, Operation, Phase
from tests.chaos.processes import kill, until
from tests.daemon.house import House
from tests.daemon.workspace_acts import ALONE, PATIENCE, home_of, instances, make
from tests.workspaces.test_packing import known

LATEST_S = 0.4


@pytest.fixture
def archive(house: House, side: Path) -> Path:
    """The folder of archives, which the settings name."""
    path = side / "archive"
    path.mkdir()
    house.settings(f'[workspaces]\narchive = "{path}"\n')
    return path


def fill(home: Path) -> None:
    """Something of many kinds."""
    (home / "folder" / "deep").mkdir(parents=True)
    (home / "folder" / "file").write_bytes(b"hello" * 200_000)
    (home / "link").symlink_to("folder/file")
    (home / "folder" / "same").hardlink_to(home / "folder" / "file")
    with (home / "hole").open("wb") as file:
        file.seek(5_000_000)
        file.write(b"x")


def test_without_a_setting_it_is_said_which_one_is_missing(house: House) -> None:
    house.up()
    dev = make(house.client(), desired="STANDBY")
    with pytest.raises(InvalidInput, match=r"no archive is set: give the folder for it as archive in \[workspaces\]"):
        dev.archive()
    assert len(dev.changes()) == 1
    dev.delete(wait=PATIENCE)


def test_a_folder_that_is_not_there_is_refused(house: House, archive: Path) -> None:
    archive.rmdir()
    house.up()
    dev = make(house.client(), desired="STANDBY")
    with pytest.raises(InvalidInput, match="is not there; mount it, or make it"):
        dev.archive()
    dev.delete(wait=PATIENCE)


def test_a_home_leaves_the_disk_and_comes_back_as_it_was(house: House, archive: Path) -> None:
    house.up()
    dev = make(house.client())
    home = home_of(dev.info)
    fill(home)
    before = known(home)
    view = dev.archive(wait=PATIENCE)
    assert (view.phase, view.home, view.address, instances(house)) == (Phase.ARCHIVED, None, None, [])
    assert not home.exists()
    [stored] = archive.glob("*/*/*/home.tar.zst")
    assert view.archive_key == str(stored.relative_to(archive))
    assert stored.with_name("home.tar.zst.meta").exists()
    view = dev.start(wait=PATIENCE)
    assert view.phase is Phase.RUNNING
    assert home_of(view) != home
    after = known(home_of(view))
    for name in (b".", b"life", b"lock"):  # The program writes these.
        before.pop(name)
        after.pop(name)
    assert after == before
    dev.archive(wait=PATIENCE)
    assert dev.stop(wait=PATIENCE).phase is Phase.STANDBY
    dev.delete(wait=PATIENCE)


def test_one_that_never_was_provisioned_has_an_empty_archive(house: House, archive: Path) -> None:
    house.up()
    dev = make(house.client(), desired="ARCHIVED")
    assert dev.info.archive_key is not None
    view = dev.stop(wait=PATIENCE)
    assert list(home_of(view).iterdir()) == []
    dev.archive(wait=PATIENCE)
    dev.delete(wait=PATIENCE)
    assert house.client().workspaces() == []


def test_a_flipped_bit_is_an_error_and_no_home(house: House, archive: Path) -> None:
    house.up()
    dev = make(house.client(), desired="STANDBY")
    fill(home_of(dev.info))
    before = known(home_of(dev.info))
    dev.archive(wait=PATIENCE)
    [stored] = archive.glob("*/*/*/home.tar.zst")
    data = bytearray(stored.read_bytes())
    data[len(data) // 2] ^= 1
    stored.write_bytes(data)
    with pytest.raises(WorkspaceFailed, match="ArchiveCorrupted"):
        dev.start(wait=PATIENCE)
    assert (dev.info.error_reason, dev.info.home) == (ErrorReason.ARCHIVE_CORRUPTED, None)
    assert [path.name for path in (house.home.folder / "workspaces").iterdir()] == [".holdfast-homes"]
    with pytest.raises(Conflict, match=r"from_archive = true .* bytes; or with empty = true"):
        dev.recover()
    with pytest.raises(InvalidInput, match="contradict"):
        dev.recover(empty=True, from_archive=True)
    data[len(data) // 2] ^= 1
    stored.write_bytes(data)
    dev.recover(from_archive=True)
    assert known(home_of(dev.wait("RUNNING", timeout=PATIENCE)))[b"hole"] == before[b"hole"]
    dev.delete(wait=PATIENCE)


def test_what_is_gone_is_given_up_by_a_word(house: House, archive: Path) -> None:
    house.up()
    dev = make(house.client(), desired="STANDBY")
    fill(home_of(dev.info))
    dev.archive(wait=PATIENCE)
    for path in archive.glob("*/*/*/*"):
        path.unlink()
    dev.stop()
    until(lambda: dev.phase is Phase.ERROR, "it is seen")
    dev.recover(empty=True)
    view = dev.wait("STANDBY", timeout=PATIENCE)
    assert (list(home_of(view).iterdir()), view.archive_key) == ([], None)
    dev.delete(wait=PATIENCE)


def test_a_home_that_is_gone_comes_back_from_an_older_archive_only_by_a_word(house: House, archive: Path) -> None:
    house.up()
    dev = make(house.client(), desired="STANDBY")
    fill(home_of(dev.info))
    dev.archive(wait=PATIENCE)
    home = home_of(dev.stop(wait=PATIENCE))
    shutil.rmtree(home)
    dev.start()
    until(lambda: dev.phase is Phase.ERROR, "it is seen")
    with pytest.raises(Conflict, match=f"put it back to {home}, or recover with from_archive"):
        dev.recover()
    dev.recover(from_archive=True)
    assert (home_of(dev.wait("RUNNING", timeout=PATIENCE)) / "hole").exists()
    dev.delete(wait=PATIENCE)


@pytest.mark.long
def test_a_store_that_is_away_is_waited_for(house: House, archive: Path) -> None:
    house.up()
    dev = make(house.client(), desired="STANDBY")
    dev.archive(wait=PATIENCE)
    archive.rename(archive.with_name("elsewhere"))
    dev.stop()

    def reason() -> ConditionReason:
        return dev.info.conditions[ConditionName.ARCHIVE].reason

    until(lambda: reason() is ConditionReason.ARCHIVE_UNREACHABLE, "it is seen")
    assert dev.info.phase in (Phase.ARCHIVED, Phase.STANDBY)
    assert dev.info.error_count == 0
    archive.with_name("elsewhere").rename(archive)
    dev.wait("STANDBY", timeout=PATIENCE)
    dev.delete(wait=PATIENCE)


@pytest.mark.parametrize("target", ["worker", "both"])
@pytest.mark.parametrize("lives", [1, pytest.param(10, marks=pytest.mark.long)])
def test_it_converges_and_the_home_is_the_same(house: House, archive: Path, target: str, lives: int, seed: int) -> None:
    """The worker, or the daemon too, is killed at some moment of each ARCHIVING and RESTORING."""
    chance = random.Random(f"{seed} {target}")
    daemon = house.up()
    hf = house.client()
    dev = make(hf, command=ALONE, desired="STANDBY")
    fill(home_of(dev.info))
    before = known(home_of(dev.info))
    for _ in range(lives):
        for change, phase in ((dev.archive, Phase.ARCHIVED), (dev.stop, Phase.STANDBY)):
            change()
            time.sleep(chance.uniform(0, LATEST_S))
            worker = house.occupant("workspaces")
            if target == "both":
                daemon.kill()
            if worker is not None:
                kill(worker)
            if target == "both":
                daemon = house.up()
            until(lambda phase=phase: is_settled(dev, phase), f"it is {phase}")  # type: ignore[misc]
        assert known(home_of(dev.info)) == before
    delete_again(hf, dev)
    house.down(daemon)


def is_settled(dev: WorkspaceHandle, phase: Phase) -> bool:
    try:
        view = dev.info
    except HoldfastError:
        return False
    assert view.phase is not Phase.ERROR, view
    return view.phase is phase and view.operation is Operation.NONE and not view.steps


def delete_again(hf: Holdfast, dev: WorkspaceHandle) -> None:
    def asked() -> bool:
        try:
            dev.delete(wait=PATIENCE)
        except Conflict:
            return False
        return True

    until(asked, "it is deleted")
    assert hf.workspaces() == []
