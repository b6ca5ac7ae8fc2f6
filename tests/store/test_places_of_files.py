"""Every database has a folder for files of its own on this machine, however it is named."""

from __future__ import annotations

from pathlib import Path

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


def test_another_folder_can_be_given(tmp_path: Path) -> None:
    assert of_postgres("postgresql://host/one", files=tmp_path) == tmp_path
    assert SqliteEngine(tmp_path / "work.db", now=lambda: NOW, files=tmp_path).files == tmp_path
