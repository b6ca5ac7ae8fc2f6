"""The SQL of the store: one statement per file in any folder of `sql/`, named by a verb, with `:name` parameters.

`name.sql` serves both dialects; a `name.sqlite.sql` / `name.postgres.sql` pair exists where their plans must differ.
What several statements have in common, and what the dialects say differently, is a macro:

    @part(claimable)           the text of `sql/parts/claimable.sql`, which may have parts of its own, or of the part
                               of that name in `column_lists`
    @columns(new_job)          the names in a list of `column_lists`; @columns(r.new_job) has `r.` before each, and
                               @columns(:new_job) names the parameters
    job_type @in(:tasks)       it is among the values of a JSON list; @in(:numbers BIGINT) if they are not text
    @rows(r: id TEXT, a TEXT)  FROM many rows as table `r`; or @rows(r: new_job). SQLite runs a statement once for each
                               row, so there `r.id` becomes the parameter `:id`, and nothing is left of @rows
    @upsert(id: a, b)          ON CONFLICT (id) DO UPDATE: a and b become what was to be inserted

Macros are expanded when a statement is first used, once in a process. Decision 053 says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from holdfast.core.computed_once import computed_once

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

APART = ("invariants", "parts")

_TOKEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'|::|:([a-z_][a-z0-9_]*)|%")


class Dialect(StrEnum):
    """The databases that Holdfast can use."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class Statement(Struct, frozen=True, gc=False):
    """One SQL statement in both dialects."""

    name: str
    sqlite: str
    postgres: str


class Statements:
    """The statements of a folder, and of the folders in it, as attributes: `sql.claim_job`.

    A folder with statements of its own, which are not among those of the folder around it, is named in `APART`.
    """

    def __init__(self, folder: str) -> None:
        self._name = folder

    @computed_once
    def _files(self) -> dict[str, Traversable]:
        """Every file of a statement by its name. Listed at the first use."""
        return {file.name: file for file in files_in(_below_store(self._name))}

    def __getattr__(self, name: str) -> Statement:
        statement = self._load(name)
        setattr(self, name, statement)
        return statement

    @computed_once
    def names(self) -> tuple[str, ...]:
        """Every statement there is, sorted."""
        return tuple(sorted({name.split(".")[0] for name in self._files}))

    def _load(self, name: str) -> Statement:
        # Imported late: a client of a daemon reads no statement.
        from holdfast.store.column_lists import COLUMN_LISTS
        from holdfast.store.macros import Expansion

        texts = {
            dialect: Expansion(name, dialect, read_part, COLUMN_LISTS).of(self._read(name, dialect))
            for dialect in Dialect
        }
        return Statement(name, texts[Dialect.SQLITE], pyformat(texts[Dialect.POSTGRES]))

    def _read(self, name: str, dialect: Dialect) -> str:
        for named in (f"{name}.{dialect}.sql", f"{name}.sql"):
            if named in self._files:
                return strip_comments(self._files[named].read_text("utf-8"))
        raise AttributeError(f"there is no statement {name!r} for {dialect} in {_below_store(self._name)}")


def files_in(folder: Traversable) -> Iterator[Traversable]:
    """The files of statements in a folder, and in all folders in it but those that stand apart."""
    for inner in folder.iterdir():
        if inner.name.endswith(".sql"):
            yield inner
        elif inner.name not in APART and inner.is_dir():
            yield from files_in(inner)


def _below_store(folder: str) -> Traversable:
    # Imported late: a client of a daemon reads no statement.
    from importlib.resources import files

    return files("holdfast.store").joinpath(folder)


@cache
def read_part(name: str) -> str:
    """A part of statements, as it stands in its file, or as it is made from the options."""
    from holdfast.store.column_lists import MADE_PARTS

    if name in MADE_PARTS:
        return MADE_PARTS[name]
    return strip_comments(_below_store("sql/parts").joinpath(f"{name}.sql").read_text("utf-8"))


@cache
def statements(folder: str) -> Statements:
    """The statements of a folder below the store: `statements("sql/invariants")`."""
    return Statements(folder)


def strip_comments(text: str) -> str:
    """The statement without comments, as errors show it and caches know it."""
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
