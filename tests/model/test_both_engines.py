"""The same history on both engines: the same answers on the way, and the same rows at the end."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from holdfast.core.errors import HoldfastError
from tests.model.driver import Call
from tests.model.places import NUMBER, PostgresPlace, SqlitePlace, dump
from tests.model.profiles import PARTS, QUICK, try_histories, try_part

ANSWERED_NUMBER = re.compile(r"'number': \d+")


class SqliteThenPostgres(SqlitePlace):
    """A history that was made on SQLite is repeated on PostgreSQL, call by call, with the same ids and moments."""

    def __init__(self, url: str, schema: str) -> None:
        super().__init__()
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
    return NUMBER.sub("", ANSWERED_NUMBER.sub("", repr(msgspec.to_builtins(answer))))


def test_a_history_ends_alike_on_both_engines(postgres_url: str, model_schema: str) -> None:
    try_histories(lambda: SqliteThenPostgres(postgres_url, model_schema), QUICK, 4)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_many_histories_end_alike_on_both_engines(part: int, seed: int, postgres_url: str, model_schema: str) -> None:
    try_part(lambda: SqliteThenPostgres(postgres_url, model_schema), seed + part, 1_000)
