"""Merges the migrations of a dialect into the one readable file of its whole schema.

`python -m tests.store.schema_files` renders the migrations that are written once, and writes both files anew; a test
compares what the file makes with what the migrations make.
"""

from __future__ import annotations

import re
from pathlib import Path

import apsw
from msgspec import Struct

import holdfast
from holdfast.store.migrate import migrations
from holdfast.store.statements import Dialect
from tests.store.migration_files import render_all

HEADER = """\
-- The whole schema as the migrations make it, but for schema_version, which the migrations keep for themselves.
-- Merged from them by `python -m tests.store.schema_files`.
"""
TABLE = re.compile(r"^CREATE (?:UNLOGGED )?TABLE (\w+)", re.MULTILINE)
COLUMN = re.compile(r"^ALTER TABLE (\w+) ADD COLUMN (.*);$", re.DOTALL | re.MULTILINE)
COLUMN_GONE = re.compile(r"^ALTER TABLE (\w+) DROP COLUMN (\w+);$")
COLUMN_RENAMED = re.compile(r"^ALTER TABLE (\w+) RENAME COLUMN (\w+) TO (\w+);$")
INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX")
DROPPED = re.compile(r"DROP INDEX (\w+);")
TRIGGER_GONE = re.compile(r"DROP TRIGGER (\w+)(?: ON \w+)?;")
GONE = re.compile(r"DROP TABLE (\w+);")
RENAMED = re.compile(r"ALTER TABLE (\w+) RENAME TO (\w+);")
ALTERED = re.compile(r"ALTER TABLE (\w+)")
OWNER = re.compile(r"\bON (\w+)")
REFERENCE = re.compile(r"REFERENCES (\w+)")
COLUMN_LINE = re.compile(r"^  ([a-z_]+) +(.*)$")


class Table(Struct):
    """A table as it grows, and what belongs to it."""

    text: str
    belongings: list[str]

    def add_column(self, definition: str, comment: str) -> None:
        """Put a column behind the last one, ahead of the constraints of the table."""
        lines = self.text.splitlines()
        last = max(number for number, line in enumerate(lines) if COLUMN_LINE.match(line) or line.startswith("    "))
        is_last = lines[last + 1].startswith(")")
        if is_last:
            lines[last] += ","
        note = [f"  {line}" for line in comment.splitlines()]
        column = f"  {definition}".replace("\n  ", "\n    ") + ("" if is_last else ",")
        self.text = "\n".join([*lines[: last + 1], *note, column, *lines[last + 1 :]])

    def drop_column(self, name: str) -> None:
        """Leave out a column that a later migration removed, and the comment above it."""
        lines = self.text.splitlines()
        first = next(number for number, line in enumerate(lines) if line.startswith(f"  {name} "))
        last = next(number for number in range(first + 1, len(lines)) if not lines[number].startswith("    ")) - 1
        while lines[first - 1].startswith("  --"):
            first -= 1
        if lines[last + 1].startswith(")"):
            lines[first - 1] = lines[first - 1].removesuffix(",")
        self.text = "\n".join([*lines[:first], *lines[last + 1 :]])

    def rename_column(self, old: str, new: str, comment: str) -> None:
        """Give a column the name that a later migration gave it, with its comment above it."""
        note = "".join(f"  {line}\n" for line in comment.splitlines())
        text = re.sub(rf"^  {old} ", f"{note}  {new} ", self.text, flags=re.MULTILINE)
        self.text = re.sub(rf"\b{old}\b", new, text)
        self.belongings = [re.sub(rf"\b{old}\b", new, part) for part in self.belongings]

    def drop_index(self, name: str) -> None:
        """Leave out an index that a later migration removed or made anew."""
        self.belongings = [part for part in self.belongings if f"INDEX {name} " not in part]

    def drop_trigger(self, name: str) -> None:
        """Leave out a trigger that a later migration removed or made anew; the function that it calls stays."""
        self.belongings = [part for part in self.belongings if f"CREATE TRIGGER {name}\n" not in f"{part}\n"]

    def aligned(self) -> str:
        """The table with its types below each other."""
        lines = self.text.splitlines()
        columns = [COLUMN_LINE.match(line) for line in lines]
        width = max(len(column[1]) for column in columns if column)
        return "\n".join(
            f"  {column[1]:<{width}} {column[2]}" if column else line
            for line, column in zip(lines, columns, strict=True)
        )


