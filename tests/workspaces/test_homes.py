"""What every kind of homes must do, tried on a folder: each test is for the protocol."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.tasks.raising import Stopped
from holdfast.workspaces.backends.local_dir import MARKER, LocalDir
from holdfast.workspaces.backends.protocols import HomeNames, Homes, HomesMissing, SeenHome


def go_on() -> None:
    """Nobody asks it to stop."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of all homes, which is not there yet."""
    return tmp_path / "homes"


@pytest.fixture
def homes(folder: Path) -> Homes:
    return LocalDir(folder)


@pytest.fixture
def lose_all(folder: Path) -> Callable[[], None]:
    """Have the folder of all homes go, as when a disk is not mounted."""

    def lose() -> None:
        folder.rename(folder.with_name("elsewhere"))

    return lose


KEY = "ws-1-home"
NONE = HomeNames(KEY, None)


def seen(homes: Homes, names: HomeNames = NONE) -> SeenHome | None:
    return homes.observe({"w": names}).get("w")


def test_before_the_first_home_there_is_none(homes: Homes) -> None:
    assert seen(homes) == SeenHome(volume=False, leftovers=False)


def test_a_new_home_is_empty_and_for_its_owner_alone(homes: Homes) -> None:
    volume, path = homes.create(NONE, "r1", is_first=True)
    assert path == homes.path(volume)
    assert os.listdir(path) == []
    assert os.stat(path).st_mode & 0o777 == 0o700
    assert seen(homes, HomeNames(KEY, volume)) == SeenHome(volume=True, leftovers=False)
    assert seen(homes) == SeenHome(volume=False, leftovers=True), "nobody has named it yet"


def test_each_try_makes_a_home_of_its_own_and_a_repeat_of_it_none(homes: Homes) -> None:
    first = homes.create(NONE, "r1", is_first=True)
    assert homes.create(NONE, "r1", is_first=True) == first
    second = homes.create(NONE, "r2", is_first=True)
    assert second != first
    assert seen(homes, HomeNames(KEY, second[0])) == SeenHome(volume=True, leftovers=True)


def test_a_home_that_is_gone_is_seen_to_be(homes: Homes) -> None:
    volume, path = homes.create(NONE, "r1", is_first=True)
    os.rmdir(path)
    assert seen(homes, HomeNames(KEY, volume)) == SeenHome(volume=False, leftovers=False)


def test_if_the_folder_of_all_homes_is_gone_nothing_is_known(homes: Homes, lose_all: Callable[[], None]) -> None:
    volume, _ = homes.create(NONE, "r1", is_first=True)
    lose_all()
    assert seen(homes, HomeNames(KEY, volume)) is None
    for refused in (
        lambda: homes.create(NONE, "r2", is_first=False),
        lambda: homes.delete(HomeNames(KEY, volume), go_on),
    ):
        with pytest.raises(HomesMissing, match="is its disk mounted"):
            refused()


def test_an_empty_folder_in_its_place_is_not_taken_for_it(homes: Homes, folder: Path) -> None:
    volume, _ = homes.create(NONE, "r1", is_first=True)
    folder.rename(folder.with_name("elsewhere"))
    folder.mkdir()
    assert seen(homes, HomeNames(KEY, volume)) is None
    (folder / MARKER).touch()
    assert seen(homes, HomeNames(KEY, volume)) == SeenHome(volume=False, leftovers=False)


def test_a_delete_removes_every_home_of_a_workspace_and_no_other(homes: Homes) -> None:
    volume, path = homes.create(NONE, "r1", is_first=True)
    homes.create(NONE, "r2", is_first=False)
    other, _ = homes.create(HomeNames("ws-12-home", None), "r3", is_first=False)
    deep = Path(path, *["d"] * 200)
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    os.symlink("/etc", Path(path, "link"))
    closed = Path(path, "closed")
    closed.mkdir(0)
    names = HomeNames(KEY, volume)
    homes.delete(names, go_on)
    homes.delete(names, go_on)
    assert seen(homes, names) == SeenHome(volume=False, leftovers=False)
    assert seen(homes, HomeNames("ws-12-home", other)) == SeenHome(volume=True, leftovers=False)
    assert os.path.isdir("/etc")


def test_a_delete_before_the_first_home_has_nothing_to_do(homes: Homes) -> None:
    homes.delete(NONE, go_on)


def test_a_delete_that_is_asked_to_stop_goes_on_at_the_next_try(homes: Homes) -> None:
    volume, path = homes.create(NONE, "r1", is_first=True)
    for number in range(50):
        Path(path, f"d{number}", "deep").mkdir(parents=True)
    asked = iter(range(1_000))

    def check() -> None:
        if next(asked) > 5:
            raise Stopped

    with pytest.raises(Stopped):
        homes.delete(HomeNames(KEY, volume), check)
    homes.delete(HomeNames(KEY, volume), go_on)
    assert seen(homes, HomeNames(KEY, volume)) == SeenHome(volume=False, leftovers=False)


def test_one_alone_is_discarded(homes: Homes) -> None:
    volume, _ = homes.create(NONE, "r1", is_first=True)
    other, path = homes.create(NONE, "r2", is_first=False)
    Path(path, "deep").mkdir()
    homes.discard(other)
    homes.discard(other)
    assert seen(homes, HomeNames(KEY, volume)) == SeenHome(volume=True, leftovers=False)


def test_many_are_looked_at_at_once(homes: Homes) -> None:
    made = {
        f"w{number}": homes.create(HomeNames(f"ws-{number}-home", None), "r", is_first=True) for number in range(30)
    }
    names = {key: HomeNames(f"ws-{key[1:]}-home", volume) for key, (volume, _) in made.items()}
    found = homes.observe(names)
    assert found == dict.fromkeys(names, SeenHome(volume=True, leftovers=False))
