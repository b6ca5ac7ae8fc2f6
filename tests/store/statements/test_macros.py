"""The macros of statements: what each dialect gets, and what is said of a mistake."""

from __future__ import annotations

import re

import pytest

from holdfast.store.macros import Expansion
from holdfast.store.statements import Dialect

PARTS = {
    "ready": "state = 'QUEUED'\nAND @part(idle)",
    "idle": "is_idle = 1",
    "broken": "1 = @part(nowhere)",
    "egg": "@part(hen)",
    "hen": "@part(egg)",
}
LISTS = {"point": {"id": "TEXT", "x": "BIGINT"}}


def read(name: str) -> str:
    try:
        return PARTS[name]
    except KeyError:
        raise FileNotFoundError(name) from None


def expanded(text: str) -> tuple[str, str]:
    """For SQLite and for PostgreSQL."""
    sqlite, postgres = (Expansion("some", dialect, read, LISTS).of(text) for dialect in Dialect)
    return sqlite, postgres


def alike(text: str) -> str:
    sqlite, postgres = expanded(text)
    assert sqlite == postgres
    return sqlite


def test_a_part_and_its_parts_stand_where_they_are_named() -> None:
    assert alike("SELECT 1\n  WHERE @part(ready)") == "SELECT 1\n  WHERE state = 'QUEUED'\n  AND is_idle = 1"


def test_a_list_of_columns_may_be_those_of_a_table_or_the_parameters() -> None:
    assert alike("SELECT @columns(point), @columns(p.point), @columns(:point)") == "SELECT id, x, p.id, p.x, :id, :x"


def test_a_value_among_those_of_a_list() -> None:
    assert expanded("x @in(:ids)") == (
        "x IN (SELECT value FROM json_each(:ids))",
        "x = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS json))))",
    )
    assert expanded("x @in(:numbers BIGINT)") == (
        "x IN (SELECT value FROM json_each(:numbers))",
        "x = ANY (ARRAY(SELECT CAST(json_array_elements_text(CAST(:numbers AS json)) AS BIGINT)))",
    )


def test_many_rows_are_a_table_on_postgresql_and_one_after_the_other_on_sqlite() -> None:
    sqlite, postgres = expanded("UPDATE t SET x = r.x, y = far.y\n@rows(r: id TEXT, x BIGINT)\nWHERE t.id = r.id")
    assert sqlite == "UPDATE t SET x = :x, y = far.y\nWHERE t.id = :id"
    assert " ".join(postgres.split()) == (
        "UPDATE t SET x = r.x, y = far.y FROM ( SELECT * FROM ROWS FROM ("
        "json_to_recordset(CAST(:rows AS json)) AS (id TEXT, x BIGINT)) WITH ORDINALITY"
        " ORDER BY ordinality LIMIT (SELECT CAST(:count AS BIGINT))) AS r WHERE t.id = r.id"
    )


def test_many_rows_may_have_the_columns_of_a_list() -> None:
    sqlite, postgres = expanded("INSERT INTO t (@columns(point)) SELECT @columns(r.point)\n@rows(r: point)")
    assert sqlite == "INSERT INTO t (id, x) VALUES (:id, :x)"
    assert "AS (id TEXT, x BIGINT)" in postgres


def test_one_row_is_inserted_on_sqlite_by_values_unless_a_condition_follows() -> None:
    insert = "INSERT INTO t (id, x)\nSELECT r.id, r.x\n@rows(r: id TEXT, x BIGINT)\n"
    assert expanded(f"{insert}RETURNING x")[0] == "INSERT INTO t (id, x)\nVALUES (:id, :x)\nRETURNING x"
    assert expanded(f"{insert}WHERE r.x > 1")[0] == "INSERT INTO t (id, x)\nSELECT :id, :x\nWHERE :x > 1"


def test_an_upsert_takes_the_place_of_what_was_there() -> None:
    assert alike("@upsert(a, b: c,\n  d), e = 1") == (
        "ON CONFLICT (a, b) DO UPDATE SET c = excluded.c, d = excluded.d, e = 1"
    )


def test_what_is_in_quotes_is_no_macro() -> None:
    assert alike("SELECT 'a@b', 'it''s @part(x)'") == "SELECT 'a@b', 'it''s @part(x)'"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("@part(nowhere)", "statement some: there is no part 'nowhere'"),
        ("@part(broken)", "statement some, part broken: there is no part 'nowhere'"),
        ("@part(hen)", "part 'hen' includes itself: hen -> egg -> hen"),
        ("@partt(ready)", "'@partt(ready)' is no macro; there are part, columns, in, rows, upsert"),
        ("@part", "'@part' is no macro"),
        ("@columns(a.b.point)", "@columns(a.b.point) is not what @columns takes"),
        ("@columns(line)", "there is no list of columns 'line'; there are point"),
        ("x @in(ids)", "@in(ids) is not what @in takes"),
        ("@rows(id TEXT)", "@rows(id TEXT) needs a table and its columns"),
        ("@upsert(id)", "@upsert(id) is not what @upsert takes"),
    ],
)
def test_a_mistake_is_named(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        expanded(text)
