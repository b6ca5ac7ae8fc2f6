"""What the macros in a statement mean in each dialect; `statements` lists them.

ValueError names a file whose macros cannot be read, which is a mistake of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from holdfast.store.statements import Dialect

ColumnLists = Mapping[str, Mapping[str, str]]
"""The columns of each list, with their types on PostgreSQL."""

_MACRO = re.compile(r"'(?:[^']|'')*'|@([a-z_]+)(?:\(([^()]*)\))?")
_COLUMNS = re.compile(r"([a-z_]+\.|:)?([a-z_]+)")
_LIST = re.compile(r":([a-z_]+)(?: ([A-Z]+))?")
_QUALIFIED = re.compile(r"\b(?<![.:@])([a-z_]+)\.([a-z_]+)")

_ONE_ROW = "\0"  # stands where a statement for SQLite has its one row


class Expansion:
    """The macros of one statement, for one dialect."""

    def __init__(self, name: str, dialect: Dialect, read_part: Callable[[str], str], lists: ColumnLists) -> None:
        self._name = name
        self._dialect = dialect
        self._read_part = read_part
        self._lists = lists
        self._macros = {
            "part": self._part,
            "columns": self._columns,
            "in": self._in,
            "rows": self._rows,
            "upsert": self._upsert,
        }
        self._open_parts: list[str] = []
        self._one_row: list[str] = []

    def of(self, text: str) -> str:
        """The text that the database gets."""
        expanded = self._expand(text)
        if self._one_row:
            expanded = _values(_QUALIFIED.sub(self._parameter, expanded))
        return "\n".join(line for line in expanded.splitlines() if line.strip())

    def _parameter(self, match: re.Match[str]) -> str:
        """A column of `@rows` as a parameter, where the table is one row."""
        table, column = match.groups()
        return f":{column}" if table in self._one_row else match.group()

    def _expand(self, text: str) -> str:
        def replace(match: re.Match[str]) -> str:
            name, argument = match.groups()
            if name is None:
                return match.group()
            if name not in self._macros or argument is None:
                raise self._wrong(f"{match.group()!r} is no macro; there are {', '.join(self._macros)}, each with (…)")
            before = text[: match.start()].rpartition("\n")[2]
            indent = before[: len(before) - len(before.lstrip())]
            return self._macros[name](argument.strip()).replace("\n", f"\n{indent}")

        return _MACRO.sub(replace, text)

    def _part(self, name: str) -> str:
        if name in self._open_parts:
            raise self._wrong(f"part {name!r} includes itself: {' -> '.join([*self._open_parts, name])}")
        try:
            text = self._read_part(name)
        except FileNotFoundError:
            raise self._wrong(f"there is no part {name!r}") from None
        self._open_parts.append(name)
        expanded = self._expand(text)
        self._open_parts.pop()
        return expanded

    def _columns(self, argument: str) -> str:
        before, name = self._read(_COLUMNS, "columns", argument)
        return ", ".join(f"{before or ''}{column}" for column in self._list(name))

    def _in(self, argument: str) -> str:
        name, kind = self._read(_LIST, "in", argument)
        if self._dialect is Dialect.SQLITE:
            return f"IN (SELECT value FROM json_each(:{name}))"
        value = f"json_array_elements_text(CAST(:{name} AS json))"
        # An array, because the planner takes a subquery for a table of 100 rows to join.
        return f"= ANY (ARRAY(SELECT {f'CAST({value} AS {kind})' if kind else value}))"

    def _rows(self, argument: str) -> str:
        table, _, columns = (word.strip() for word in argument.partition(":"))
        if not table.isidentifier() or not columns:
            raise self._wrong(f"@rows({argument}) needs a table and its columns: @rows(r: id TEXT, now BIGINT)")
        if self._dialect is Dialect.SQLITE:
            self._one_row.append(table)
            return _ONE_ROW
        if " " not in columns:
            columns = ", ".join(f"{column} {kind}" for column, kind in self._list(columns).items())
        # In their order: new jobs are numbered in it. How many there are is hidden from the planner, so that it keeps
        # the plan: decision 052.
        return (
            "FROM (\n"
            f"  SELECT * FROM ROWS FROM (json_to_recordset(CAST(:rows AS json)) AS ({columns})) WITH ORDINALITY\n"
            f"  ORDER BY ordinality LIMIT (SELECT CAST(:count AS BIGINT))) AS {table}"
        )

    def _upsert(self, argument: str) -> str:
        key, colon, columns = argument.partition(":")
        names = [column.strip() for column in columns.split(",")]
        if not colon or not all(names):
            raise self._wrong(f"@upsert({argument}) is not what @upsert takes")
        return f"ON CONFLICT ({key}) DO UPDATE SET {', '.join(f'{column} = excluded.{column}' for column in names)}"

    def _read(self, pattern: re.Pattern[str], macro: str, argument: str) -> tuple[str, ...]:
        found = pattern.fullmatch(argument)
        if found is None:
            raise self._wrong(f"@{macro}({argument}) is not what @{macro} takes")
        return found.groups()

    def _list(self, name: str) -> Mapping[str, str]:
        if name not in self._lists:
            raise self._wrong(f"there is no list of columns {name!r}; there are {', '.join(self._lists)}")
        return self._lists[name]

    def _wrong(self, problem: str) -> ValueError:
        where = "".join(f", part {part}" for part in self._open_parts)
        return ValueError(f"statement {self._name}{where}: {problem}")


def _values(text: str) -> str:
    """Insert the one row by VALUES. For a SELECT, SQLite prepares to undo part of the statement, which costs time."""
    before, _, after = text.partition(_ONE_ROW)
    into, select, row = before.partition("SELECT ")
    if select and into.startswith("INSERT INTO") and not after.lstrip().startswith("WHERE"):
        before = f"{into}VALUES ({row.rstrip()})\n"
    return before + after
