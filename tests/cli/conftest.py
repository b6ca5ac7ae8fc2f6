"""A daemon for each module, and a shell for its home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store.scripts.doctor import examine
from tests.chaos.processes import until
from tests.cli.shell import APP, Shell
from tests.daemon.house import House, short_folder


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home that a daemon with our tasks lives in."""
    with short_folder() as folder:
        house = House(folder / "home", tmp_path_factory.mktemp("side"))
        try:
            daemon = house.up("--app", APP)
            until(lambda: len(house.client().workers()) == 2, "both workers are at work")
            yield house
            if daemon.is_running:
                house.down(daemon)
            with house.store() as engine:
                assert examine(engine) == []
        finally:
            house.clear()


@pytest.fixture
def sh(house: House) -> Shell:
    """A shell for the home with the daemon."""
    return Shell(house.home)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Shell]:
    """A shell for a home that nobody has lived in."""
    with short_folder() as folder:
        house = House(folder / "home", tmp_path)
        try:
            yield Shell(house.home)
        finally:
            house.clear()
