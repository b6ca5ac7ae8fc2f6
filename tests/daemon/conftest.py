"""A house for daemons. When the test is over nobody lives there any more, and the doctor finds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store.scripts.maintenance.doctor import examine
from tests.daemon.house import House, short_folder


@pytest.fixture
def side(tmp_path: Path) -> Path:
    """Where processes leave their side files."""
    path = tmp_path / "side"
    path.mkdir()
    return path


@pytest.fixture
def house(side: Path) -> Iterator[House]:
    """A home folder with a short name that nobody has lived in."""
    with short_folder() as folder:
        house = House(folder / "home", side)
        try:
            yield house
            if house.home.database.exists():
                with house.store() as engine:
                    assert examine(engine) == []
        finally:
            house.clear()
