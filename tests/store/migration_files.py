"""Renders a migration that is written once into the file of each dialect.

`NNN_name.sql` is the source. It is plain SQL, but for the words below, and for what only one dialect needs:

    @sqlite
    lines for SQLite
    @postgres
    lines for PostgreSQL
    @end

What is committed, applied and checksummed is the rendered text. `python -m tests.store.schema_files` renders sources.
"""

from __future__ import annotations

import re
from pathlib import Path

import holdfast
from holdfast.store.statements import Dialect

FOLDER = Path(holdfast.__file__).parent / "store" / "migrations"

WORDS = {
    "integer": {Dialect.SQLITE: "INTEGER", Dialect.POSTGRES: "BIGINT"},
    "real": {Dialect.SQLITE: "REAL", Dialect.POSTGRES: "DOUBLE PRECISION"},
    "bytes": {Dialect.SQLITE: "BLOB", Dialect.POSTGRES: "BYTEA"},
    # Text that is compared or sorted, by its bytes in both.
    "key": {Dialect.SQLITE: "TEXT", Dialect.POSTGRES: 'TEXT COLLATE "C"'},
    # A primary key that grows by itself and is never given twice.
    "number": {
        Dialect.SQLITE: "INTEGER PRIMARY KEY AUTOINCREMENT",
        Dialect.POSTGRES: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    },
    # Behind GENERATED ALWAYS AS (…).
    "computed": {Dialect.SQLITE: "VIRTUAL", Dialect.POSTGRES: "STORED"},
    # Behind the last parenthesis of a table: one with a number, and one whose rows stand in the order of their key.
    "strict": {Dialect.SQLITE: "STRICT", Dialect.POSTGRES: ""},
    "strict_by_key": {Dialect.SQLITE: "STRICT, WITHOUT ROWID", Dialect.POSTGRES: ""},
    # Rows that may be lost when the server crashes.
    "unlogged": {Dialect.SQLITE: "", Dialect.POSTGRES: "UNLOGGED"},
}
_WORD = re.compile(r"( ?)@([a-z_]+)")


def sources() -> list[Path]:
    """Every migration that is written once."""
    return sorted(path for path in FOLDER.glob("*.sql") if path.name.count(".") == 1)


def target(source: Path, dialect: Dialect) -> Path:
    """The file of a dialect that a source is rendered to."""
    return source.with_suffix(f".{dialect}.sql")


def rendered(text: str, dialect: Dialect) -> str:
    """The text of a source in a dialect."""
    lines: list[str] = []
    only: str | None = None
    for line in text.splitlines():
        if line in [f"@{name}" for name in Dialect]:
            only = line[1:]
        elif line == "@end":
            only = None
        elif only in (None, dialect):
            lines.append(_WORD.sub(lambda match: _word(match, dialect), line))
    if only is not None:
        raise ValueError(f"@{only} has no @end")
    return "\n".join(lines) + "\n"


def _word(match: re.Match[str], dialect: Dialect) -> str:
    space, name = match.groups()
    if name not in WORDS:
        raise ValueError(f"@{name} is no word of a migration; there are {', '.join(WORDS)}")
    word = WORDS[name][dialect]
    return f"{space}{word}" if word else ""


def render_all() -> None:
    """Write the files of every source anew."""
    for source in sources():
        for dialect in Dialect:
            target(source, dialect).write_text(rendered(source.read_text(), dialect))
