"""Which scripts write, and which of them scenarios try: read from the source, so that no list can grow old."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import holdfast
from holdfast.store.statements import files_in, strip_comments
from tests.chaos.scenarios.table import SCENARIOS

SOURCE = Path(holdfast.__file__).parent
SCRIPTS = "holdfast.store.scripts"
NAMES = "holdfast.store.script_names"
WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE)\b")

Name: TypeAlias = tuple[str, str]
"""A module of scripts, and something that it defines."""


def scripts_with_many_writes() -> set[str]:
    """Those that programs hand to an engine and that may run more than one statement which writes."""
    return {f"{module}.{name}" for module, name in _handed_to_engines() if len(_writes((module, name))) > 1}


def scripts_in_scenarios() -> set[str]:
    """Those that are named by the acts during which a process dies."""
    acts = [scenario.act.__code__ for scenario in SCENARIOS.values()]
    known = {path: _imported(ast.parse(Path(path).read_text())) for path in {act.co_filename for act in acts}}
    named = [known[act.co_filename][name] for act in acts for name in act.co_names if name in known[act.co_filename]]
    return {f"{module}.{name}" for module, name in named}


def _handed_to_engines() -> Iterator[Name]:
    """Every script that is named outside of the scripts."""
    for path in SOURCE.rglob("*.py"):
        if not path.is_relative_to(SOURCE / "store" / "scripts"):
            tree = ast.parse(path.read_text())
            known = _imported(tree)
            for node in ast.walk(tree):
                match node:
                    case ast.Name(id=name) if name in known:
                        yield known[name]
                    case ast.Attribute(value=ast.Name(id=module), attr=name) if module in known:
                        yield known[module][1], name


def _writes(wanted: Name) -> set[str]:
    """The statements that a script may run, itself or by another; one that runs for each of many rows counts twice."""
    defined = _defined()
    seen, todo = set[Name](), [wanted]
    while todo:
        name = todo.pop()
        if name in defined and name not in seen:
            seen.add(name)
            todo += defined[name][0]
    return {statement for name in seen for statement in defined[name][1]}


@cache
def _defined() -> dict[Name, tuple[set[Name], set[str]]]:
    """What each function or class of the scripts names, and the writing statements among that."""
    writing = {
        path.name.partition(".")[0]
        for path in files_in(SOURCE / "store" / "sql")
        if WRITES.search(strip_comments(path.read_text()))
    }
    found = {}
    for path in (SOURCE / "store" / "scripts").rglob("*.py"):
        tree = ast.parse(path.read_text())
        known = _imported(tree)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
                found[path.stem, node.name] = (
                    {known.get(name, (path.stem, name)) for name in names} | set(_of_modules(node, known)),
                    {statement for statement in _statements(node) if statement.removesuffix(" *") in writing},
                )
    return found


def _of_modules(node: ast.AST, known: dict[str, Name]) -> Iterator[Name]:
    """What is named with its module, as in `cancel.cancel_job`."""
    for item in ast.walk(node):
        match item:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in known:
                yield known[module][1], name


def _statements(node: ast.AST) -> Iterator[str]:
    for item in ast.walk(node):
        match item:
            case ast.Attribute(value=ast.Name(id="sql"), attr=name):
                yield name
            case ast.Call(func=ast.Attribute(attr="run_many" | "rows_many"), args=[ast.Attribute(attr=name), *_]):
                yield f"{name} *"


def _imported(tree: ast.Module) -> dict[str, Name]:
    """What a module calls the scripts, or their modules, that it imports."""
    return {
        alias.asname or alias.name: (node.module.rpartition(".")[2], alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith((SCRIPTS, NAMES))
        for alias in node.names
    }
