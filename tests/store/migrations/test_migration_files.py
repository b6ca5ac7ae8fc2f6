"""The files of migrations: those that were released never change, and all later ones are rendered from one source."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from holdfast.store.migrate import migrations
from holdfast.store.statements import Dialect
from tests.store.migration_files import FOLDER, rendered, sources, target

# As `sha256sum` writes it. A release adds the files of its migrations.
LIST = (Path(__file__).parent / "released_migrations.txt").read_text()
RELEASED = {name: checksum for checksum, name in map(str.split, LIST.splitlines())}
FILES = {f"{migration.name}.{dialect}.sql": migration for dialect in Dialect for migration in migrations(dialect)}


def test_a_released_migration_stays_as_it_is_byte_for_byte() -> None:
    assert {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in RELEASED} == RELEASED


def test_what_is_checksummed_is_the_file() -> None:
    assert {name: FILES[name].sha256 for name in RELEASED} == RELEASED


def test_a_migration_was_released_or_has_a_source() -> None:
    from_source = {target(source, dialect).name for source in sources() for dialect in Dialect}
    assert FILES.keys() == RELEASED.keys() | from_source


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("source", sources(), ids=lambda source: source.stem)
def test_the_file_of_a_dialect_is_what_its_source_renders(source: Path, dialect: Dialect) -> None:
    made = rendered(source.read_text(), dialect)
    assert target(source, dialect).read_text() == made, "run python -m tests.store.schema_files"


SOURCE = """\
CREATE TABLE notes (
  number @number,
  name   @key NOT NULL
) @strict;
@sqlite
CREATE TRIGGER one;
@postgres
CREATE FUNCTION two;
@end
UPDATE notes SET name = '';
"""


def test_words_and_lines_are_those_of_the_dialect() -> None:
    assert rendered(SOURCE, Dialect.SQLITE) == (
        "CREATE TABLE notes (\n  number INTEGER PRIMARY KEY AUTOINCREMENT,\n  name   TEXT NOT NULL\n) STRICT;\n"
        "CREATE TRIGGER one;\nUPDATE notes SET name = '';\n"
    )
    assert rendered(SOURCE, Dialect.POSTGRES) == (
        "CREATE TABLE notes (\n  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,\n"
        '  name   TEXT COLLATE "C" NOT NULL\n);\n'
        "CREATE FUNCTION two;\nUPDATE notes SET name = '';\n"
    )


@pytest.mark.parametrize(
    ("text", "problem"), [("x @intger", "@intger is no word of a migration"), ("@sqlite\nx", "@sqlite has no @end")]
)
def test_a_mistake_in_a_source_is_named(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        rendered(text, Dialect.SQLITE)
