"""A copy takes the place of a database in one step: whoever is killed before it leaves the old one as it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.store.sqlite.database_file import copied, restored
from holdfast.store.sqlite.engine import SqliteEngine
from tests.store.acts import NOW, put_one, select


def jobs(path: Path) -> list[str]:
    engine = SqliteEngine(path, now=lambda: NOW)
    try:
        return [row["id"] for row in select(engine, "SELECT id FROM jobs ORDER BY number")]
    finally:
        engine.close()


def fill(path: Path, *names: str) -> None:
    engine = SqliteEngine(path, now=lambda: NOW)
    for name in names:
        put_one(engine, name)
    engine.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with one job more than its copy."""
    path = tmp_path / "work.db"
    fill(path, "kept")
    copied(str(path), tmp_path / "copy.db")
    fill(path, "late")
    return path


def test_the_copy_takes_the_place_and_the_old_one_is_whole(path: Path, tmp_path: Path) -> None:
    restored(str(path), tmp_path / "copy.db", tmp_path / "aside.db")
    assert jobs(path) == ["kept"]
    assert jobs(tmp_path / "aside.db") == ["kept", "late"]


def test_a_restore_that_is_cut_short_leaves_the_old_one(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def cut(source: Any, target: Any, **options: Any) -> None:
        if os.fspath(target) == str(path):
            raise KeyboardInterrupt
        replace(source, target, **options)

    monkeypatch.setattr(os, "replace", cut)
    with pytest.raises(KeyboardInterrupt):
        restored(str(path), tmp_path / "copy.db", tmp_path / "aside.db")
    assert jobs(path) == ["kept", "late"]


def test_a_damaged_one_is_replaced_as_well(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"scribbles " * 1_000)
    restored(str(path), tmp_path / "copy.db", tmp_path / "aside.db")
    assert jobs(path) == ["kept"]
    assert (tmp_path / "aside.db").read_bytes().startswith(b"scribbles")
