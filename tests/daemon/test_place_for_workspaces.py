"""The worker for workspaces is started with the first one, whatever is told when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.errors import StoreBusy
from holdfast.daemon import workspaces_worker
from holdfast.daemon.settings import settings_file
from holdfast.daemon.supervisor import Supervisor
from holdfast.daemon.workspaces_worker import PLACE, PlaceForWorkspaces, folder_of_homes
from holdfast.store.engine import Changes
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.topics import WORKSPACES
from holdfast.wire.home import Home
from holdfast.wire.places import WorkerPlace
from tests.chaos.processes import PATIENCE_S
from tests.migrated import copy_migrated
from tests.store.acts import NOW
from tests.store.workspace_acts import create


class NotingSupervisor(Supervisor):
    """Starts no process: it only says which places it was given."""

    def add(self, place: WorkerPlace) -> None:
        self.added.set()
        self.places = [*getattr(self, "places", []), place]

    @property
    def added(self) -> asyncio.Event:
        return self.__dict__.setdefault("_added", asyncio.Event())  # type: ignore[no-any-return]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    made = SqliteEngine(copy_migrated(tmp_path / "store.db"), durability="normal", now=lambda: NOW)
    yield made
    made.close()


def test_what_is_told_during_a_look_is_looked_at_too(engine: SqliteEngine, tmp_path: Path) -> None:
    """The look reads what was there before, and the workspace comes while it is under way."""
    made: list[object] = []
    place: Any = None
    read = engine.read

    async def during(script: Any, *args: Any) -> Any:
        found = await read(script, *args)
        if not made:
            made.append(create(engine))
            place.heed(Changes(topics={WORKSPACES}))
            await asyncio.sleep(0)
        return found

    async def tell() -> None:
        nonlocal place
        supervisor = NotingSupervisor(Home(tmp_path / "home"), [])
        place = PlaceForWorkspaces(engine, supervisor, is_there=False)
        place.heed(Changes(topics={WORKSPACES}))
        await asyncio.wait_for(supervisor.added.wait(), PATIENCE_S)
        place.heed(Changes(topics={WORKSPACES}))
        await asyncio.sleep(0)
        assert supervisor.places == [PLACE]

    engine.read = during  # type: ignore[method-assign]
    asyncio.run(tell())


def test_a_look_that_fails_is_repeated(engine: SqliteEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces_worker, "AGAIN_S", 0.01)
    create(engine)
    read, failures = engine.read, [StoreBusy("later")]

    async def failing(script: Any, *args: Any) -> Any:
        if failures:
            raise failures.pop()
        return await read(script, *args)

    async def tell() -> None:
        supervisor = NotingSupervisor(Home(tmp_path / "home"), [])
        PlaceForWorkspaces(engine, supervisor, is_there=False).heed(Changes(topics={WORKSPACES}))
        await asyncio.wait_for(supervisor.added.wait(), PATIENCE_S)

    engine.read = failing  # type: ignore[method-assign]
    asyncio.run(tell())


def test_the_folder_of_homes_is_seen_from_that_of_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.toml"
    home = Home(tmp_path / "home")
    for given, folder in (
        ("homes", tmp_path / "homes"),
        ("/srv/homes", Path("/srv/homes")),
        ("~/h", Path.home() / "h"),
    ):
        file.write_text(f'[workspaces]\nfolder = "{given}"\n')
        assert folder_of_homes(home, settings_file.load(file).workspaces) == folder
    file.write_text("")
    assert folder_of_homes(home, settings_file.load(file).workspaces) == home.folder / "workspaces"
