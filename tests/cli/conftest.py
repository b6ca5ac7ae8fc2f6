"""A daemon for each module, and a shell for its home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.processes import until
from tests.cli.shell import APP, Shell
from tests.daemon.house import House, inhabited, short_folder


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home that a daemon with our tasks lives in."""
    with inhabited(tmp_path_factory.mktemp("side"), "", "--app", APP) as house:
        until(lambda: len(house.client().workers()) == 2, "both workers are at work")
        yield house


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
