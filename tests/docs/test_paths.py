"""What the pages for contributors name is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md")
PATH = re.compile(r"`((?:src|tests|docs)/[^`\s]+)`")
# In the midst of a sentence, scripts and decisions are named without the folders above them.
SHORT = re.compile(r"`((?!src/|tests/|docs/)[a-z]+/[a-z_]+\.py)`")
ONE_TEST = re.compile(r"pytest (tests/\S+\.py) -k (\w+)")
PROGRAM = re.compile(r"`python -m (tests\.[\w.]+)`")
ABOVE = (ROOT / "src" / "holdfast", ROOT / "src" / "holdfast" / "store" / "scripts")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_is_there(page: Path) -> None:
    named = PATH.findall(page.read_text())
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
    short = SHORT.findall(page.read_text())
    assert [path for path in short if not any((above / path).exists() for above in ABOVE)] == []


def test_the_command_for_one_test_selects_some() -> None:
    [(file, word)] = ONE_TEST.findall(PAGES[1].read_text())
    functions = [node for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)]
    assert [function.name for function in functions if function.name.startswith("test_") and word in function.name]


def test_every_program_that_is_named_is_there() -> None:
    named = PROGRAM.findall(PAGES[1].read_text())
    assert named
    assert [name for name in named if not (ROOT / f"{name.replace('.', '/')}.py").is_file()] == []


def test_every_room_stands_in_the_table() -> None:
    rooms = {path.name for path in (ROOT / "src" / "holdfast").iterdir() if (path / "__init__.py").is_file()}
    table = set(re.findall(r"^\| `src/holdfast/(\w+)` \|", PAGES[0].read_text(), re.MULTILINE))
    assert table == rooms
