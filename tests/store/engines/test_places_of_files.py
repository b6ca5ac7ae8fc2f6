"""Every database has a folder for files of its own on this machine, however it is named."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from holdfast.core.errors import StoreUnavailable
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.sqlite.engine import SqliteEngine
from tests.store.acts import NOW


def of_postgres(url: str, schema: str = "a", files: Path | None = None) -> Path:
    return PostgresEngine(url, schema=schema, now=lambda: NOW, files=files).files


def test_the_folder_of_a_sqlite_file_is_beside_it(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "work.db")
    for name in ("work.db", "link.db"):
        assert SqliteEngine(tmp_path / name, now=lambda: NOW).files == tmp_path / "work.db-files"


def test_two_schemas_or_databases_never_share_a_folder() -> None:
    places = {
        of_postgres("postgresql://host/one"),
        of_postgres("postgresql://host/one", "b"),
        of_postgres("postgresql://host/two"),
        of_postgres("postgresql://other/one"),
        of_postgres("postgresql://host:5433/one"),
    }
    assert len(places) == 5


def test_who_asks_does_not_matter() -> None:
    assert of_postgres("postgresql://ada:secret@host/one") == of_postgres("postgresql://host/one?user=bob")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this user's folder for temporary files would be, in a place that everybody may write to."""
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"holdfast-{os.getuid()}"


def test_a_folder_for_temporary_files_is_made_for_its_owner_alone(place: Path) -> None:
    assert PostgresEngine("postgresql://h/d", now=lambda: 0).locks == place
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert of_postgres("postgresql://h/d").parent == place


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_of_somebody_else_is_refused(place: Path) -> None:
    place.mkdir()
    os.chown(place, 54_321, -1)
    with pytest.raises(
        StoreUnavailable, match=f"{place} belongs to another user .uid 54321.; remove it, or set TMPDIR"
    ):
        of_postgres("postgresql://h/d")


def test_a_link_or_an_open_folder_is_refused(place: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    place.symlink_to(tmp_path / "mine")
    with pytest.raises(StoreUnavailable, match="is not a folder"):
        of_postgres("postgresql://h/d")
    place.unlink()
    place.mkdir()
    place.chmod(0o777)
    with pytest.raises(StoreUnavailable, match=f"can be written by everybody; first: chmod 700 {place}"):
        of_postgres("postgresql://h/d")


def test_another_folder_can_be_given(tmp_path: Path) -> None:
    assert of_postgres("postgresql://host/one", files=tmp_path) == tmp_path
    assert SqliteEngine(tmp_path / "work.db", now=lambda: NOW, files=tmp_path).files == tmp_path
