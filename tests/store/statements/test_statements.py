"""The SQL files: each is used, each that is used exists, and both databases understand all of them, macros expanded."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import holdfast
from holdfast.store.column_lists import COLUMN_LISTS, MADE_PARTS
from holdfast.store.engine import Engine
from holdfast.store.statements import (
    Dialect,
    Statement,
    Statements,
    files_in,
    pyformat,
    sql,
    statements,
    strip_comments,
)

PACKAGE = Path(holdfast.__file__).parent
FOLDER = PACKAGE / "store" / "sql"
PARTS = FOLDER / "parts"
INVARIANTS = statements("sql/invariants")
BOTH = pytest.mark.parametrize("folder", [sql, INVARIANTS], ids=["statements", "invariants"])
USE = re.compile(r"\bsql\.([a-z_]+)")


@cache
def used() -> set[str]:
    """Every `sql.name` in the code of the store's scripts and engines."""
    code = [path.read_text() for path in PACKAGE.rglob("*.py")]
    return {name for text in code if "from holdfast.store.statements import" in text for name in USE.findall(text)} - {
        "names"
    }


def test_every_statement_is_used_and_every_used_one_exists() -> None:
    assert used() == set(sql.names)


@pytest.mark.parametrize("folder", [FOLDER, FOLDER / "invariants"], ids=["statements", "invariants"])
def test_a_statement_has_one_file_or_one_for_each_dialect(folder: Path) -> None:
    kinds: dict[str, set[str]] = {}
    paths = list(files_in(folder))
    for path in paths:
        name, _, ending = path.name.partition(".")
        kinds.setdefault(name, set()).add(ending)
    both = {f"{dialect}.sql" for dialect in Dialect}
    assert [name for name, endings in kinds.items() if endings not in ({"sql"}, both)] == []
    assert [name for name, count in Counter(path.name for path in paths).items() if count > 1] == []


def test_a_statement_lies_in_the_folder_of_the_lowest_scripts_that_use_it() -> None:
    settings = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    [order] = [one["layers"] for one in contracts if one.get("containers") == ["holdfast.store.scripts"]]
    lowest: dict[str, str] = {}
    for folder in (name for layer in order for name in layer.split(" | ")):
        code = [path.read_text() for path in (PACKAGE / "store" / "scripts" / folder).glob("*.py")]
        lowest |= dict.fromkeys((name for text in code for name in USE.findall(text)), folder)
    found = {file.name.partition(".")[0]: Path(str(file)).parent.name for file in files_in(FOLDER)}
    assert found == {name: lowest[name] for name in found}


def test_a_statement_is_found_in_any_folder_by_its_name(tmp_path: Path) -> None:
    for file in ("outside", "one/inside", "one/two/deep", "parts/apart", "invariants/apart"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{file}.sql").write_text(f"SELECT '{file}'")
    found = Statements(str(tmp_path))
    assert found.names == ("deep", "inside", "outside")
    assert found.deep.sqlite == "SELECT 'one/two/deep'"
    with pytest.raises(AttributeError, match="there is no statement 'apart'"):
        _ = found.apart


@BOTH
def test_a_file_holds_one_statement(folder: Statements) -> None:
    found = [getattr(folder, name) for name in folder.names]
    texts = [(statement.name, text) for statement in found for text in (statement.sqlite, statement.postgres)]
    assert [name for name, text in texts if not text or ";" in text] == []


def test_every_part_is_included_somewhere() -> None:
    texts = [strip_comments(path.read_text()) for path in FOLDER.rglob("*.sql")]
    included = {name for text in texts for name in re.findall(r"@part\((\w+)\)", text)}
    assert {path.stem for path in PARTS.iterdir()} | MADE_PARTS.keys() == included


def test_every_list_of_columns_is_asked_for() -> None:
    texts = [strip_comments(path.read_text()) for path in FOLDER.rglob("*.sql")]
    asked = {name for text in texts for name in re.findall(r"@columns\((?:\w+\.|:)?(\w+)\)", text)}
    assert asked == set(COLUMN_LISTS)


def test_a_statement_is_the_same_text_whenever_it_is_expanded() -> None:
    # A connection keeps what it prepared by the text.
    assert [getattr(Statements("sql"), name) for name in sql.names] == [getattr(sql, name) for name in sql.names]


@pytest.mark.processes
def test_macros_are_expanded_when_a_statement_is_first_used() -> None:
    code = """
import sys
import holdfast.store.scripts.claiming.claim
from holdfast.store.statements import sql
assert "holdfast.store.macros" not in sys.modules and "claimable" not in vars(sql)
assert sql.claimable is sql.claimable and "claimable" in vars(sql)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def explain(engine: Engine, statement: Statement) -> None:
    """Have the statement understood and not run; every parameter is NULL."""
    names = re.findall(r"(?<![:\w]):([a-z_]+)", statement.sqlite) + re.findall(r"%\((\w+)\)s", statement.postgres)
    asked = Statement(f"explain {statement.name}", f"EXPLAIN {statement.sqlite}", f"EXPLAIN {statement.postgres}")
    engine.submit(lambda tx: tx.rows(asked, **dict.fromkeys(names))).result()


@BOTH
def test_both_databases_understand_every_statement(engine: Engine, folder: Statements) -> None:
    for name in folder.names:
        explain(engine, getattr(folder, name))


def test_a_statement_that_does_not_exist_is_named() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = sql.no_such_thing


def test_comments_are_left_out_and_parameters_rewritten() -> None:
    assert strip_comments("-- why\nSELECT 1\n  -- more\nFROM t\n") == "SELECT 1\nFROM t"
    assert pyformat("SELECT :a, ':b', '%', x::text % :a_2") == "SELECT %(a)s, ':b', '%%', x::text %% %(a_2)s"
