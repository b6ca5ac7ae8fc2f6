"""The database that several processes of a test share, and what a test reads from it past every script."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from holdfast.runtime.clock import Clock, SystemClock
from holdfast.runtime.node import boot_id
from holdfast.runtime.sessions.judge import Judge
from holdfast.runtime.sessions.recovery import Recovery
from holdfast.runtime.sessions.session import lock_folder
from holdfast.store.engine import Engine, Ids, new_uuid
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect, Statement, pyformat
from tests.store.acts import TABLES


class Database(Struct, frozen=True):
    """A SQLite file, or a schema of a PostgreSQL database; `args` name it on a command line."""

    target: str
    schema: str

    @property
    def args(self) -> tuple[str, str]:
        """How a program is told."""
        return (self.target, self.schema)

    def engine(self, ids: Ids = new_uuid) -> Engine:
        """An engine of the caller's own. Processes die here, not the machine: no need to wait for the disk."""
        now = SystemClock().now
        if "://" in self.target:
            return PostgresEngine(self.target, schema=self.schema, durability="normal", now=now, ids=ids)
        return SqliteEngine(self.target, durability="normal", now=now, ids=ids)


def statement(text: str) -> Statement:
    """SQL that both dialects know, with `:name` parameters."""
    return Statement(text, text, pyformat(text))


def select(engine: Engine, text: str, **params: object) -> list[dict[str, Any]]:
    """Rows by SQL of a test's own."""
    return engine.query(lambda tx: tx.rows(statement(text), **params))


def stored(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, at one moment."""
    return engine.query(lambda tx: {table: tx.rows(statement(f"SELECT * FROM {table}")) for table in TABLES})


def dump(engine: Engine, *, but: tuple[str, ...] = ("maintenance",)) -> dict[str, list[str]]:
    """What is stored, to be compared. When which chore is due is the affair of whoever lives there.

    Without the numbers of jobs: PostgreSQL does not give those of a lost transaction back, and nobody minds.
    """
    tables = {table: rows for table, rows in stored(engine).items() if table not in but}
    return {table: sorted(map(_without_numbers, rows)) for table, rows in tables.items()}


def _without_numbers(row: dict[str, Any]) -> str:
    """An event knows the newest job of its moment, and tells the number of the one that it is about."""
    numbers = ["number", "upto_number", "listener_id"]
    numbers += [name for name in ("id", "job_id") if isinstance(row.get(name), int)]
    return re.sub(r'"number":"\d+"', "", repr(row | dict.fromkeys(numbers)))


def states(engine: Engine) -> dict[str, int]:
    """How many jobs are in which state."""
    rows = select(engine, "SELECT state, count(*) AS jobs FROM jobs GROUP BY state")
    return {row["state"]: row["jobs"] for row in rows}


def sessions(engine: Engine) -> list[dict[str, Any]]:
    """Every session there ever was, oldest first."""
    return select(engine, "SELECT * FROM sessions ORDER BY started_at, id")


def recovery(engine: Engine, clock: Clock | None = None) -> Recovery:
    """The loop that settles dead sessions, with a judge as an embedded program has it, to be ticked by hand."""
    locks = lock_folder(engine) if engine.dialect is Dialect.SQLITE else None
    judge = Judge(boot_id(), lambda: engine.node, locks=locks)
    return Recovery(engine, clock or SystemClock(), judge)
