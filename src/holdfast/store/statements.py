"""The SQL of the store: one statement per file under `sql/`, named by a verb, with `:name` parameters.

`name.sql` serves both dialects; a `name.sqlite.sql` / `name.postgres.sql` pair exists where they must differ.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_TOKEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'|::|:([a-z_][a-z0-9_]*)|%")


class Dialect(StrEnum):
    """The databases that Holdfast speaks to."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class Statement(Struct, frozen=True, gc=False):
    """One SQL statement in both dialects."""

    name: str
    sqlite: str
    postgres: str


class Statements:
    """The statements of one folder as attributes: `sql.claim_job`."""

    def __init__(self, folder: str) -> None:
        self._name = folder

    @cached_property
    def _folder(self) -> Traversable:
        # Imported by those who read statements; a client of a daemon reads none.
        from importlib.resources import files

        return files("holdfast.store").joinpath(self._name)

    def __getattr__(self, name: str) -> Statement:
        statement = self._load(name)
        setattr(self, name, statement)
        return statement

    def names(self) -> list[str]:
        """Every statement there is, sorted."""
        return sorted({file.name.split(".")[0] for file in self._folder.iterdir() if file.name.endswith(".sql")})

    def _load(self, name: str) -> Statement:
        texts = {dialect: self._read(name, dialect) for dialect in Dialect}
        return Statement(name, texts[Dialect.SQLITE], pyformat(texts[Dialect.POSTGRES]))

    def _read(self, name: str, dialect: Dialect) -> str:
        for file in (f"{name}.{dialect}.sql", f"{name}.sql"):
            path = self._folder.joinpath(file)
            if path.is_file():
                return strip_comments(path.read_text("utf-8"))
        raise AttributeError(f"there is no statement {name!r} for {dialect} in {self._folder}")


@cache
def statements(folder: str) -> Statements:
    """The statements of a folder below the store: `statements("sql/invariants")`."""
    return Statements(folder)


def strip_comments(text: str) -> str:
    """The statement alone: what a plan or an error shows, and what the statement caches key on."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(lines).strip()


def pyformat(text: str) -> str:
    """`:name` parameters as psycopg writes them."""

    def replace(match: re.Match[str]) -> str:
        if match.group() == "%":
            return "%%"
        name = match.group(1)
        return f"%({name})s" if name else match.group().replace("%", "%%")

    return _TOKEN.sub(replace, text)


sql = statements("sql")