def path_of(dialect: Dialect) -> Path:
    """Where the schema of a dialect is."""
    return Path(holdfast.__file__).parent / "store" / f"schema.{dialect}.sql"


def merged(dialect: Dialect) -> str:
    """The text of the schema file."""
    tables: dict[str, Table] = {}
    functions: list[str] = []
    for statement in (part for migration in migrations(dialect) for part in split(migration.text, dialect)):
        comment, body = apart(statement)
        if created := TABLE.match(body):
            tables[created[1]] = Table(statement, [])
        elif added := COLUMN.match(body):
            tables[added[1]].add_column(added[2], comment)
        elif removed := COLUMN_GONE.match(body):
            tables[removed[1]].drop_column(removed[2])
        elif column := COLUMN_RENAMED.match(body):
            tables[column[1]].rename_column(column[2], column[3], comment)
        elif dropped := DROPPED.match(body):
            for table in tables.values():
                table.drop_index(dropped[1])
        elif trigger := TRIGGER_GONE.match(body):
            for table in tables.values():
                table.drop_trigger(trigger[1])
        elif gone := GONE.match(body):
            del tables[gone[1]]
        elif renamed := RENAMED.match(body):
            table = tables.pop(renamed[1])
            tables[renamed[2]] = Table(
                table.text.replace(f"TABLE {renamed[1]} ", f"TABLE {renamed[2]} "), table.belongings
            )
        elif altered := ALTERED.match(body):
            tables[altered[1]].belongings.append(statement)
        elif body.startswith(("INSERT", "UPDATE")):
            continue  # Rows are not schema.
        elif body.startswith(("ALTER INDEX", "ALTER SEQUENCE")):
            continue  # What a renamed table has gets the name that a new one gives it.
        elif body.startswith("CREATE FUNCTION"):
            functions.append(statement)
        else:
            # A trigger's table stands in its first lines; its function came directly before it.
            owner = next(name for name in OWNER.findall(body) if name in tables)
            tables[owner].belongings += [*functions, statement]
            functions = []
    parts = ["\n\n".join([table.aligned(), together(table.belongings)]).strip() for table in in_order(tables)]
    return "\n\n".join([HEADER.strip(), *parts]) + "\n"


def split(text: str, dialect: Dialect) -> list[str]:
    """The statements of a migration, each with the comment above it; without the comment of the file."""
    comment, _, rest = text.partition("\n\n")
    if not all(line.startswith("--") for line in comment.splitlines()):
        raise ValueError(f"a migration begins with a comment and an empty line, not with {comment.splitlines()[0]!r}")
    found: list[str] = []
    lines: list[str] = []
    for line in rest.splitlines():
        if line or lines:
            lines.append(line)
        statement = "\n".join(lines)
        whole = apsw.complete(statement) if dialect is Dialect.SQLITE else statement.count("$$") % 2 == 0
        if line.endswith(";") and whole:
            found.append(statement)
            lines = []
    return found


def apart(statement: str) -> tuple[str, str]:
    """The comment above a statement, and the statement."""
    lines = statement.splitlines()
    comments = next(number for number, line in enumerate(lines) if not line.startswith("--"))
    return "\n".join(lines[:comments]), "\n".join(lines[comments:])


def in_order(tables: dict[str, Table]) -> list[Table]:
    """Each table after those that it refers to."""
    placed: dict[str, Table] = {}

    def place(name: str) -> None:
        for other in REFERENCE.findall(tables[name].text):
            if other not in placed and other != name:
                place(other)
        placed.setdefault(name, tables[name])

    for name in tables:
        place(name)
    return list(placed.values())


def together(belongings: list[str]) -> str:
    """The indexes line by line, then all else with an empty line in between."""
    indexes = [statement for statement in belongings if INDEX.match(apart(statement)[1])]
    others = [statement for statement in belongings if statement not in indexes]
    return "\n\n".join(["\n".join(indexes), *others]).strip()


if __name__ == "__main__":
    render_all()
    for dialect in Dialect:
        path_of(dialect).write_text(merged(dialect))
