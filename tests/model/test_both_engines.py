"""The same history on both engines: the same answers on the way, and the same rows at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.core.errors import HoldfastError
from holdfast.core.requests import Claimed
from tests.model.driver import Call
from tests.model.places import NUMBER, PostgresPlace, SqlitePlace, dump
from tests.model.profiles import LONG, QUICK, told, try_histories


class SqliteThenPostgres(SqlitePlace):
    """A history that was made on SQLite is repeated on PostgreSQL, call by call, with the same ids and moments."""

    def __init__(self, migrated: Path, url: str, schema: str) -> None:
        super().__init__(migrated)
        self._other = (url, schema)

    def leave(self, history: list[Call]) -> None:
        rows = self.engine.query(dump)
        super().leave(history)
        postgres = PostgresPlace(*self._other)
        try:
            for call in history:
                answer = call.run(postgres.engine)
                assert shown(answer) == shown(call.answer), f"{call.script.__name__}{call.args}"
            others = postgres.engine.query(dump)
        finally:
            postgres.leave(history)
        for table in rows.keys() | others.keys():
            assert others.get(table) == rows.get(table), table


def shown(answer: Any) -> str:
    """An answer without the numbers of jobs, which may have gaps; not even where a payload tells one."""
    if isinstance(answer, HoldfastError):
        return repr(answer)
    plain = msgspec.to_builtins(answer)
    if isinstance(answer, list) and any(isinstance(one, Claimed) for one in answer):
        plain = [one | {"number": 0} for one in plain]
    if isinstance(plain, dict) and "claimed" in plain:
        plain["claimed"] = [one | {"number": 0} for one in plain["claimed"]]
    return NUMBER.sub("", repr(plain))


def test_a_history_ends_alike_on_both_engines(migrated_file: Path, postgres_url: str, model_schema: str) -> None:
    try_histories(lambda: SqliteThenPostgres(migrated_file, postgres_url, model_schema), QUICK, 12)


@pytest.mark.long
def test_many_histories_end_alike_on_both_engines(migrated_file: Path, postgres_url: str, model_schema: str) -> None:
    print(told(try_histories(lambda: SqliteThenPostgres(migrated_file, postgres_url, model_schema), LONG, 1_000)))
